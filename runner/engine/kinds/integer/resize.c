/* Upsamples quantized maps by an integer factor: repeats every pixel in a square. Called by the
 * executor through the table in kinds.c. Writes the step's output in the arena; allocates
 * nothing. */
#include "runner/engine/kinds/integer/integer.h"

#include <string.h>

static int run_upsample(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  struct mafat_runs runs = mafat_runs_of(mafat_layer_sources(l), step->filters);
  for (struct mafat_run run; mafat_runs_next(&runs, &run);) {
    size_t in_pixel = mafat_tensors_pixel_bytes(t, run.tensor, run.block);
    size_t out_pixel = mafat_tensors_pixel_bytes(t, step->layer, run.out_block);
    int x0 = step->out.x.begin / l->factor;
    for (int y = step->out.y.begin; y < step->out.y.end; y++) {
      const uint8_t *in = mafat_runs_read_bytes(t, mafat_layer_sources(l), &run, y / l->factor, x0);
      uint8_t *out = mafat_rows_out_bytes(w, step, &run, y);
      for (int x = step->out.x.begin; x < step->out.x.end; x++, out += out_pixel)
        memcpy(out, in + (size_t)(x / l->factor - x0) * in_pixel, (size_t)run.n);
    }
  }
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_integer_upsample = {.run = run_upsample,
                                                         .sharing = MAFAT_SHARED_BY_ROWS};
