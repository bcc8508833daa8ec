/* Direct convolution: ordinary, grouped, depthwise, and a depthwise inside the
 * 1x1 that reads it. A unit of work is a block of rows times a panel of filters. */
#include "runner/layers/convolution.h"

/* ---- ordinary and grouped ---- */

/* A group of the convolution: its filters, and the input channels they read. */
struct group {
  struct mafat_span filters, channels;
};

/* Rows of sums of block `b`: of `step.out` rows, doubled where they are pooled. */
struct block {
  struct mafat_span sums; /* rows of sums */
  int out_y;              /* first row of the step's output */
};

static int n_blocks(const struct convolution *c)
{
  int per_call = c->worker->scratch->rows_per_call;
  return (mafat_span_size(c->box.y) + per_call - 1) / per_call;
}

static struct block block_of(const struct convolution *c, int b)
{
  int per_call = c->worker->scratch->rows_per_call, begin = c->box.y.begin + b * per_call;
  return (struct block){mafat_span(begin, mafat_min(begin + per_call, c->box.y.end)),
                        c->step->out.y.begin + (c->pool ? b * per_call / 2 : b * per_call)};
}

static void point_at_input(struct convolution *c, const struct block *block)
{
  const struct mafat_layer *l = c->layer;
  int first = block->sums.begin * l->stride - l->pad, x = c->box.x.begin * l->stride - l->pad;
  int n = (mafat_span_size(block->sums) - 1) * l->stride + l->size;
  for (int i = 0; i < c->n_pieces; i++) {
    const struct mafat_piece *p = &c->references[i];
    const float **rows = c->in_rows + (size_t)i * (size_t)c->worker->scratch->in_rows;
    convolution_point_at_rows(c, p, first, n, x, rows);
    c->pieces[i] = (struct mafat_conv_piece){
        rows, p->n, mafat_tensors_pixel_floats(c->worker->tensors, p->tensor, p->block)};
  }
}

/* How many pieces from `first` on go into one call. */
static int split_pieces(const struct convolution *c, int first, bool split)
{
  int channels = 0, i = first;
  if (!split) return c->n_pieces - first;
  while (i < c->n_pieces && channels < MAFAT_SPLIT_CHANNELS) channels += c->references[i++].n;
  return i - first;
}

/* One panel over a block of rows: the input channels in as many calls as the
 * cache wants, continuing the sums that lie in the output. Pooled sums never lie
 * there: one call. */
static int run_panel(struct convolution *c, const struct group *g, struct mafat_span filters,
                     const struct block *block)
{
  const struct mafat_layer *l = c->layer;
  int per_group = l->in.c / l->groups, group_begin = filters.begin / (l->filters / l->groups) * per_group;
  int n = mafat_span_size(block->sums);
  struct mafat_conv_call call = {.n_rows = n, .n_cols = mafat_span_size(c->box.x), .size = l->size,
                                 .stride = l->stride, .activation = l->activation, .pool = c->pool};
  call.n_segments =
      convolution_point_at_output(c, filters, block->out_y, c->pool ? (n + 1) / 2 : n, call.segments);
  bool split = !c->pool && (size_t)mafat_span_size(g->channels) * (size_t)l->size * (size_t)l->size *
                                   MAFAT_CHANNEL_BLOCK * sizeof(float) > MAFAT_SPLIT_BYTES;
  for (int i = 0; i < c->n_pieces;) {
    int count = split_pieces(c, i, split);
    struct mafat_span part = {c->references[i].position - group_begin, 0};
    part.end = i + count < c->n_pieces ? c->references[i + count].position - group_begin
                                       : g->channels.end - group_begin;
    struct mafat_weights_slice slice;
    int code = mafat_weights_slice(c->worker->weights, c->index, filters, part, &slice);
    if (code) return code;
    call.pieces = c->pieces + i;
    call.n_pieces = count;
    call.weights = slice.weights;
    call.scale = slice.scale;
    call.bias = slice.bias;
    call.width = slice.width;
    call.start = part.begin == 0;
    call.finish = part.end == per_group;
    c->worker->kernels->conv(&call);
    mafat_weights_release(c->worker->weights, &slice);
    i += count;
  }
  if (call.finish) convolution_add(c, filters, block->out_y, n);
  return MAFAT_OK;
}

static int run_ordinary(struct convolution *c)
{
  struct group all = {c->step->filters, c->step->channels};
  int n_panels = convolution_n_panels(c), current = -1;
  struct block block = {{0, 0}, 0};
  convolution_list_pieces(c, all.channels);
  for (int unit; (unit = mafat_team_take(c->worker->team, c->worker->index, n_blocks(c) * n_panels)) >= 0;) {
    if (unit / n_panels != current) {
      current = unit / n_panels;
      block = block_of(c, current);
      point_at_input(c, &block);
    }
    int code = run_panel(c, &all, convolution_panel(c, unit % n_panels), &block);
    if (code) return code;
  }
  return MAFAT_OK;
}

/* A unit is a block of rows of one group: panels cross neither groups nor blocks. */
static int run_grouped(struct convolution *c)
{
  const struct mafat_layer *l = c->layer;
  int filters = l->filters / l->groups, channels = l->in.c / l->groups;
  struct mafat_span wanted = c->step->filters;
  int first = wanted.begin / filters, n_groups = (wanted.end - 1) / filters + 1 - first;
  for (int unit; (unit = mafat_team_take(c->worker->team, c->worker->index, n_blocks(c) * n_groups)) >= 0;) {
    struct block block = block_of(c, unit / n_groups);
    int g = first + unit % n_groups;
    struct group group = {mafat_span_clip(wanted, (g + 1) * filters),
                          mafat_span(g * channels, (g + 1) * channels)};
    if (group.filters.begin < g * filters) group.filters.begin = g * filters;
    convolution_list_pieces(c, group.channels);
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

/* ---- depthwise ---- */

/* Rows of one run of a depthwise layer's channels into out_rows, which are
 * filled by the caller. */
static int run_depthwise_rows(struct convolution *c, const struct mafat_run *run,
                              struct mafat_span rows, int out_pixel_floats)
{
  const struct mafat_layer *l = c->layer;
  int block = run->out_block * MAFAT_CHANNEL_BLOCK, x = c->box.x.begin * l->stride - l->pad;
  struct mafat_span panel = {block, mafat_panel_end(l, block)};
  struct mafat_piece piece = {run->tensor, run->block, run->lane, run->n, 0};
  struct mafat_weights_slice slice;
  int code = mafat_weights_slice(c->worker->weights, c->index, panel, mafat_span(0, 1), &slice);
  if (code) return code;
  int n = mafat_span_size(rows);
  convolution_point_at_rows(c, &piece, rows.begin * l->stride - l->pad, (n - 1) * l->stride + l->size, x,
                            c->in_rows);
  struct mafat_depthwise_call call = {
      .rows = c->in_rows, .out = c->out_rows, .n_channels = run->n,
      .in_pixel_floats = mafat_tensors_pixel_floats(c->worker->tensors, run->tensor, run->block),
      .out_pixel_floats = out_pixel_floats, .n_rows = n, .n_cols = mafat_span_size(c->box.x),
      .size = l->size, .stride = l->stride, .weights = slice.weights + run->out_lane,
      .scale = slice.scale + run->out_lane, .bias = slice.bias + run->out_lane, .width = slice.width,
      .activation = l->activation};
  c->worker->kernels->depthwise(&call);
  mafat_weights_release(c->worker->weights, &slice);
  return MAFAT_OK;
}

static int run_depthwise(struct convolution *c)
{
  const struct mafat_tensors *t = c->worker->tensors;
  for (int unit; (unit = mafat_team_take(c->worker->team, c->worker->index, n_blocks(c))) >= 0;) {
    struct mafat_span rows = block_of(c, unit).sums;
    struct mafat_runs runs = mafat_runs_of(&c->layer->sources, c->step->filters);
    struct mafat_run run;
    while (mafat_runs_next(&runs, &run)) {
      for (int r = 0; r < mafat_span_size(rows); r++)
        c->out_rows[r] = mafat_tensors_pixel(t, c->step->layer, run.out_block, rows.begin + r,
                                             c->step->out.x.begin) + run.out_lane;
      int code = run_depthwise_rows(c, &run, rows, mafat_tensors_pixel_floats(t, c->step->layer, run.out_block));
      if (code) return code;
    }
  }
  return MAFAT_OK;
}

/* ---- a depthwise layer inside the 1x1 that reads it ---- */

/* Where block `b` of the inner layer's row r lies in the slot. */
static float *inner_row(const struct convolution *c, int b, int r)
{
  const struct mafat_scratch *s = c->worker->scratch;
  return (float *)(c->worker->slot_memory + s->inner_offset) + (size_t)r * s->inner_row_floats +
         (size_t)b * MAFAT_CHANNEL_BLOCK * (size_t)s->inner_cols;
}

static int run_inner_rows(struct convolution *c, struct mafat_span rows)
{
  struct mafat_runs runs = mafat_runs_of(&c->layer->sources, mafat_span(0, c->layer->out.c));
  struct mafat_run run;
  while (mafat_runs_next(&runs, &run)) {
    for (int r = 0; r < mafat_span_size(rows); r++) c->out_rows[r] = inner_row(c, run.out_block, r) + run.out_lane;
    int code = run_depthwise_rows(c, &run, rows, mafat_block_width(c->layer->out.c, run.out_block));
    if (code) return code;
  }
  return MAFAT_OK;
}

/* The 1x1 over rows that lie in the slot. */
static int run_pointwise_rows(struct convolution *c, struct mafat_span rows)
{
  int layer = c->pointwise, n = mafat_span_size(rows);
  const struct mafat_layer *outer = &c->worker->tensors->network->layers[layer];
  int channels = outer->in.c, n_pieces = mafat_n_blocks(channels);
  for (int b = 0; b < n_pieces; b++) {
    const float **in = c->in_rows + (size_t)b * (size_t)c->worker->scratch->in_rows;
    for (int r = 0; r < n; r++) in[r] = inner_row(c, b, r);
    c->pieces[b] = (struct mafat_conv_piece){
        in, mafat_min(MAFAT_CHANNEL_BLOCK, channels - b * MAFAT_CHANNEL_BLOCK), mafat_block_width(channels, b)};
  }
  for (int p = 0; p < convolution_n_panels(c); p++) {
    struct mafat_span filters = convolution_panel(c, p);
    struct mafat_weights_slice slice;
    int code = mafat_weights_slice(c->worker->weights, layer, filters, mafat_span(0, channels), &slice);
    if (code) return code;
    struct mafat_conv_call call = {
        .pieces = c->pieces, .n_pieces = n_pieces, .n_rows = n, .n_cols = mafat_span_size(c->box.x),
        .size = 1, .stride = 1, .weights = slice.weights, .scale = slice.scale, .bias = slice.bias,
        .width = slice.width, .activation = outer->activation, .start = true, .finish = true};
    call.n_segments = convolution_point_at_output(c, filters, rows.begin, n, call.segments);
    c->worker->kernels->conv(&call);
    mafat_weights_release(c->worker->weights, &slice);
    convolution_add(c, filters, rows.begin, n);
  }
  return MAFAT_OK;
}

static int run_separable(struct convolution *c)
{
  for (int unit; (unit = mafat_team_take(c->worker->team, c->worker->index, n_blocks(c))) >= 0;) {
    struct mafat_span rows = block_of(c, unit).sums;
    int code = run_inner_rows(c, rows);
    if (code == MAFAT_OK) code = run_pointwise_rows(c, rows);
    if (code) return code;
  }
  return MAFAT_OK;
}

int mafat_layers_direct(const struct mafat_worker *w, const struct mafat_step *step)
{
  struct convolution c;
  convolution_open(&c, w, step);
  if (c.pointwise >= 0) return run_separable(&c);
  if (mafat_layer_is_depthwise(c.layer)) return run_depthwise(&c);
  if (c.layer->groups > 1) return run_grouped(&c);
  return run_ordinary(&c);
}
