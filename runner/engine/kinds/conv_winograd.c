/* Computes Winograd convolutions. Called by conv.c. Reads weights through runner/weights; writes
 * the step's output and scratch, in the arena; allocates nothing. A step that computes all filters
 * is divided into turns. A turn is a few rows of tiles, computed thus:
 *
 * 1. Transform the input of all channels: the results are called values.
 * 2. For each panel of filters: transform the weights of some channels (unless all transformed
 *    weights are kept for the step); multiply values by weights, one matrix product for each point
 *    of a tile (36 or 64); transform the sums to outputs.
 *
 * A unit of work is a panel of a turn. If there are more turns than workers, each worker computes
 * the values of the turns that it begins; few values are computed twice. Otherwise a separate round
 * before the others computes the values of all turns, and also the transformed weights if they are
 * kept.
 *
 * If each step computes one panel, or one panel from a slice of the input channels
 * (mafat_plan_transforms), there is one turn. A separate step before these steps computes the
 * values of all tiles, and sums stay in shared scratch until the step of the next slice.
 *
 * Channels are summed in the order of direct convolution; sums are stored and reloaded exactly.
 * F(6x6) sums each block of channels (base/winograd.h) separately and adds the results. So each
 * matrix product sums whole blocks. */
#include "runner/engine/kinds/conv.h"

#include "predictor/plan/weight_placement.h"
#include "predictor/plan/winograd.h"
#include "runner/engine/kinds/widened.h"

#include <assert.h>

struct winograd {
  struct mafat_conv c;
  const struct mafat_winograd *size;
  const struct mafat_scratch *scratch;
  int tiles_across, tiles_down; /* tiles of the whole box */
  struct mafat_span rows;       /* rows of tiles in the turn */
  struct mafat_span held;       /* rows of tiles whose values exist: the turn's, or all */
  float *values, *kernels, *sums; /* transformed input, transformed weights, products (scratch.h) */
  struct mafat_span block;        /* block slices of the block that find_block found last */
};

/* Sets values, kernels and sums to the buffers of turn number `turn`, or to those that all turns
 * share. */
static void use_turn(struct winograd *g, int turn)
{
  const struct mafat_scratch *s = g->scratch;
  char *memory = g->c.worker->shared_memory;
  assert(turn < s->n_turns);
  g->values = (float *)(memory + s->values_offset) +
              (s->shared_values ? 0 : (size_t)turn * s->values_floats);
  g->kernels = (float *)(memory + s->kernel_offset) +
               (s->keep_weights ? 0 : (size_t)turn * s->kernel_floats);
  g->sums = (float *)(memory + s->sums_offset) + (size_t)turn * s->sums_floats;
}

static int tiles_of(const struct winograd *g, struct mafat_span rows)
{
  return mafat_span_size(rows) * g->tiles_across;
}

static void open_winograd(struct winograd *g, const struct mafat_worker *w,
                          const struct mafat_step *step)
{
  mafat_conv_open(&g->c, w, step);
  mafat_conv_list_block_slices(&g->c, mafat_span(0, g->c.layer->in.c));
  g->scratch = w->scratch;
  g->block = mafat_span(0, 0);
  g->size = mafat_winograd_of(w->plan->algorithms[g->c.index]);
  g->tiles_across = mafat_winograd_tiles(g->size, mafat_span_size(g->c.box.x));
  g->tiles_down = mafat_winograd_tiles(g->size, mafat_span_size(g->c.box.y));
  g->rows = g->held = mafat_span(0, g->tiles_down);
  use_turn(g, 0);
}

static const struct mafat_winograd_kernels *transforms(const struct winograd *g)
{
  return &g->c.worker->kernels->winograd[g->size->size];
}

/* Returns the first channel of block slice i; for i past the last slice, the number of channels. */
static int block_slice_position(const struct mafat_conv *c, int i)
{
  return i < c->n_block_slices ? c->references[i].position : c->layer->in.c;
}

/* ---- weights ---- */

/* Transforms a panel's weights of block slices [first, end) to `values`, [point][channel][width].
 * *slice: weights of the last block slice, which the caller releases. */
static int transform_weights(const struct winograd *g, struct mafat_span filters, int first,
                             int end, float *values, struct mafat_weights_slice *slice)
{
  const struct mafat_conv *c = &g->c;
  int channel = block_slice_position(c, first), channel_end = block_slice_position(c, end);
  for (int i = first; i < end; i++) {
    struct mafat_span channels = {block_slice_position(c, i), block_slice_position(c, i + 1)};
    int code = mafat_widened_slice(c->worker, c->index, filters, channels, slice);
    if (code) return code;
    size_t width = (size_t)slice->width,
           point = mafat_scratch_point_floats((size_t)(channel_end - channel) * width);
    transforms(g)->weights(slice->weights, mafat_span_size(channels), slice->width,
                           values + (size_t)(channels.begin - channel) * width, point);
    if (i + 1 < end) mafat_weights_release(c->worker->weights, slice);
  }
  return MAFAT_OK;
}

/* Returns the address of a panel's transformed weights that are kept for the step. All panels
 * before it have MAFAT_PANEL filters. */
static float *kept_panel(const struct winograd *g, int panel)
{
  return g->kernels + (size_t)panel * (size_t)g->size->points *
                          mafat_scratch_point_floats((size_t)g->c.layer->in.c * MAFAT_PANEL);
}

static int keep_panel(const struct winograd *g, int panel)
{
  struct mafat_weights_slice slice;
  int code = transform_weights(g, mafat_conv_panel(&g->c, panel), 0, g->c.n_block_slices,
                               kept_panel(g, panel), &slice);
  if (code == MAFAT_OK) mafat_weights_release(g->c.worker->weights, &slice);
  return code;
}

/* ---- input ---- */

/* Returns the end of the block slices, from `first` on, that are multiplied in one product. */
static int turn_of_block_slices(const struct winograd *g, int first)
{
  int channels = 0, i = first;
  while (i < g->c.n_block_slices && channels < g->scratch->turn_channels)
    channels += g->c.references[i++].n;
  return i;
}

/* Values of the block slices that are multiplied in one product, [point][tile][channel]. The
 * distance between points is chosen so that they use many cache sets. */
struct values_block {
  struct mafat_span block_slices;
  int first_channel, n_channels;
  size_t point_floats;
  float *values;
};

/* Returns the block of values that contains block slice i. Each block slice has as much memory as
 * the widest needs. */
static struct values_block find_block(struct winograd *g, int i)
{
  size_t block_slice_floats = mafat_scratch_point_floats((size_t)tiles_of(g, g->held) *
                                                         (size_t)g->scratch->block_slice_channels);
  size_t capacity = block_slice_floats + g->scratch->block_slice_padding;
  if (i < g->block.begin) g->block = mafat_span(0, 0);
  while (i >= g->block.end)
    g->block = mafat_span(g->block.end, turn_of_block_slices(g, g->block.end));
  struct mafat_span block_slices = g->block;
  int first = block_slice_position(&g->c, block_slices.begin);
  size_t point_floats = (size_t)mafat_span_size(block_slices) * block_slice_floats;
  if (g->scratch->block_slice_padding) point_floats = mafat_scratch_point_floats(point_floats);
  return (struct values_block){.block_slices = block_slices,
                               .first_channel = first,
                               .n_channels = block_slice_position(&g->c, block_slices.end) - first,
                               .point_floats = point_floats,
                               .values = g->values + (size_t)block_slices.begin *
                                                         (size_t)g->size->points * capacity};
}

/* Transforms the input of one row of tiles and of block slice i. */
static void transform_input(struct winograd *g, int tile_row, int i)
{
  const struct mafat_conv *c = &g->c;
  const struct mafat_block_slice *p = &c->references[i];
  struct values_block block = find_block(g, i);
  size_t first_tile = (size_t)tile_row * (size_t)g->tiles_across;
  int y =
      c->box.y.begin + (g->held.begin + tile_row) * g->size->outputs - c->layer->window.y.before;
  int x = c->box.x.begin - c->layer->window.x.before;
  struct mafat_span cols = mafat_span_round_out(c->box.x, g->size->outputs, c->layer->out.w);
  mafat_conv_point_at_rows(c, p, y, g->size->window, x, c->in_rows);
  struct mafat_winograd_input_call call = {
      .rows = c->in_rows,
      .n_cols = mafat_taps_inputs(c->layer->window.x, mafat_span_size(cols)),
      .n_channels = p->n,
      .pixel_floats = mafat_tensors_pixel_floats(c->worker->tensors, p->tensor, p->block),
      .n_tiles = g->tiles_across,
      .point_floats = block.point_floats,
      .tile_floats = block.n_channels,
      .values = block.values + first_tile * (size_t)block.n_channels +
                (p->position - block.first_channel)};
  transforms(g)->input(&call);
}

/* ---- products and output ---- */

/* Returns the number of floats from one point of the sums to the next. A point has
 * [tile][width]. */
static size_t sums_point_floats(const struct winograd *g, int width)
{
  return mafat_scratch_point_floats((size_t)tiles_of(g, g->rows) * (size_t)width);
}

/* Multiplies the values of block slices [first, end) by weights, [point][channel][width], and adds
 * the products to the sums. weights_point: floats from one point to the next. ahead: weights that
 * will be transformed next, which the kernel prefetches; NULL: none. */
static void multiply(struct winograd *g, int first, int end, const float *weights,
                     size_t weights_point, int width, const float *ahead)
{
  const struct mafat_conv *c = &g->c;
  int first_channel = block_slice_position(c, first),
      first_tile = (g->rows.begin - g->held.begin) * g->tiles_across;
  for (int i = first, next; i < end; i = next) {
    struct values_block block = find_block(g, i);
    next = mafat_min(block.block_slices.end, end);
    int channel = block_slice_position(c, i);
    struct mafat_product_call call = {
        .values = block.values + (size_t)first_tile * (size_t)block.n_channels +
                  (channel - block.first_channel),
        .values_point = block.point_floats,
        .tile_floats = block.n_channels,
        .weights = weights + (size_t)(channel - first_channel) * (size_t)width,
        .weights_point = weights_point,
        .sums = g->sums,
        .sums_point = sums_point_floats(g, width),
        .n_points = g->size->points,
        .n_tiles = tiles_of(g, g->rows),
        .n_channels = block_slice_position(c, next) - channel,
        .width = width,
        .start = i == 0,
        .apart = i > 0 && g->size->block,
        .ahead = ahead};
    if (ahead) {
      call.n_ahead = mafat_window_area(&c->layer->window) * call.n_channels * width;
      ahead += call.n_ahead;
    }
    assert(!call.apart || call.n_channels == block.n_channels);
    c->worker->kernels->product(&call);
  }
}

static void transform_output(struct winograd *g, struct mafat_span filters,
                             const struct mafat_weights_slice *slice)
{
  struct mafat_conv *c = &g->c;
  int side = g->size->outputs, height = c->pool ? side / 2 : side;
  for (int row = 0; row < mafat_span_size(g->rows); row++) {
    int begin = (g->rows.begin + row) * side; /* row of sums within the box */
    int n = mafat_min(side, mafat_span_size(c->box.y) - begin);
    int y = c->step->out.y.begin + (g->rows.begin + row) * height;
    struct mafat_conv_segment segments[2];
    int n_segments = mafat_conv_point_at_output(c, filters, y, c->pool ? (n + 1) / 2 : n, segments);
    for (int s = 0; s < n_segments; s++) {
      int filter = s * MAFAT_CHANNEL_BLOCK;
      struct mafat_winograd_output_call call = {
          .values = g->sums + (size_t)row * (size_t)g->tiles_across * (size_t)slice->width + filter,
          .point_floats = sums_point_floats(g, slice->width), .tile_floats = slice->width,
          .n_tiles = g->tiles_across, .rows = segments[s].rows, .n_rows = n,
          .n_cols = mafat_span_size(c->box.x), .n_filters = segments[s].n_filters,
          .pixel_floats = segments[s].pixel_floats, .scale = slice->scale + filter,
          .bias = slice->bias + filter, .activation = c->layer->activation, .pool = c->pool};
      transforms(g)->output(&call);
    }
    mafat_conv_add(c, filters, y, n);
  }
}

/* Returns the panel's weights after those of a block slice; NULL if weights are not floats. */
static const float *after_block_slice(const struct mafat_conv *c, int block_slice,
                                      const struct mafat_weights_slice *slice)
{
  size_t rows = (size_t)c->references[block_slice].n * (size_t)mafat_window_area(&c->layer->window);
  return slice->narrow ? NULL : slice->weights + rows * (size_t)slice->width;
}

/* Transforms weights of block slices [first, end) and adds the products to the sums. *slice:
 * weights of the last block slice, with the panel's scale and bias; the caller releases it. */
static int add_block_slices(struct winograd *g, struct mafat_span filters, int first, int end,
                      struct mafat_weights_slice *slice)
{
  const struct mafat_conv *c = &g->c;
  for (int next; first < end; first = next) {
    next = mafat_min(turn_of_block_slices(g, first), end);
    int code = transform_weights(g, filters, first, next, g->kernels, slice);
    if (code) return code;
    int channels = block_slice_position(c, next) - block_slice_position(c, first);
    size_t width = (size_t)slice->width;
    multiply(g, first, next, g->kernels, mafat_scratch_point_floats((size_t)channels * width),
             slice->width, after_block_slice(c, next - 1, slice));
    if (next < end) mafat_weights_release(c->worker->weights, slice);
  }
  return MAFAT_OK;
}

/* Computes one panel of the turn, from all input channels. */
static int run_panel(struct winograd *g, int panel)
{
  struct mafat_conv *c = &g->c;
  struct mafat_weights *weights = c->worker->weights;
  struct mafat_span filters = mafat_conv_panel(c, panel);
  struct mafat_weights_slice slice;
  int code, n = c->n_block_slices;
  if (g->scratch->keep_weights) {
    code = mafat_weights_slice(weights, c->index, filters, mafat_span(0, c->layer->in.c), &slice);
    if (code) return code;
    multiply(g, 0, n, kept_panel(g, panel),
             mafat_scratch_point_floats((size_t)c->layer->in.c * (size_t)slice.width), slice.width,
             NULL);
  } else {
    code = add_block_slices(g, filters, 0, n, &slice);
    if (code) return code;
  }
  transform_output(g, filters, &slice);
  mafat_weights_release(weights, &slice);
  return MAFAT_OK;
}

/* Computes the values of the turn. */
static void transform_turn(struct winograd *g)
{
  g->held = g->rows;
  for (int i = 0; i < g->c.n_block_slices; i++)
    for (int row = 0; row < mafat_span_size(g->held); row++) transform_input(g, row, i);
}

/* Computes this worker's share of the data that all workers read afterwards: transformed weights of
 * n_panels panels, and values of n_block_slices block slices. */
static int run_preparations(struct winograd *g, int n_panels, int n_block_slices)
{
  const struct mafat_worker *w = g->c.worker;
  int code = MAFAT_OK, n_values = n_block_slices * g->tiles_down;
  for (int unit;
       code == MAFAT_OK && (unit = mafat_team_take(w->team, w->index, n_values + n_panels)) >= 0;)
    if (unit < n_values) transform_input(g, unit % g->tiles_down, unit / g->tiles_down);
    else code = keep_panel(g, unit - n_values);
  return code;
}

/* ---- steps of panels and slices ---- */

static int find_block_slice(const struct mafat_conv *c, int channel)
{
  int i = 0;
  while (i < c->n_block_slices && c->references[i].position < channel) i++;
  return i;
}

static int run_slices(struct winograd *g)
{
  struct mafat_conv *c = &g->c;
  const struct mafat_worker *w = c->worker;
  struct mafat_span channels = c->step->channels;
  int first = find_block_slice(c, channels.begin), end = find_block_slice(c, channels.end);
  for (int unit; (unit = mafat_team_take(w->team, w->index, mafat_conv_n_panels(c))) >= 0;) {
    struct mafat_span filters = mafat_conv_panel(c, unit);
    struct mafat_weights_slice slice;
    use_turn(g, unit);
    int code = add_block_slices(g, filters, first, end, &slice);
    if (code) return code;
    if (channels.end == c->layer->in.c) transform_output(g, filters, &slice);
    mafat_weights_release(w->weights, &slice);
  }
  return MAFAT_OK;
}

/* ---- steps of all filters ---- */

/* Takes units and computes them. If all workers share the values, consecutive units are the turns
 * of one panel. If each worker computes its own values, consecutive units are the panels of one
 * turn. */
static int run_turns(struct winograd *g)
{
  const struct mafat_worker *w = g->c.worker;
  bool shared = g->scratch->shared_values;
  int n_panels = mafat_conv_n_panels(&g->c), turn = -1, code = MAFAT_OK;
  int n_turns = mafat_divide_up(g->tiles_down, g->scratch->tile_rows);
  for (int unit;
       code == MAFAT_OK && (unit = mafat_team_take(w->team, w->index, n_turns * n_panels)) >= 0;) {
    /* If there are fewer turn buffers than workers, there is one for each unit, and the worker uses
     * that of its first unit for all units that it takes. */
    if (turn < 0) use_turn(g, g->scratch->n_turns < mafat_team_size(w->team) ? unit : w->index);
    int next = shared ? unit % n_turns : unit / n_panels, first_row = next * g->scratch->tile_rows;
    g->rows = mafat_span(first_row, mafat_min(first_row + g->scratch->tile_rows, g->tiles_down));
    if (next != turn && !shared) transform_turn(g);
    turn = next;
    code = run_panel(g, shared ? unit / n_turns : unit % n_panels);
  }
  return code;
}

static bool is_divided(const struct mafat_worker *w, const struct mafat_step *step)
{
  return mafat_plan_transforms(w->plan, w->tensors->network, step->layer);
}

int mafat_conv_winograd_rounds(const struct mafat_worker *w, const struct mafat_step *step)
{
  return !is_divided(w, step) && (w->scratch->shared_values || w->scratch->keep_weights) ? 2 : 1;
}

int mafat_conv_winograd(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_scratch *s = w->scratch;
  struct winograd g;
  open_winograd(&g, w, step);
  if (step->kind == MAFAT_STEP_TRANSFORM) return run_preparations(&g, 0, g.c.n_block_slices);
  if (is_divided(w, step)) return run_slices(&g);
  if (w->round == 0 && mafat_conv_winograd_rounds(w, step) > 1)
    return run_preparations(&g, s->keep_weights ? mafat_conv_n_panels(&g.c) : 0,
                            s->shared_values ? g.c.n_block_slices : 0);
  return run_turns(&g);
}
