/* Winograd's share of conv.c. */
#include "predictor/kinds/conv.h"

#include "predictor/winograd.h"

#include <stdint.h>

/* ---- scratch ---- */

enum {
  /* Winograd's turns: so many tiles keep the kernel transforms' share small; the
   * values of a turn should not be much larger than a second-level cache, and
   * transforms of a small layer are kept for the whole step. */
  TURN_TILES = 64,
  LARGE_TURN_TILES = 64,
  TURN_VALUES_BYTES = 8 << 20,
  TURN_CHANNELS = 128,
  SLICE_CHANNELS = 64, /* where the input is transformed in a step of its own: memory is scarce there */
  KEPT_WEIGHTS_BYTES = 1280 << 10
};

/* Of tiles of so many channels, transformed: floats, whatever the input is. */
static double values_bytes(const struct mafat_winograd *g, double tiles, double channels)
{
  return tiles * channels * g->points * (double)sizeof(float);
}

/* Rows of tiles in a turn. */
static int choose_tile_rows(const struct mafat_conv_request *r, int tiles_across, int tiles_down)
{
  int by_bytes = (int)(TURN_VALUES_BYTES / values_bytes(r->winograd, tiles_across, r->layer->in.c));
  int wanted = r->winograd->size == MAFAT_WINOGRAD_4X4 ? TURN_TILES : LARGE_TURN_TILES;
  int rows = mafat_max(mafat_min(mafat_divide_up(wanted, tiles_across), by_bytes), 1);
  rows = mafat_min(rows, tiles_down);
  return mafat_divide_up(tiles_down, mafat_divide_up(tiles_down, rows)); /* even turns */
}

/* Values of all tiles, kernels and sums of the panels of a step. */
static bool append_shared_turn(struct mafat_scratch *s, size_t values, int panels)
{
  size_t kernels, sums, *part = &s->shared_bytes;
  s->n_turns = 1;
  if (__builtin_mul_overflow(s->kernel_floats, (size_t)panels, &kernels) ||
      __builtin_mul_overflow(s->sums_floats, (size_t)panels, &sums))
    return false;
  return mafat_scratch_append_floats(part, &s->values_offset, values) &&
         mafat_scratch_append_floats(part, &s->kernel_offset, kernels) &&
         mafat_scratch_append_floats(part, &s->sums_offset, sums);
}

/* A turn for each worker that may find work: there are not more workers at work than units. */
static bool append_turns(struct mafat_scratch *s, size_t values, int n_threads, size_t units)
{
  size_t *part = &s->turn_bytes;
  s->n_turns = units < (size_t)n_threads ? (int)units : n_threads;
  return mafat_scratch_append_floats(part, &s->values_offset, values) &&
         mafat_scratch_append_floats(part, &s->kernel_offset, s->kernel_floats) &&
         mafat_scratch_append_floats(part, &s->sums_offset, s->sums_floats) &&
         !__builtin_mul_overflow(s->turn_bytes, (size_t)s->n_turns, &s->shared_bytes);
}

static int widest_piece(const struct mafat_sources *sources)
{
  int widest = 1;
  for (int i = 0; i < sources->n; i++) widest = mafat_max(mafat_min(sources->list[i].n, MAFAT_CHANNEL_BLOCK), widest);
  return widest;
}

bool mafat_conv_plan_winograd(const struct mafat_conv_request *r, struct mafat_scratch *s)
{
  const struct mafat_layer *l = r->layer;
  const struct mafat_winograd *g = r->winograd;
  int n_threads = r->plan->n_threads, n_panels = mafat_conv_layer_panels(l);
  int across = mafat_winograd_tiles(g, r->cols), down = mafat_winograd_tiles(g, r->rows);
  size_t points = (size_t)g->points, width = 0, kept, values, sums;
  for (int f = 0; f < l->filters; f = mafat_panel_end(l, f))
    width += (size_t)mafat_panel_width(mafat_panel_end(l, f) - f);
  s->n_pieces = mafat_pieces(mafat_layer_sources(l), mafat_span(0, l->in.c), NULL, 0);
  s->in_rows = g->size == MAFAT_WINOGRAD_4X4 ? g->points : g->window; /* the transforms use a window's */
  s->rows_per_call = g->size == MAFAT_WINOGRAD_4X4 ? g->points : g->outputs;
  s->shared_values = r->transforms;
  s->tile_rows = down;
  if (!s->shared_values)
    s->tile_rows = mafat_conv_share_rows(choose_tile_rows(r, across, down), down, n_panels, n_threads);
  s->n_tiles = s->tile_rows * across;
  if (__builtin_mul_overflow((size_t)l->in.c, width, &kept) || kept > SIZE_MAX / 1024) return false;
  /* Each panel's points are padded. */
  kept = points * (kept + (size_t)n_panels * 32);
  s->piece_padding = g->size == MAFAT_WINOGRAD_4X4 ? 0 : MAFAT_CHANNEL_BLOCK;
  s->piece_channels = widest_piece(mafat_layer_sources(l));
  size_t widest = (size_t)mafat_panel_width(mafat_min(l->filters, MAFAT_PANEL));
  size_t values_point = mafat_scratch_point_floats((size_t)s->n_tiles * (size_t)s->piece_channels) + s->piece_padding;
  if (__builtin_mul_overflow(points * (size_t)s->n_pieces, values_point, &values) ||
      __builtin_mul_overflow(points, mafat_scratch_point_floats((size_t)s->n_tiles * widest), &sums))
    return false;
  s->keep_weights = down > s->tile_rows && kept <= KEPT_WEIGHTS_BYTES / sizeof(float);
  /* A turn ends at a piece, so it may go beyond by one piece less a channel. */
  int turn = g->block ? g->block : s->shared_values ? SLICE_CHANNELS : TURN_CHANNELS;
  s->turn_channels = mafat_min(turn, l->in.c);
  size_t held = points * mafat_scratch_point_floats((size_t)(s->turn_channels + MAFAT_CHANNEL_BLOCK - 1) * widest);
  s->sums_floats = sums;
  s->kernel_floats = s->keep_weights ? kept : held;
  return mafat_scratch_append_tables(s, r->in_type) && mafat_conv_append_zeros(s, r, across * g->outputs) &&
         mafat_scratch_append_widened(s, mafat_widened_floats(l, s->piece_channels)) &&
         (s->shared_values ? append_shared_turn(s, values, mafat_min(n_threads, n_panels))
                           : append_turns(s, values, n_threads,
                                          (size_t)mafat_divide_up(down, s->tile_rows) * (size_t)n_panels));
}

/* ---- work ---- */

static const struct mafat_winograd *winograd_of(const struct mafat_counting *c)
{
  return mafat_winograd_of(c->context->plan->algorithms[c->index]);
}

/* Transforms are counted in those of 4x4 tiles: how much more others cost, as measured. */
static const struct {
  double inputs, weights, outputs;
} transform_costs[MAFAT_N_WINOGRADS] = {[MAFAT_WINOGRAD_4X4] = {1, 1, 1}, [MAFAT_WINOGRAD_6X6] = {2.4, 2, 3.2}};

/* Tiles are transformed `times` times, into values of so many bytes at a time. */
static void count_input(struct mafat_counting *c, const struct mafat_winograd *g, double tiles, double times,
                        double turn_values)
{
  double channels = c->layer->in.c;
  mafat_count(c, MAFAT_TERM_WINOGRAD_INPUTS, tiles * channels * times * transform_costs[g->size].inputs);
  mafat_count_maps(c, mafat_counting_in_bytes(c), 0);
  mafat_count_bytes(c, MAFAT_TERM_WINOGRAD_FAR, MAFAT_TERM_WINOGRAD_COLD,
                    values_bytes(g, tiles, channels) * times, turn_values);
}

/* A step of its own that transforms the input of those behind it. */
static void count_transform(struct mafat_counting *c)
{
  const struct mafat_winograd *g = winograd_of(c);
  int down = mafat_winograd_tiles(g, mafat_span_size(c->box.y));
  double tiles = (double)mafat_winograd_tiles(g, mafat_span_size(c->box.x)) * down;
  mafat_count_share(c, down * (double)mafat_n_blocks(c->layer->in.c));
  count_input(c, g, tiles, 1, values_bytes(g, tiles, c->layer->in.c));
}

/* In turns of a few rows of tiles, or, where a step of its own has transformed the
 * input, in one. */
static void count_turns(struct mafat_counting *c)
{
  const struct mafat_scratch *scratch = c->scratch;
  const struct mafat_layer *l = c->layer;
  const struct mafat_winograd *g = winograd_of(c);
  struct mafat_width w = mafat_counting_width(c);
  int across = mafat_winograd_tiles(g, mafat_span_size(c->box.x));
  int down = mafat_winograd_tiles(g, mafat_span_size(c->box.y));
  bool shared = scratch->shared_values;
  int turn_rows = shared || scratch->tile_rows <= 0 ? down : mafat_min(scratch->tile_rows, down);
  int turns = mafat_divide_up(down, turn_rows);
  double tiles = (double)across * down, channels = mafat_span_size(c->channels), filters = mafat_span_size(c->filters);
  mafat_count_share(c, (double)turns * w.panels);
  if (!shared) {
    /* Who takes a panel of a turn makes the turn's values for itself. */
    double makers = mafat_min(c->context->plan->n_threads, w.panels);
    count_input(c, g, tiles, makers, values_bytes(g, (double)turn_rows * across, l->in.c));
  }
  mafat_count(c, MAFAT_TERM_UNIT, (double)turns * w.panels);
  mafat_count(c, MAFAT_TERM_WINOGRAD_KERNELS,
              channels * filters * (scratch->keep_weights ? 1 : turns) * transform_costs[g->size].weights);
  for (int turn = 0; turn < turns; turn++) {
    int rows = mafat_min(turn_rows, down - turn * turn_rows), n = rows * across;
    bool parted = scratch->turn_channels > 0;
    int parts = parted ? mafat_divide_up((int)channels, scratch->turn_channels) : 1;
    mafat_count_tiles(c, MAFAT_TERM_WINOGRAD_MACS, g->points, n, w, channels, parts, parts);
    double values = values_bytes(g, n, l->in.c);
    mafat_count_bytes(c, MAFAT_TERM_WINOGRAD_FAR, MAFAT_TERM_WINOGRAD_COLD, values * w.panels * channels / l->in.c,
                      values);
  }
  if (c->channels.end == l->in.c) {
    mafat_count(c, MAFAT_TERM_WINOGRAD_OUTPUTS, tiles * filters * transform_costs[g->size].outputs);
    mafat_count_activation(c, mafat_counting_outputs(c));
    mafat_count_maps(c, 0, mafat_counting_stored_bytes(c));
  }
  mafat_count_weights(c, channels * filters * mafat_window_area(&l->window) * mafat_counting_weight_bytes(c),
                      scratch->keep_weights ? 1 : turns);
}

void mafat_conv_count_winograd(struct mafat_counting *c)
{
  if (c->step->kind == MAFAT_STEP_TRANSFORM) count_transform(c);
  else count_turns(c);
}
