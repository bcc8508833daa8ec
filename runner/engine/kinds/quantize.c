/* Quantizes maps of floats; integer/quantize.c dequantizes. Called by the executor through the
 * table in kinds.c. Writes the step's output in the arena; allocates nothing. */
#include "runner/kernels/integer.h"
#include "runner/engine/kinds/rows.h"

static int run_quantize(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  struct mafat_runs runs = mafat_runs_of(mafat_layer_sources(l), step->filters);
  for (struct mafat_run run; mafat_runs_next(&runs, &run);) {
    size_t in_pixel = mafat_tensors_pixel_bytes(t, run.tensor, run.block) / sizeof(float);
    size_t out_pixel = mafat_tensors_pixel_bytes(t, step->layer, run.out_block);
    int cols = mafat_span_size(step->out.x);
    /* true if the pixel has no other channels than the run's: then the row is contiguous */
    bool dense = in_pixel == (size_t)run.n && out_pixel == (size_t)run.n;
    for (int y = step->out.y.begin; y < step->out.y.end; y++) {
      const float *from = mafat_runs_read(t, mafat_layer_sources(l), &run, y, step->out.x.begin);
      unsigned char *to = mafat_rows_out_bytes(w, step, &run, y);
      if (dense) w->integers->reals(&l->quantization, from, to, cols * run.n);
      for (int x = 0; x < cols && !dense; x++, from += in_pixel, to += out_pixel)
        w->integers->reals(&l->quantization, from, to, run.n);
    }
  }
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_runner_quantize = {.run = run_quantize,
                                                        .sharing = MAFAT_SHARED_BY_ROWS};
