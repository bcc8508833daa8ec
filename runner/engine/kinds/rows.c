/* Copies rows of a layer's input to its output, with an activation. Called by activation.c and
 * blend.c. Writes the step's output in the arena; allocates nothing. */
#include "runner/engine/kinds/rows.h"

void mafat_rows_copy(const struct mafat_worker *w, const struct mafat_step *step,
                     struct mafat_activating activation)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  struct mafat_runs runs = mafat_runs_of(mafat_layer_sources(l), step->filters);
  struct mafat_run run;
  while (mafat_runs_next(&runs, &run)) {
    struct mafat_blend_call call = {
        .n_cols = mafat_span_size(step->out.x), .n_channels = run.n,
        .x_pixel_floats = mafat_tensors_pixel_floats(t, run.tensor, run.block),
        .y_pixel_floats = mafat_tensors_pixel_floats(t, step->layer, run.out_block),
        .activation = activation};
    for (int y = step->out.y.begin; y < step->out.y.end; y++) {
      call.x = mafat_runs_read(t, mafat_layer_sources(l), &run, y, step->out.x.begin);
      call.y = mafat_rows_out(w, step, &run, y);
      w->kernels->blend(&call);
    }
  }
}
