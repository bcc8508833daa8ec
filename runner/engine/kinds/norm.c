/* Computes batchnorm layers: multiplies each channel by a scale and adds a bias. Called by the
 * executor through the table in kinds.c. Reads scales and biases through runner/weights; writes the
 * step's output in the arena; allocates nothing. */
#include "runner/engine/kinds/rows.h"

static int run_batchnorm(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  struct mafat_weights_slice slice;
  int code = mafat_weights_slice(w->weights, step->layer, step->filters, step->channels, &slice);
  if (code) return code;
  struct mafat_runs runs = mafat_runs_of(mafat_layer_sources(l), step->filters);
  struct mafat_run run;
  while (mafat_runs_next(&runs, &run)) {
    int channel = run.out_block * MAFAT_CHANNEL_BLOCK + run.out_lane;
    for (int y = step->out.y.begin; y < step->out.y.end; y++)
      w->kernels->scale(mafat_runs_read(t, mafat_layer_sources(l), &run, y, step->out.x.begin),
                        mafat_tensors_pixel_floats(t, run.tensor, run.block),
                        mafat_rows_out(w, step, &run, y),
                        mafat_tensors_pixel_floats(t, step->layer, run.out_block),
                        mafat_span_size(step->out.x), run.n, slice.scale + channel,
                        slice.bias + channel, mafat_activating(MAFAT_LINEAR));
  }
  mafat_weights_release(w->weights, &slice);
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_runner_batchnorm = {.run = run_batchnorm,
                                                         .sharing = MAFAT_SHARED_BY_ROWS};
