/* Computes maxpool and average pool of float maps. Called by the executor through the table in
 * kinds.c. Writes the step's output and the worker's scratch, in the arena; allocates nothing. */
#include "runner/engine/kinds/rows.h"

/* Returns by how many rows of a window an average pool divides: its rows in the map, and its rows
 * in the padding that the layer counts. The window's first row is `first`; `end` is the row after
 * its last one. */
static int counted_rows(const struct mafat_layer *l, int first, int end)
{
  return mafat_divide_up(mafat_min(end, l->in.h + l->counted_y) - first, l->window.y.dilation);
}

/* Pools the step row by row, with the maxpool or avgpool kernel of the worker's level. */
static int run_pool(const struct mafat_worker *w, const struct mafat_step *step,
                    void (*kernel)(const struct mafat_pool_call *))
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  const float **rows = (const float **)(w->slot_memory + w->scratch->in_offset);
  struct mafat_runs runs = mafat_runs_of(mafat_layer_sources(l), step->filters);
  struct mafat_run run;
  while (mafat_runs_next(&runs, &run)) {
    int x0 = mafat_taps_first(l->window.x, step->out.x.begin);
    int origin = x0 < 0 ? 0 : x0; /* column at which the row pointers point */
    struct mafat_pool_call call = {
        .rows = rows, .first_col = x0 - origin, .in_begin = 0, .in_end = l->in.w - origin,
        .n_cols = mafat_span_size(step->out.x), .taps = l->window.x,
        .n_channels = run.n,
        .in_pixel_floats = mafat_tensors_pixel_floats(t, run.tensor, run.block),
        .out_pixel_floats = mafat_tensors_pixel_floats(t, step->layer, run.out_block)};
    if (l->count_padding) call.padded_before = l->window.x.before, call.padded_after = l->counted_x;
    for (int y = step->out.y.begin; y < step->out.y.end; y++) {
      int first = mafat_taps_first(l->window.y, y), end = first + mafat_taps_reach(l->window.y);
      call.n_rows = call.padded_rows = 0;
      for (int iy = first; iy < mafat_min(end, l->in.h); iy += l->window.y.dilation)
        if (iy >= 0)
          rows[call.n_rows++] = mafat_runs_read(t, mafat_layer_sources(l), &run, iy, origin);
      if (l->count_padding) call.padded_rows = counted_rows(l, first, end) - call.n_rows;
      call.out = mafat_rows_out(w, step, &run, y);
      kernel(&call);
    }
  }
  return MAFAT_OK;
}

static int run_maxpool(const struct mafat_worker *w, const struct mafat_step *step)
{
  return run_pool(w, step, w->kernels->maxpool);
}

static int run_local_avgpool(const struct mafat_worker *w, const struct mafat_step *step)
{
  return run_pool(w, step, w->kernels->avgpool);
}

const struct mafat_runner_kind mafat_runner_maxpool = {.run = run_maxpool,
                                                       .sharing = MAFAT_SHARED_BY_ROWS};
const struct mafat_runner_kind mafat_runner_local_avgpool = {.run = run_local_avgpool,
                                                             .sharing = MAFAT_SHARED_BY_ROWS};
