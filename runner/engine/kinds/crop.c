/* Computes Darknet's crop layer as Darknet does at inference: copies the center of the map, and
 * scales values from [0, 1] to [-1, 1] unless the cfg has noadjust. Called by the executor through
 * the table in kinds.c. Writes the step's output in the arena; allocates nothing. */
#include "runner/engine/kinds/rows.h"

static int run_crop(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  struct mafat_runs runs = mafat_runs_of(mafat_layer_sources(l), step->filters);
  struct mafat_run run;
  float scale = l->noadjust ? 1 : 2, shift = l->noadjust ? 0 : -1;
  while (mafat_runs_next(&runs, &run)) {
    size_t in_pixel = (size_t)mafat_tensors_pixel_floats(t, run.tensor, run.block);
    size_t out_pixel = (size_t)mafat_tensors_pixel_floats(t, step->layer, run.out_block);
    for (int y = step->out.y.begin; y < step->out.y.end; y++) {
      const float *in = mafat_runs_read(t, mafat_layer_sources(l), &run, y + l->crop_y,
                                        step->out.x.begin + l->crop_x);
      float *out = mafat_rows_out(w, step, &run, y);
      for (int x = step->out.x.begin; x < step->out.x.end; x++, in += in_pixel, out += out_pixel)
        for (int c = 0; c < run.n; c++) out[c] = in[c] * scale + shift;
    }
  }
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_runner_crop = {.run = run_crop,
                                                    .sharing = MAFAT_SHARED_BY_ROWS};
