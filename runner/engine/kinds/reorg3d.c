/* Computes reorg3d: squares of pixels become channels: first all channels of the square's first
 * pixel, then all of its second pixel, and so on. Called by the executor through the table in
 * kinds.c. Writes the step's output in the arena; allocates nothing. */
#include "runner/engine/kinds/rows.h"

/* Copies a run's channels of one pixel of each square to the output channels from `channel` on,
 * which may be in two channel blocks. The pixel is `down` rows and `across` columns from the
 * square's corner. */
static void copy_place(const struct mafat_worker *w, const struct mafat_step *step,
                       const struct mafat_run *run, int down, int across, int channel)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_sources *sources = mafat_layer_sources(&t->network->layers[step->layer]);
  int s = t->network->layers[step->layer].factor;
  struct mafat_blend_call call = {.n_cols = mafat_span_size(step->out.x),
                                  .x_pixel_floats =
                                      s * mafat_tensors_pixel_floats(t, run->tensor, run->block)};
  for (int c = 0; c < run->n; c += call.n_channels) {
    int block = (channel + c) / MAFAT_CHANNEL_BLOCK, lane = (channel + c) % MAFAT_CHANNEL_BLOCK;
    call.n_channels = mafat_min(run->n - c, MAFAT_CHANNEL_BLOCK - lane);
    call.y_pixel_floats = mafat_tensors_pixel_floats(t, step->layer, block);
    for (int y = step->out.y.begin; y < step->out.y.end; y++) {
      call.x = mafat_runs_read(t, sources, run, y * s + down, step->out.x.begin * s + across) + c;
      call.y = mafat_tensors_pixel(t, step->layer, block, y, step->out.x.begin) + lane;
      w->kernels->blend(&call);
    }
  }
}

static int run_reorg3d(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  for (int place = 0; place < l->factor * l->factor; place++) {
    struct mafat_runs runs = mafat_runs_of(mafat_layer_sources(l), mafat_span(0, l->in.c));
    struct mafat_run run;
    while (mafat_runs_next(&runs, &run))
      copy_place(w, step, &run, place / l->factor, place % l->factor,
                 place * l->in.c + run.out_block * MAFAT_CHANNEL_BLOCK + run.out_lane);
  }
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_runner_reorg3d = {.run = run_reorg3d,
                                                       .sharing = MAFAT_SHARED_BY_ROWS};
