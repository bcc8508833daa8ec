#include "runner/layers.h"

#include <assert.h>
#include <string.h>

enum {
  /* Input channels per kernel call where a panel's weights are larger than
   * that: 256 channels x 9 taps x 16 filters stay in a second-level cache. */
  SPLIT_CHANNELS = 256,
  SPLIT_BYTES = 256 << 10,
  /* A scratch record holds a kernel piece in its first half, a reference in its second. */
  REFERENCE_OFFSET = MAFAT_SCRATCH_PIECE / 2
};

_Static_assert(sizeof(struct mafat_conv_piece) <= REFERENCE_OFFSET, "piece record");
_Static_assert(sizeof(struct mafat_piece) <= MAFAT_SCRATCH_PIECE - REFERENCE_OFFSET, "piece record");
_Static_assert(sizeof(void *) <= 8, "scratch counts 8 bytes per pointer");

/* One convolution step being run: the tables in scratch, and its box. */
struct convolution {
  const struct mafat_worker *worker;
  const struct mafat_step *step;
  const struct mafat_layer *layer;
  struct mafat_conv_piece *pieces;
  struct mafat_piece *references;
  const float **in_rows;
  float **out_rows;
  float *zeros;
  int n_pieces;
};

static void open_convolution(struct convolution *c, const struct mafat_worker *w,
                             const struct mafat_step *step)
{
  const struct mafat_scratch *s = w->scratch;
  char *memory = w->slot_memory;
  *c = (struct convolution){.worker = w, .step = step,
                            .layer = &w->tensors->network->layers[step->layer]};
  c->pieces = (struct mafat_conv_piece *)(memory + s->pieces_offset);
  c->references =
      (struct mafat_piece *)(memory + s->pieces_offset + (size_t)s->n_pieces * REFERENCE_OFFSET);
  c->in_rows = (const float **)(memory + s->in_offset);
  c->out_rows = (float **)(memory + s->out_offset);
  c->zeros = (float *)(memory + s->zero_offset);
  if (s->zero_floats) memset(c->zeros, 0, s->zero_floats * sizeof(float));
}

/* Row pointers of one piece for output rows [y0, y0 + n): at the first tap of
 * the box's first column; rows outside the map point at zeros. */
static void point_at_rows(const struct convolution *c, const struct mafat_piece *piece, int y0, int n,
                          const float **rows)
{
  const struct mafat_layer *l = c->layer;
  int x = c->step->out.x.begin * l->stride - l->pad;
  int first = y0 * l->stride - l->pad, n_in = (n - 1) * l->stride + l->size;
  for (int r = 0; r < n_in; r++) {
    int y = first + r;
    rows[r] = y < 0 || y >= l->in.h
                  ? c->zeros
                  : mafat_tensors_pixel(c->worker->tensors, piece->tensor, piece->block, y, x) + piece->lane;
  }
}

static void list_pieces(struct convolution *c, struct mafat_span channels)
{
  c->n_pieces = mafat_pieces(&c->layer->sources, channels, c->references, c->worker->scratch->n_pieces);
  assert(c->n_pieces <= c->worker->scratch->n_pieces);
}

static void point_at_input(struct convolution *c, int y0, int n)
{
  for (int i = 0; i < c->n_pieces; i++) {
    const struct mafat_piece *p = &c->references[i];
    const float **rows = c->in_rows + (size_t)i * (size_t)c->worker->scratch->in_rows;
    point_at_rows(c, p, y0, n, rows);
    c->pieces[i] = (struct mafat_conv_piece){
        rows, p->n, mafat_tensors_pixel_floats(c->worker->tensors, p->tensor, p->block)};
  }
}

/* The panel's part of the output: a segment per channel block it touches. */
static void point_at_output(struct convolution *c, struct mafat_span filters, int y0, int n,
                            struct mafat_conv_call *call)
{
  const struct mafat_tensors *t = c->worker->tensors;
  int layer = c->step->layer;
  call->n_segments = 0;
  for (int f = filters.begin; f < filters.end;) {
    int block = f / MAFAT_CHANNEL_BLOCK, lane = f % MAFAT_CHANNEL_BLOCK;
    int end = mafat_min(filters.end, (block + 1) * MAFAT_CHANNEL_BLOCK);
    assert(call->n_segments < 2);
    float **rows = c->out_rows + (size_t)call->n_segments * (size_t)c->worker->scratch->rows_per_call;
    for (int r = 0; r < n; r++)
      rows[r] = mafat_tensors_pixel(t, layer, block, y0 + r, c->step->out.x.begin) + lane;
    call->segments[call->n_segments++] = (struct mafat_conv_segment){
        rows, end - f, mafat_tensors_pixel_floats(t, layer, block)};
    f = end;
  }
}

/* How many pieces from `first` on go into one call. */
static int split_pieces(const struct convolution *c, int first, bool split)
{
  int channels = 0, i = first;
  if (!split) return c->n_pieces - first;
  while (i < c->n_pieces && channels < SPLIT_CHANNELS) channels += c->references[i++].n;
  return i - first;
}

/* One panel over rows [y0, y0 + n): the input channels in as many calls as the
 * cache wants, continuing the sums that lie in the output. */
static int run_panel(struct convolution *c, struct mafat_span filters, struct mafat_span channels,
                     int group_begin, int y0, int n)
{
  const struct mafat_layer *l = c->layer;
  int per_group = l->in.c / l->groups;
  struct mafat_conv_call call = {.n_rows = n, .n_cols = mafat_span_size(c->step->out.x),
                                 .size = l->size, .stride = l->stride, .activation = l->activation};
  point_at_output(c, filters, y0, n, &call);
  bool split = (size_t)mafat_span_size(channels) * (size_t)l->size * (size_t)l->size *
                   MAFAT_CHANNEL_BLOCK * sizeof(float) > SPLIT_BYTES;
  for (int i = 0; i < c->n_pieces;) {
    int count = split_pieces(c, i, split);
    struct mafat_span part = {c->references[i].position - group_begin, 0};
    part.end = i + count < c->n_pieces ? c->references[i + count].position - group_begin
                                       : channels.end - group_begin;
    struct mafat_weights_slice slice;
    int code = mafat_weights_slice(c->worker->weights, c->step->layer, filters, part, &slice);
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
  return MAFAT_OK;
}

static int run_group(struct convolution *c, struct mafat_span filters, struct mafat_span channels,
                     int group_begin)
{
  struct mafat_span y = c->step->out.y;
  list_pieces(c, channels);
  for (int y0 = y.begin; y0 < y.end; y0 += c->worker->scratch->rows_per_call) {
    int n = mafat_min(c->worker->scratch->rows_per_call, y.end - y0);
    point_at_input(c, y0, n);
    for (int f = filters.begin; f < filters.end;) {
      int end = mafat_min(mafat_panel_end(c->layer, f), filters.end);
      int code = run_panel(c, mafat_span(f, end), channels, group_begin, y0, n);
      if (code) return code;
      f = end;
    }
  }
  return MAFAT_OK;
}

static int run_depthwise(struct convolution *c)
{
  const struct mafat_layer *l = c->layer;
  const struct mafat_tensors *t = c->worker->tensors;
  struct mafat_span y = c->step->out.y;
  struct mafat_runs runs = mafat_runs_of(&l->sources, c->step->filters);
  struct mafat_run run;
  while (mafat_runs_next(&runs, &run)) {
    int first = run.out_block * MAFAT_CHANNEL_BLOCK;
    struct mafat_span panel = {first, mafat_panel_end(l, first)};
    struct mafat_weights_slice slice;
    int code = mafat_weights_slice(c->worker->weights, c->step->layer, panel, mafat_span(0, 1), &slice);
    if (code) return code;
    struct mafat_depthwise_call call = {
        .rows = c->in_rows, .out = c->out_rows, .n_channels = run.n,
        .in_pixel_floats = mafat_tensors_pixel_floats(t, run.tensor, run.block),
        .out_pixel_floats = mafat_tensors_pixel_floats(t, c->step->layer, run.out_block),
        .n_cols = mafat_span_size(c->step->out.x), .size = l->size, .stride = l->stride,
        .weights = slice.weights + run.out_lane, .scale = slice.scale + run.out_lane,
        .bias = slice.bias + run.out_lane, .width = slice.width, .activation = l->activation};
    struct mafat_piece piece = {run.tensor, run.block, run.lane, run.n, 0};
    for (int y0 = y.begin; y0 < y.end; y0 += c->worker->scratch->rows_per_call) {
      call.n_rows = mafat_min(c->worker->scratch->rows_per_call, y.end - y0);
      point_at_rows(c, &piece, y0, call.n_rows, c->in_rows);
      for (int r = 0; r < call.n_rows; r++)
        c->out_rows[r] = mafat_tensors_pixel(t, c->step->layer, run.out_block, y0 + r,
                                             c->step->out.x.begin) + run.out_lane;
      c->worker->kernels->depthwise(&call);
    }
    mafat_weights_release(c->worker->weights, &slice);
  }
  return MAFAT_OK;
}

int mafat_layers_convolve(const struct mafat_worker *w, const struct mafat_step *step)
{
  struct convolution c;
  open_convolution(&c, w, step);
  const struct mafat_layer *l = c.layer;
  if (mafat_layer_is_depthwise(l)) return run_depthwise(&c);
  if (l->groups == 1) return run_group(&c, step->filters, step->channels, 0);
  int filters = l->filters / l->groups, channels = l->in.c / l->groups;
  for (int g = step->filters.begin / filters; g * filters < step->filters.end; g++) {
    struct mafat_span part = mafat_span_clip(step->filters, (g + 1) * filters);
    if (part.begin < g * filters) part.begin = g * filters;
    int code = run_group(&c, part, mafat_span(g * channels, (g + 1) * channels), g * channels);
    if (code) return code;
  }
  return MAFAT_OK;
}

/* A connected layer is a 1x1 convolution of one pixel whose channels are the
 * input in Darknet's order: one piece of any length. */
int mafat_layers_connect(const struct mafat_worker *w, const struct mafat_step *step)
{
  struct convolution c;
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  float *flat = (float *)(w->shared_memory + w->scratch->flat_offset);
  open_convolution(&c, w, step);
  mafat_layers_flatten(w->tensors, &l->sources, l->in, flat);
  const float *row = flat;
  int inputs = (int)w->scratch->flat_floats;
  struct mafat_conv_piece piece = {&row, inputs, 0};
  for (int f = step->filters.begin; f < step->filters.end;) {
    struct mafat_span filters = {f, mafat_min(mafat_panel_end(l, f), step->filters.end)};
    struct mafat_conv_call call = {.pieces = &piece, .n_pieces = 1, .n_rows = 1, .n_cols = 1,
                                   .size = 1, .stride = 1, .activation = l->activation,
                                   .start = true, .finish = true};
    struct mafat_weights_slice slice;
    int code = mafat_weights_slice(w->weights, step->layer, filters, mafat_span(0, inputs), &slice);
    if (code) return code;
    point_at_output(&c, filters, 0, 1, &call);
    call.weights = slice.weights;
    call.scale = slice.scale;
    call.bias = slice.bias;
    call.width = slice.width;
    w->kernels->conv(&call);
    mafat_weights_release(w->weights, &slice);
    f = filters.end;
  }
  return MAFAT_OK;
}

/* Weights of their own at every location; rare, so plain loops: products are
 * rounded in both classes. */
int mafat_layers_local(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  float *flat = (float *)(w->shared_memory + w->scratch->flat_offset);
  struct mafat_weights_slice slice;
  int code = mafat_weights_slice(w->weights, step->layer, step->filters, step->channels, &slice);
  if (code) return code;
  mafat_layers_flatten(w->tensors, &l->sources, l->in, flat);
  const float *weight = slice.weights;
  for (int oy = 0; oy < l->out.h; oy++)
    for (int ox = 0; ox < l->out.w; ox++)
      for (int f = 0; f < l->filters; f++) {
        float sum = 0;
        for (int c = 0; c < l->in.c; c++)
          for (int ky = 0; ky < l->size; ky++)
            for (int kx = 0; kx < l->size; kx++, weight++) {
              int y = oy * l->stride + ky - l->pad, x = ox * l->stride + kx - l->pad;
              if (y < 0 || y >= l->in.h || x < 0 || x >= l->in.w) continue;
              sum += *weight * flat[((size_t)c * (size_t)l->in.h + (size_t)y) * (size_t)l->in.w + (size_t)x];
            }
        float *out = mafat_tensors_element(w->tensors, step->layer, f, oy, ox);
        *out = sum + slice.bias[((size_t)f * (size_t)l->out.h + (size_t)oy) * (size_t)l->out.w + (size_t)ox];
        w->kernels->activate(out, 1, l->activation);
      }
  mafat_weights_release(w->weights, &slice);
  return MAFAT_OK;
}
