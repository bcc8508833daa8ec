/* Computes direct convolutions, ordinary and grouped. Called by conv.c. A unit of work is a block
 * of rows of one panel of filters, or of one group. Reads weights through runner/weights. Writes
 * the step's output and the worker's scratch, in the arena; allocates nothing. */
#include "runner/engine/kinds/conv.h"

#include "runner/engine/kinds/widened.h"

/* A group of the convolution: its filters, and the input channels they read. */
struct filter_group {
  struct mafat_span filters, channels;
};

/* Sets in_rows and block_slices for a block of rows. If each row of a block slice is at the same
 * distance from that row of the slice before, adds this distance to the pointers of the slice
 * before, which is faster. */
static void point_at_input(struct mafat_conv *c, const struct mafat_conv_block *block)
{
  const struct mafat_layer *l = c->layer;
  int first = mafat_taps_first(l->window.y, block->sums.begin),
      x = mafat_taps_first(l->window.x, c->box.x.begin);
  int n = mafat_taps_inputs(l->window.y, mafat_span_size(block->sums));
  for (int i = 0; i < c->n_block_slices; i++) {
    const struct mafat_block_slice *p = &c->references[i];
    const float **rows = c->in_rows + (size_t)i * (size_t)c->worker->scratch->in_rows;
    ptrdiff_t bytes;
    if (i > 0 && mafat_conv_block_slices_apart(c, p, p - 1, &bytes))
      mafat_conv_move_rows(rows, rows - c->worker->scratch->in_rows, n, bytes, c->zeros);
    else mafat_conv_point_at_rows(c, p, first, n, x, rows);
    c->block_slices[i] = (struct mafat_conv_block_slice){
        rows, p->n, mafat_tensors_pixel_floats(c->worker->tensors, p->tensor, p->block)};
  }
}

/* Returns how many block slices, from `first` on, one kernel call sums: just enough to have at
 * least `least` channels, or all that are left. */
static int split_block_slices(const struct mafat_conv *c, int first, int least)
{
  int channels = 0, i = first;
  while (i < c->n_block_slices && channels < least) channels += c->references[i++].n;
  return i - first;
}

/* Returns the number of channels after which a kernel call may end. If a maxpool is fused, sums are
 * not stored, so one call must sum all channels. */
static int least_channels(const struct mafat_conv *c, int channels)
{
  if (c->pool) return channels;
  int most = mafat_conv_call_channels(c->layer, channels);
  return mafat_layer_widens(c->layer) ? mafat_max(most - MAFAT_CHANNEL_BLOCK + 1, 1) : most;
}

/* Computes one panel over a block of rows. Each kernel call sums as many channels as fit in the
 * cache, and continues the sums that the call before stored in the output. */
static int run_panel(struct mafat_conv *c, const struct filter_group *g, struct mafat_span filters,
                     const struct mafat_conv_block *block)
{
  const struct mafat_layer *l = c->layer;
  int per_group = l->in.c / l->groups,
      group_begin = filters.begin / (l->filters / l->groups) * per_group;
  int n = mafat_span_size(block->sums);
  struct mafat_conv_call call = {.n_rows = n,
                                 .n_cols = mafat_span_size(c->box.x),
                                 .window = l->window,
                                 .activation = l->activation,
                                 .pool = c->pool};
  call.n_segments = mafat_conv_point_at_output(c, filters, block->out_y, c->pool ? (n + 1) / 2 : n,
                                               call.segments);
  int least = least_channels(c, mafat_span_size(g->channels));
  for (int i = 0; i < c->n_block_slices;) {
    int count = split_block_slices(c, i, least);
    struct mafat_span part = {c->references[i].position - group_begin, 0};
    part.end = i + count < c->n_block_slices ? c->references[i + count].position - group_begin
                                       : g->channels.end - group_begin;
    struct mafat_weights_slice slice;
    int code = mafat_widened_slice(c->worker, c->index, filters, part, &slice);
    if (code) return code;
    call.block_slices = c->block_slices + i;
    call.n_block_slices = count;
    call.weights = slice.weights;
    call.scale = slice.scale;
    call.bias = slice.bias;
    call.width = slice.width;
    call.start = part.begin == mafat_step_first_channel(c->worker->plan, c->step);
    call.finish = part.end == per_group;
    c->worker->kernels->conv(&call);
    mafat_weights_release(c->worker->weights, &slice);
    i += count;
  }
  if (call.finish) mafat_conv_add(c, filters, block->out_y, n);
  return MAFAT_OK;
}

static int run_ordinary(struct mafat_conv *c)
{
  struct filter_group all = {c->step->filters, c->step->channels};
  struct mafat_conv_block block, last = {{0, 0}, 0};
  int panel;
  mafat_conv_list_block_slices(c, all.channels);
  mafat_conv_share(c, mafat_conv_n_panels(c));
  for (; mafat_conv_take(c, &block, &panel); last = block) {
    if (block.sums.begin != last.sums.begin || block.sums.end != last.sums.end)
      point_at_input(c, &block);
    int code = run_panel(c, &all, mafat_conv_panel(c, panel), &block);
    if (code) return code;
  }
  return MAFAT_OK;
}

/* A unit is a block of rows of a whole group, with all its panels. A panel never spans two groups
 * or two channel blocks. */
static int run_grouped(struct mafat_conv *c)
{
  const struct mafat_layer *l = c->layer;
  int filters = l->filters / l->groups, channels = l->in.c / l->groups;
  struct mafat_span wanted = c->step->filters;
  int first = wanted.begin / filters, n_groups = (wanted.end - 1) / filters + 1 - first;
  struct mafat_conv_block block;
  mafat_conv_share(c, n_groups);
  for (int index; mafat_conv_take(c, &block, &index);) {
    int g = first + index;
    struct filter_group group = {mafat_span_clip(wanted, (g + 1) * filters),
                          mafat_span(g * channels, (g + 1) * channels)};
    if (group.filters.begin < g * filters) group.filters.begin = g * filters;
    mafat_conv_list_block_slices(c, group.channels);
    point_at_input(c, &block);
    for (int f = group.filters.begin; f < group.filters.end;) {
      int end = mafat_min(mafat_panel_end(l, f), group.filters.end);
      int code = run_panel(c, &group, mafat_span(f, end), &block);
      if (code) return code;
      f = end;
    }
  }
  return MAFAT_OK;
}

int mafat_conv_direct(struct mafat_conv *c)
{
  return c->layer->groups > 1 ? run_grouped(c) : run_ordinary(c);
}
