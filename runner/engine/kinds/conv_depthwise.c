/* Computes depthwise convolutions: alone, in place, and fused into the 1x1 convolution that reads
 * them. Called by conv.c, and by integer/conv.c (mafat_conv_take_channels, mafat_conv_keep_rows). A
 * unit of work is a block of rows; in place, a channel block. Reads weights through runner/weights.
 * Writes the step's output and the worker's scratch, in the arena; allocates nothing. */
#include "runner/engine/kinds/conv.h"

#include "runner/engine/kinds/widened.h"

#include <string.h>

/* Points in_rows at the input of a run of channels (tensors.h) for these output rows. last: the run
 * at which in_rows point so far, for the same output rows; NULL: none. */
static void point_at_input(struct mafat_conv *c, const struct mafat_run *run,
                           const struct mafat_run *last, struct mafat_span rows)
{
  const struct mafat_window *window = &c->layer->window;
  const struct mafat_block_slice block_slice = mafat_conv_block_slice_of(run),
                                 before = mafat_conv_block_slice_of(last ? last : run);
  int n = mafat_taps_inputs(window->y, mafat_span_size(rows));
  ptrdiff_t bytes;
  if (last && mafat_conv_block_slices_apart(c, &block_slice, &before, &bytes))
    mafat_conv_move_rows(c->in_rows, c->in_rows, n, bytes, c->zeros);
  else
    mafat_conv_point_at_rows(c, &block_slice, mafat_taps_first(window->y, rows.begin), n,
                             mafat_taps_first(window->x, c->box.x.begin), c->in_rows);
}

/* Computes output rows of one run of channels. The caller has set in_rows and out_rows. */
static int run_depthwise_rows(struct mafat_conv *c, const struct mafat_run *run,
                              struct mafat_span rows, int out_pixel_floats)
{
  const struct mafat_layer *l = c->layer;
  int block = run->out_block * MAFAT_CHANNEL_BLOCK;
  struct mafat_span panel = {block, mafat_panel_end(l, block)};
  struct mafat_weights_slice slice;
  int code = mafat_widened_slice(c->worker, c->index, panel, mafat_span(0, 1), &slice);
  if (code) return code;
  struct mafat_depthwise_call call = {
      .rows = c->in_rows,
      .out = c->out_rows,
      .n_channels = run->n,
      .in_pixel_floats = mafat_tensors_pixel_floats(c->worker->tensors, run->tensor, run->block),
      .out_pixel_floats = out_pixel_floats,
      .n_rows = mafat_span_size(rows),
      .n_cols = mafat_span_size(c->box.x),
      .window = l->window,
      .weights = slice.weights + run->out_lane,
      .scale = slice.scale + run->out_lane,
      .bias = slice.bias + run->out_lane,
      .width = slice.width,
      .activation = l->activation};
  c->worker->kernels->depthwise(&call);
  mafat_weights_release(c->worker->weights, &slice);
  return MAFAT_OK;
}

static void point_at_output(struct mafat_conv *c, const struct mafat_run *run,
                            struct mafat_span rows)
{
  mafat_conv_point_at_filter(c, run->out_block * MAFAT_CHANNEL_BLOCK + run->out_lane, rows,
                             c->out_rows, c->out_rows);
}

/* ---- in place ---- */

bool mafat_conv_take_channels(const struct mafat_conv *c, struct mafat_run *run)
{
  int channels = c->layer->out.c,
      block = mafat_team_take(c->worker->team, c->worker->index, mafat_n_blocks(channels));
  if (block < 0) return false;
  int n = mafat_min(MAFAT_CHANNEL_BLOCK, channels - block * MAFAT_CHANNEL_BLOCK);
  *run = (struct mafat_run){.tensor = mafat_layer_sources(c->layer)->list->tensor,
                            .block = block,
                            .out_block = block,
                            .n = n};
  return true;
}

void mafat_conv_keep_rows(const struct mafat_conv *c, const struct mafat_run *run,
                          struct mafat_span rows)
{
  const struct mafat_tensors *t = c->worker->tensors;
  const struct mafat_taps x = c->layer->window.x;
  size_t bytes = (size_t)mafat_taps_inputs(x, mafat_span_size(c->box.x)) *
                 mafat_tensors_pixel_bytes(t, run->tensor, run->block);
  for (int y = rows.begin; y < rows.end; y++)
    memcpy(mafat_conv_kept_row(c, y),
           mafat_tensors_address(t, run->tensor, run->block, y,
                                 mafat_taps_first(x, c->box.x.begin)),
           bytes);
}

int mafat_conv_depthwise_in_place(struct mafat_conv *c)
{
  const struct mafat_tensors *t = c->worker->tensors;
  int code = MAFAT_OK;
  for (struct mafat_run run; code == MAFAT_OK && mafat_conv_take_channels(c, &run);)
    for (struct mafat_span rows = {0, c->box.y.begin};
         code == MAFAT_OK && rows.end < c->box.y.end;) {
      rows = mafat_conv_kept_call(c, rows.end);
      mafat_conv_keep_rows(c, &run, rows);
      point_at_input(c, &run, NULL, rows);
      int first = mafat_taps_first(c->layer->window.y, rows.begin);
      for (int y = mafat_max(first, c->in_y.begin); y < rows.end; y++)
        c->in_rows[y - first] = (const float *)(const void *)mafat_conv_kept_row(c, y);
      point_at_output(c, &run, rows);
      code = run_depthwise_rows(c, &run, rows,
                                mafat_tensors_pixel_floats(t, c->step->layer, run.out_block));
    }
  return code;
}

/* ---- alone ---- */

int mafat_conv_depthwise(struct mafat_conv *c)
{
  const struct mafat_tensors *t = c->worker->tensors;
  struct mafat_conv_block block;
  mafat_conv_share(c, 1);
  for (int all; mafat_conv_take(c, &block, &all);) {
    struct mafat_span rows = block.sums;
    struct mafat_runs runs = mafat_runs_of(mafat_layer_sources(c->layer), c->step->filters);
    struct mafat_run run, last;
    for (bool first = true; mafat_runs_next(&runs, &run); first = false, last = run) {
      point_at_input(c, &run, first ? NULL : &last, rows);
      point_at_output(c, &run, rows);
      int code = run_depthwise_rows(c, &run, rows,
                                    mafat_tensors_pixel_floats(t, c->step->layer, run.out_block));
      if (code) return code;
    }
  }
  return MAFAT_OK;
}

/* ---- fused into the 1x1 that reads it ---- */

/* Returns the address of channel block `b` of the depthwise layer's row r in the worker's scratch.
 * r counts from the first row of the block of rows. */
static float *inner_row(const struct mafat_conv *c, int b, int r)
{
  const struct mafat_scratch *s = c->worker->scratch;
  return (float *)(c->worker->slot_memory + s->inner_offset) + (size_t)r * s->inner_row_elements +
         (size_t)b * MAFAT_CHANNEL_BLOCK * (size_t)s->inner_cols;
}

/* Computes rows of the depthwise layer into scratch. */
static int run_inner_rows(struct mafat_conv *c, struct mafat_span rows)
{
  struct mafat_runs runs =
      mafat_runs_of(mafat_layer_sources(c->layer), mafat_span(0, c->layer->out.c));
  struct mafat_run run, last;
  c->outputs.rows = mafat_span(0, 0);
  for (bool first = true; mafat_runs_next(&runs, &run); first = false, last = run) {
    for (int r = 0; r < mafat_span_size(rows); r++)
      c->out_rows[r] = inner_row(c, run.out_block, r) + run.out_lane;
    point_at_input(c, &run, first ? NULL : &last, rows);
    int code = run_depthwise_rows(c, &run, rows, mafat_block_width(c->layer->out.c, run.out_block));
    if (code) return code;
  }
  return MAFAT_OK;
}

static void point_at_inner_rows(struct mafat_conv *c, int n, int channels)
{
  for (int b = 0; b < mafat_n_blocks(channels); b++) {
    const float **in = c->in_rows + (size_t)b * (size_t)c->worker->scratch->in_rows;
    for (int r = 0; r < n; r++) in[r] = inner_row(c, b, r);
    c->block_slices[b] = (struct mafat_conv_block_slice){
        in, mafat_min(MAFAT_CHANNEL_BLOCK, channels - b * MAFAT_CHANNEL_BLOCK),
        mafat_block_width(channels, b)};
  }
}

/* Computes one panel of the 1x1 convolution. Each kernel call sums at most mafat_widened_channels
 * input channels. */
static int run_pointwise_panel(struct mafat_conv *c, struct mafat_span filters,
                               struct mafat_span rows)
{
  const struct mafat_layer *outer = &c->worker->tensors->network->layers[c->pointwise];
  int n = mafat_span_size(rows), channels = outer->in.c, most = mafat_widened_channels(outer);
  struct mafat_conv_call call = {.n_rows = n,
                                 .n_cols = mafat_span_size(c->box.x),
                                 .window = mafat_window_square(1, 1, 0),
                                 .activation = outer->activation};
  call.n_segments = mafat_conv_point_at_output(c, filters, rows.begin, n, call.segments);
  for (struct mafat_span part = {0, 0}; part.end < channels;) {
    part = mafat_span(part.end, mafat_min(part.end + most, channels));
    struct mafat_weights_slice slice;
    int code = mafat_widened_slice(c->worker, c->pointwise, filters, part, &slice);
    if (code) return code;
    call.block_slices = c->block_slices + part.begin / MAFAT_CHANNEL_BLOCK;
    call.n_block_slices = mafat_n_blocks(mafat_span_size(part));
    call.weights = slice.weights;
    call.scale = slice.scale;
    call.bias = slice.bias;
    call.width = slice.width;
    call.start = part.begin == 0;
    call.finish = part.end == channels;
    c->worker->kernels->conv(&call);
    mafat_weights_release(c->worker->weights, &slice);
  }
  mafat_conv_add(c, filters, rows.begin, n);
  return MAFAT_OK;
}

/* Computes the 1x1 convolution from the rows in scratch. */
static int run_pointwise_rows(struct mafat_conv *c, struct mafat_span rows)
{
  int code = MAFAT_OK;
  point_at_inner_rows(c, mafat_span_size(rows),
                      c->worker->tensors->network->layers[c->pointwise].in.c);
  for (int p = 0; p < mafat_conv_n_panels(c) && code == MAFAT_OK; p++)
    code = run_pointwise_panel(c, mafat_conv_panel(c, p), rows);
  return code;
}

int mafat_conv_separable(struct mafat_conv *c)
{
  struct mafat_conv_block block;
  mafat_conv_share(c, 1);
  for (int all; mafat_conv_take(c, &block, &all);) {
    struct mafat_span rows = block.sums;
    int code = run_inner_rows(c, rows);
    if (code == MAFAT_OK) code = run_pointwise_rows(c, rows);
    if (code) return code;
  }
  return MAFAT_OK;
}
