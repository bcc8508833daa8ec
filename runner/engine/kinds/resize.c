/* Upsamples maps of floats by an integer factor: repeats every pixel in a square, multiplied by
 * l->scale. Called by the executor through the table in kinds.c. Writes the step's output in the
 * arena; allocates nothing. */
#include "runner/engine/kinds/rows.h"

static int run_upsample(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  struct mafat_runs runs = mafat_runs_of(mafat_layer_sources(l), step->filters);
  struct mafat_run run;
  while (mafat_runs_next(&runs, &run)) {
    size_t in_pixel = (size_t)mafat_tensors_pixel_floats(t, run.tensor, run.block);
    size_t out_pixel = (size_t)mafat_tensors_pixel_floats(t, step->layer, run.out_block);
    int x0 = step->out.x.begin / l->factor;
    for (int y = step->out.y.begin; y < step->out.y.end; y++) {
      const float *in = mafat_runs_read(t, mafat_layer_sources(l), &run, y / l->factor, x0);
      float *out = mafat_rows_out(w, step, &run, y);
      for (int x = step->out.x.begin; x < step->out.x.end; x++, out += out_pixel) {
        const float *from = in + (size_t)(x / l->factor - x0) * in_pixel;
        for (int c = 0; c < run.n; c++) out[c] = l->scale * from[c];
      }
    }
  }
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_runner_upsample = {.run = run_upsample,
                                                        .sharing = MAFAT_SHARED_BY_ROWS};
