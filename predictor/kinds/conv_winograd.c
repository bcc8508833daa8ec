/* Plans the scratch and counts the work of Winograd convolutions. Called by conv.c. Allocates
 * nothing.
 *
 * A step is divided into turns: a few rows of Winograd tiles that are transformed together. Values
 * are transformed inputs, kernels are transformed weights (schedule/scratch.h). */
#include "predictor/kinds/conv.h"

#include "predictor/plan/weight_placement.h"
#include "predictor/plan/winograd.h"

#include <stdint.h>

/* ---- scratch ---- */

enum {
  /* Tiles wanted in a turn, of F(4x4) and F(6x6): enough to keep the cost of transforming weights
   * in each turn small. */
  TURN_TILES = 64,
  LARGE_TURN_TILES = 64,
  TURN_VALUES_BYTES = 8 << 20, /* most bytes of a turn's values */
  TURN_CHANNELS = 128,         /* input channels whose weights are transformed at a time */
  /* used instead of TURN_CHANNELS if the input is transformed in a separate step, because such
   * plans have little memory */
  SLICE_CHANNELS = 64,
  KEPT_WEIGHTS_BYTES = 1280 << 10 /* transformed weights up to this size are kept for a step */
};

/* Bytes of the values of some tiles and channels: floats, whatever the input's type. */
static double values_bytes(const struct mafat_winograd *g, double tiles, double channels)
{
  return tiles * channels * g->points * (double)sizeof(float);
}

/* Chooses the rows of tiles in a turn. */
static int choose_tile_rows(const struct mafat_conv_request *r, int tiles_across, int tiles_down)
{
  int by_bytes = (int)(TURN_VALUES_BYTES / values_bytes(r->winograd, tiles_across, r->layer->in.c));
  int wanted = r->winograd->size == MAFAT_WINOGRAD_4X4 ? TURN_TILES : LARGE_TURN_TILES;
  int rows = mafat_max(mafat_min(mafat_divide_up(wanted, tiles_across), by_bytes), 1);
  rows = mafat_min(rows, tiles_down);
  /* makes turns nearly equal */
  return mafat_divide_up(tiles_down, mafat_divide_up(tiles_down, rows));
}

/* True if values are computed once for all threads. Not with more turns than threads: then each
 * thread computes the values of its own turns, and few turns are divided between two threads. */
static bool shares_values(int turns, int n_panels, int n_threads)
{
  return n_threads > 1 && n_panels > 1 && turns <= n_threads;
}

/* Lower bound of the share of time in which threads are busy. The unit of work is one row of tiles
 * with one panel; `most` is the work of the thread that has most of it. */
static double time_used(int tiles_down, int turns, int n_panels, int n_threads)
{
  /* every thread computes all turns of equally many panels */
  if (turns <= n_threads && n_panels % n_threads == 0) return 1;
  double most =
      (double)mafat_divide_up(turns * n_panels, n_threads) * mafat_divide_up(tiles_down, turns);
  return (double)tiles_down * n_panels / (n_threads * most);
}

/* Chooses the number of turns: as wanted, or more if threads would be idle too long. Each turn
 * transforms the weights again, so there are no more turns than necessary. */
static int share_turns(int wanted, int tiles_down, int n_panels, int n_threads)
{
  const double enough = 7. / 8;
  double most = 0;
  int best = wanted;
  for (int turns = wanted; n_threads > 1 && turns <= tiles_down && most < enough; turns++) {
    double used = time_used(tiles_down, turns, n_panels, n_threads);
    if (used <= most) continue;
    most = used;
    best = turns;
  }
  return best;
}

/* Appends the buffers of n turns that are computed at the same time. */
static bool append_turns(struct mafat_scratch *s, int n)
{
  size_t values = s->values_floats, kernels = s->kernel_floats, sums, *part = &s->shared_bytes;
  s->n_turns = n;
  return (s->shared_values || !__builtin_mul_overflow(values, (size_t)n, &values)) &&
         (s->keep_weights || !__builtin_mul_overflow(kernels, (size_t)n, &kernels)) &&
         !__builtin_mul_overflow(s->sums_floats, (size_t)n, &sums) &&
         mafat_scratch_append_floats(part, &s->values_offset, values) &&
         mafat_scratch_append_floats(part, &s->kernel_offset, kernels) &&
         mafat_scratch_append_floats(part, &s->sums_offset, sums);
}

/* Filters of the widest panel, with padding. */
static size_t widest_panel(const struct mafat_layer *l)
{
  return (size_t)mafat_panel_width(mafat_min(l->filters, MAFAT_PANEL));
}

static int widest_block_slice(const struct mafat_sources *sources)
{
  int widest = 1;
  for (int i = 0; i < sources->n; i++)
    widest = mafat_max(mafat_min(sources->list[i].n, MAFAT_CHANNEL_BLOCK), widest);
  return widest;
}

/* Divides the rows of tiles of a step into turns; returns their number. across, down: tiles of the
 * step. */
static int plan_turns(const struct mafat_conv_request *r, int across, int down,
                      struct mafat_scratch *s)
{
  int n_panels = mafat_conv_layer_panels(r->layer), n_threads = r->plan->n_threads, turns = 1;
  if (!r->transforms)
    turns = share_turns(mafat_divide_up(down, choose_tile_rows(r, across, down)), down, n_panels,
                        n_threads);
  s->tile_rows = mafat_divide_up(down, turns);
  s->n_tiles = s->tile_rows * across;
  turns = mafat_divide_up(down, s->tile_rows);
  s->shared_values = r->transforms || shares_values(turns, n_panels, n_threads);
  return turns;
}

/* Sizes the values: of the whole step if they are shared, else of a turn. */
static bool plan_values(const struct mafat_conv_request *r, int across, int down,
                        struct mafat_scratch *s)
{
  const struct mafat_sources *sources = mafat_layer_sources(r->layer);
  size_t tiles = (size_t)across * (size_t)(s->shared_values ? down : s->tile_rows);
  s->n_block_slices = mafat_block_slices(sources, mafat_span(0, r->layer->in.c), NULL, 0);
  s->block_slice_padding = r->winograd->size == MAFAT_WINOGRAD_4X4 ? 0 : MAFAT_CHANNEL_BLOCK;
  s->block_slice_channels = widest_block_slice(sources);
  size_t point =
      mafat_scratch_point_floats(tiles * (size_t)s->block_slice_channels) + s->block_slice_padding;
  return !__builtin_mul_overflow((size_t)r->winograd->points * (size_t)s->n_block_slices, point,
                                 &s->values_floats);
}

/* Sizes the kernels: all of them if they are small and several turns read them, else those of one
 * panel and turn_channels channels. */
static bool plan_kernels(const struct mafat_conv_request *r, int turns, struct mafat_scratch *s)
{
  const struct mafat_layer *l = r->layer;
  size_t points = (size_t)r->winograd->points, width = 0, kept;
  for (int f = 0; f < l->filters; f = mafat_panel_end(l, f))
    width += (size_t)mafat_panel_width(mafat_panel_end(l, f) - f);
  if (__builtin_mul_overflow((size_t)l->in.c, width, &kept) || kept > SIZE_MAX / 1024) return false;
  /* at most 32 floats of padding for each point of each panel */
  kept = points * (kept + (size_t)mafat_conv_layer_panels(l) * 32);
  s->keep_weights = turns > 1 && kept <= KEPT_WEIGHTS_BYTES / sizeof(float);
  /* The last channels of a turn end a block slice, so a turn has up to MAFAT_CHANNEL_BLOCK - 1
   * channels more than `turn`. */
  int turn = r->winograd->block ? r->winograd->block
             : r->transforms    ? SLICE_CHANNELS
                                : TURN_CHANNELS;
  s->turn_channels = mafat_min(turn, l->in.c);
  size_t held = (size_t)(s->turn_channels + MAFAT_CHANNEL_BLOCK - 1) * widest_panel(l);
  s->kernel_floats = s->keep_weights ? kept : points * mafat_scratch_point_floats(held);
  return true;
}

bool mafat_conv_plan_winograd(const struct mafat_conv_request *r, struct mafat_scratch *s)
{
  const struct mafat_winograd *g = r->winograd;
  int across = mafat_winograd_tiles(g, r->cols), down = mafat_winograd_tiles(g, r->rows);
  size_t points = (size_t)g->points;
  int turns = plan_turns(r, across, down, s);
  double units = (double)mafat_conv_layer_panels(r->layer) * turns;
  /* the input transform reads the rows of one window; F(4x4) has room for more */
  s->in_rows = g->size == MAFAT_WINOGRAD_4X4 ? g->points : g->window;
  s->rows_per_call = g->size == MAFAT_WINOGRAD_4X4 ? g->points : g->outputs;
  return plan_values(r, across, down, s) && plan_kernels(r, turns, s) &&
         !__builtin_mul_overflow(
             points, mafat_scratch_point_floats((size_t)s->n_tiles * widest_panel(r->layer)),
             &s->sums_floats) &&
         mafat_scratch_append_tables(s, r->in_type) &&
         mafat_conv_append_zeros(s, r, across * g->outputs) &&
         mafat_scratch_append_widened(s, mafat_widened_floats(r->layer, s->block_slice_channels)) &&
         append_turns(s, units < r->plan->n_threads ? (int)units : r->plan->n_threads);
}

/* ---- work ---- */

static const struct mafat_winograd *winograd_of(const struct mafat_counting *c)
{
  return mafat_winograd_of(c->context->plan->algorithms[c->index]);
}

/* Prices of transforms relative to those of 4x4 tiles, measured. */
static const struct {
  double inputs, weights, outputs;
} transform_costs[MAFAT_N_WINOGRADS] = {
    [MAFAT_WINOGRAD_4X4] = {1, 1, 1}, [MAFAT_WINOGRAD_6X6] = {2.4, 2, 3.2}};

/* Counts the input transform of `tiles` tiles, each done `times` times; turn_values: bytes of
 * values that are touched between writing a value and reading it. */
static void count_input(struct mafat_counting *c, const struct mafat_winograd *g, double tiles,
                        double times, double turn_values)
{
  double channels = c->layer->in.c;
  mafat_count(c, MAFAT_TERM_WINOGRAD_INPUTS,
              tiles * channels * times * transform_costs[g->size].inputs);
  mafat_count_maps(c, mafat_counting_in_bytes(c), 0);
  mafat_count_bytes(c, MAFAT_TERM_WINOGRAD_FAR, MAFAT_TERM_WINOGRAD_COLD,
                    values_bytes(g, tiles, channels) * times, turn_values);
}

/* Divides the transform of tile_rows rows of tiles among all threads, by rows and blocks. */
static void count_input_share(struct mafat_counting *c, int tile_rows)
{
  mafat_count_share(c, tile_rows * (double)mafat_n_blocks(c->layer->in.c));
}

/* Returns how often a turn's values are computed, on average: once by each thread that computes
 * panels of the turn, or once if the threads share values. */
static double makers_of_values(const struct mafat_counting *c, int turns, int n_panels)
{
  int n_threads = c->context->plan->n_threads;
  if (c->scratch->shared_values || turns % n_threads == 0) return 1;
  /* If two threads share a turn, both compute its values. At most n_threads - 1 turns are
   * shared. */
  double makers = 1 + (n_threads - 1.) / turns;
  return makers < n_panels ? makers : n_panels;
}

/* Counts a separate step that transforms the input of the following steps. */
static void count_transform(struct mafat_counting *c)
{
  const struct mafat_winograd *g = winograd_of(c);
  int down = mafat_winograd_tiles(g, mafat_span_size(c->box.y));
  double tiles = (double)mafat_winograd_tiles(g, mafat_span_size(c->box.x)) * down;
  count_input_share(c, down);
  count_input(c, g, tiles, 1, values_bytes(g, tiles, c->layer->in.c));
}

/* Counts turns of a few rows of tiles; a separate step may have transformed their input. */
static void count_turns(struct mafat_counting *c)
{
  const struct mafat_scratch *scratch = c->scratch;
  const struct mafat_layer *l = c->layer;
  const struct mafat_winograd *g = winograd_of(c);
  struct mafat_width w = mafat_counting_width(c);
  int across = mafat_winograd_tiles(g, mafat_span_size(c->box.x));
  int down = mafat_winograd_tiles(g, mafat_span_size(c->box.y));
  int turn_rows = scratch->tile_rows <= 0 ? down : mafat_min(scratch->tile_rows, down);
  int turns = mafat_divide_up(down, turn_rows);
  double tiles = (double)across * down, channels = mafat_span_size(c->channels),
         filters = mafat_span_size(c->filters);
  if (!mafat_plan_transforms(c->context->plan, c->context->network, c->step->layer)) {
    if (scratch->shared_values) count_input_share(c, down);
    else mafat_count_share(c, (double)turns * w.panels);
    count_input(c, g, tiles, makers_of_values(c, turns, w.panels),
                values_bytes(g, (double)(scratch->shared_values ? down : turn_rows) * across,
                             l->in.c));
  }
  mafat_count_share(c, scratch->keep_weights ? w.panels : (double)turns * w.panels);
  mafat_count(c, MAFAT_TERM_WINOGRAD_KERNELS,
              channels * filters * (scratch->keep_weights ? 1 : turns) *
                  transform_costs[g->size].weights);
  mafat_count_share(c, (double)turns * w.panels);
  mafat_count(c, MAFAT_TERM_UNIT, (double)turns * w.panels);
  for (int turn = 0; turn < turns; turn++) {
    int rows = mafat_min(turn_rows, down - turn * turn_rows), n = rows * across;
    bool parted = scratch->turn_channels > 0;
    int parts = parted ? mafat_divide_up((int)channels, scratch->turn_channels) : 1;
    mafat_count_tiles(c, MAFAT_TERM_WINOGRAD_MACS, g->points, n, w, channels, parts, parts);
    double values = values_bytes(g, n, l->in.c);
    mafat_count_bytes(c, MAFAT_TERM_WINOGRAD_FAR, MAFAT_TERM_WINOGRAD_COLD,
                      values * w.panels * channels / l->in.c, values);
  }
  if (c->channels.end == l->in.c) {
    mafat_count(c, MAFAT_TERM_WINOGRAD_OUTPUTS, tiles * filters * transform_costs[g->size].outputs);
    mafat_count_activation(c, mafat_counting_outputs(c));
    mafat_count_maps(c, 0, mafat_counting_stored_bytes(c));
  }
  mafat_count_weights(
      c, channels * filters * mafat_window_area(&l->window) * mafat_counting_weight_bytes(c),
      scratch->keep_weights ? 1 : turns);
}

void mafat_conv_count_winograd(struct mafat_counting *c)
{
  if (c->step->kind == MAFAT_STEP_TRANSFORM) count_transform(c);
  else count_turns(c);
}
