#include "predictor/scratch.h"

#include "predictor/fusion.h"
#include "predictor/packing.h"
#include "predictor/winograd.h"

#include <stdint.h>
#include <string.h>

enum {
  /* Winograd's turns: so many tiles keep the kernel transforms' share small; the
   * values of a turn should not be much larger than a second-level cache, and
   * transforms of a small layer are kept for the whole step. */
  TURN_TILES = 64,
  TURN_VALUES_BYTES = 8 << 20,
  TURN_CHANNELS = 128,
  SLICE_CHANNELS = 64, /* where the input is transformed in a step of its own: memory is scarce there */
  KEPT_WEIGHTS_BYTES = 1280 << 10
};

static int at_least(int n, int least)
{
  return n > least ? n : least;
}

static int round_up_division(int n, int by)
{
  return (n + by - 1) / by;
}

/* Output rows per kernel call: as many as keep the pointer table and the
 * input (as many channels as a call takes) small. */
static int choose_rows(const struct mafat_layer *l, int n_pieces, int rows, int cols)
{
  long long in_cols = (long long)(cols - 1) * l->stride + l->size;
  long long row_bytes = in_cols * mafat_min(l->in.c / l->groups, MAFAT_SPLIT_CHANNELS) * 4;
  int by_cache = at_least((int)(MAFAT_SCRATCH_INPUT_BYTES / row_bytes) / l->stride, 4);
  int by_pointers = (MAFAT_SCRATCH_POINTERS / n_pieces - l->size) / l->stride + 1;
  return mafat_min(rows, at_least(mafat_min(by_cache, by_pointers), 1));
}

/* Fewer rows per call where threads would otherwise find too few calls. */
static int share_rows(int rows_per_call, int rows, int units_per_call, int n_threads)
{
  if (n_threads == 1) return rows_per_call;
  int calls = round_up_division(MAFAT_SCRATCH_UNITS * n_threads, at_least(units_per_call, 1));
  return mafat_min(rows_per_call, at_least(round_up_division(rows, calls), 1));
}

/* Appends n objects of `size` bytes to a part of the scratch, aligned to 64;
 * false on overflow. */
static bool append(size_t *part_bytes, size_t *offset, size_t n, size_t size)
{
  size_t bytes;
  *offset = *part_bytes;
  if (__builtin_mul_overflow(n, size, &bytes) || __builtin_add_overflow(bytes, (size_t)63, &bytes))
    return false;
  return !__builtin_add_overflow(*part_bytes, bytes / 64 * 64, part_bytes);
}

/* What a kernel call reads its arguments from: pieces, row pointers. */
static bool append_tables(struct mafat_scratch *s)
{
  size_t *slot = &s->slot_bytes;
  return append(slot, &s->pieces_offset, (size_t)s->n_pieces, MAFAT_SCRATCH_PIECE) &&
         append(slot, &s->in_offset, (size_t)s->n_pieces * (size_t)s->in_rows, 8) &&
         append(slot, &s->out_offset, 2 * (size_t)s->rows_per_call, 8);
}

struct request {
  const struct mafat_plan *plan;
  const struct mafat_layer *layer; /* the one that reads the input */
  int rows, cols;                  /* of its output, at most */
  bool pool;                       /* pooled in the store */
  bool transforms;                 /* Winograd's input in a step of its own */
};

static int n_panels(const struct mafat_layer *l)
{
  return round_up_division(l->out.c, MAFAT_PANEL);
}

/* A row as long as the taps of `cols` outputs. */
static bool append_zeros(struct mafat_scratch *s, const struct mafat_layer *l, int cols)
{
  s->zero_floats = ((size_t)(cols - 1) * (size_t)l->stride + (size_t)l->size) * MAFAT_CHANNEL_BLOCK;
  return append(&s->slot_bytes, &s->zero_offset, s->zero_floats, sizeof(float));
}

static bool plan_convolution(const struct request *r, struct mafat_scratch *s)
{
  const struct mafat_layer *l = r->layer;
  bool depthwise = mafat_layer_is_depthwise(l);
  s->n_pieces = depthwise ? 1 : mafat_pieces(&l->sources, mafat_span(0, l->in.c), NULL, 0);
  s->rows_per_call = choose_rows(l, s->n_pieces, r->rows, r->cols);
  int units = depthwise ? mafat_n_blocks(l->out.c) : l->groups > 1 ? l->groups : n_panels(l);
  s->rows_per_call = share_rows(s->rows_per_call, r->rows, units, r->plan->n_threads);
  if (r->pool) s->rows_per_call = mafat_round_up(s->rows_per_call, 2);
  s->in_rows = (s->rows_per_call - 1) * l->stride + l->size;
  return append_tables(s) && (l->pad == 0 || append_zeros(s, l, r->cols));
}

/* A depthwise layer inside a 1x1: its rows lie in the slot, and the 1x1 reads
 * them from there. The tables serve both in turn. */
static bool plan_inner_depthwise(const struct request *r, struct mafat_scratch *s)
{
  const struct mafat_layer *l = r->layer;
  s->n_pieces = mafat_n_blocks(l->out.c);
  s->inner_cols = r->cols;
  if (__builtin_mul_overflow((size_t)mafat_pixel_floats(l->out.c), (size_t)r->cols, &s->inner_row_floats) ||
      s->inner_row_floats > SIZE_MAX / 8)
    return false;
  size_t fitting = MAFAT_SCRATCH_INNER_BYTES / (s->inner_row_floats * sizeof(float));
  s->rows_per_call = mafat_min(r->rows, fitting < 64 ? at_least((int)fitting, 1) : 64);
  s->rows_per_call = share_rows(s->rows_per_call, r->rows, 1, r->plan->n_threads);
  s->in_rows = (s->rows_per_call - 1) * l->stride + l->size;
  size_t floats;
  if (__builtin_mul_overflow(s->inner_row_floats, (size_t)s->rows_per_call, &floats)) return false;
  return append_tables(s) && (l->pad == 0 || append_zeros(s, l, r->cols)) &&
         append(&s->slot_bytes, &s->inner_offset, floats, sizeof(float));
}

/* Rows of tiles in a turn. */
static int choose_tile_rows(const struct mafat_layer *l, int tiles_across, int tiles_down)
{
  double tile_bytes = (double)MAFAT_WINOGRAD_PRODUCTS * l->in.c * sizeof(float);
  int by_bytes = (int)(TURN_VALUES_BYTES / (tile_bytes * tiles_across));
  int rows = at_least(mafat_min(round_up_division(TURN_TILES, tiles_across), by_bytes), 1);
  rows = mafat_min(rows, tiles_down);
  return round_up_division(tiles_down, round_up_division(tiles_down, rows)); /* even turns */
}

/* Values of all tiles, kernels and sums of the panels of a step. */
static bool append_shared_turn(struct mafat_scratch *s, size_t values, int panels)
{
  size_t kernels, sums, *part = &s->shared_bytes;
  s->n_turns = 1;
  if (__builtin_mul_overflow(s->kernel_floats, (size_t)panels, &kernels) ||
      __builtin_mul_overflow(s->sums_floats, (size_t)panels, &sums))
    return false;
  return append(part, &s->values_offset, values, sizeof(float)) &&
         append(part, &s->kernel_offset, kernels, sizeof(float)) &&
         append(part, &s->sums_offset, sums, sizeof(float));
}

/* A turn for each worker that may find work: there are not more workers at work than units. */
static bool append_turns(struct mafat_scratch *s, size_t values, int n_threads, size_t units)
{
  size_t *part = &s->turn_bytes;
  s->n_turns = units < (size_t)n_threads ? (int)units : n_threads;
  return append(part, &s->values_offset, values, sizeof(float)) &&
         append(part, &s->kernel_offset, s->kernel_floats, sizeof(float)) &&
         append(part, &s->sums_offset, s->sums_floats, sizeof(float)) &&
         !__builtin_mul_overflow(s->turn_bytes, (size_t)s->n_turns, &s->shared_bytes);
}

static int widest_piece(const struct mafat_sources *sources)
{
  int widest = 1;
  for (int i = 0; i < sources->n; i++) widest = at_least(mafat_min(sources->list[i].n, MAFAT_CHANNEL_BLOCK), widest);
  return widest;
}

static bool plan_winograd(const struct request *r, struct mafat_scratch *s)
{
  const struct mafat_layer *l = r->layer;
  int across = mafat_winograd_tiles(r->cols), down = mafat_winograd_tiles(r->rows);
  size_t points = MAFAT_WINOGRAD_PRODUCTS, width = 0, kept, values, sums;
  for (int f = 0; f < l->filters; f = mafat_panel_end(l, f))
    width += (size_t)mafat_panel_width(mafat_panel_end(l, f) - f);
  s->n_pieces = mafat_pieces(&l->sources, mafat_span(0, l->in.c), NULL, 0);
  s->in_rows = MAFAT_WINOGRAD_PRODUCTS; /* a row per point; the transforms use six of them */
  s->rows_per_call = MAFAT_WINOGRAD_PRODUCTS;
  s->shared_values = r->transforms;
  s->tile_rows = s->shared_values ? down
                                  : share_rows(choose_tile_rows(l, across, down), down, n_panels(l), r->plan->n_threads);
  s->n_tiles = s->tile_rows * across;
  if (__builtin_mul_overflow((size_t)l->in.c, width, &kept) || kept > SIZE_MAX / 1024) return false;
  /* Each panel's points are padded. */
  kept = points * (kept + (size_t)n_panels(l) * 32);
  s->piece_channels = widest_piece(&l->sources);
  size_t point = mafat_scratch_point_floats((size_t)s->n_tiles * MAFAT_CHANNEL_BLOCK);
  size_t values_point = mafat_scratch_point_floats((size_t)s->n_tiles * (size_t)s->piece_channels);
  if (__builtin_mul_overflow(points * (size_t)s->n_pieces, values_point, &values) ||
      __builtin_mul_overflow(points * (size_t)mafat_n_blocks(mafat_min(l->filters, MAFAT_PANEL)), point, &sums))
    return false;
  s->keep_weights = down > s->tile_rows && kept <= KEPT_WEIGHTS_BYTES / sizeof(float);
  /* A turn ends at a piece, so it may go beyond by one piece less a channel. */
  s->turn_channels = mafat_min(s->shared_values ? SLICE_CHANNELS : TURN_CHANNELS, l->in.c);
  size_t held = points * mafat_scratch_point_floats(
                             (size_t)(s->turn_channels + MAFAT_CHANNEL_BLOCK - 1) * MAFAT_PANEL);
  s->sums_floats = sums;
  s->kernel_floats = s->keep_weights ? kept : held;
  return append_tables(s) && append_zeros(s, l, across * MAFAT_WINOGRAD_OUTPUTS) &&
         (s->shared_values ? append_shared_turn(s, values, mafat_min(r->plan->n_threads, n_panels(l)))
                           : append_turns(s, values, r->plan->n_threads,
                                          (size_t)round_up_division(down, s->tile_rows) * (size_t)n_panels(l)));
}

static bool plan_flat(const struct mafat_layer *l, struct mafat_scratch *s)
{
  if (__builtin_mul_overflow((size_t)l->in.h * (size_t)l->in.w, (size_t)l->in.c, &s->flat_floats))
    return false;
  return append(&s->shared_bytes, &s->flat_offset, s->flat_floats, sizeof(float));
}

static bool plan_convolutional(const struct mafat_plan *plan, const struct mafat_network *n, int layer,
                               int rows, int cols, struct mafat_scratch *s)
{
  int reader = mafat_fusion_reader(plan, layer);
  struct request r = {plan, &n->layers[reader], rows, cols,
                      n->layers[layer].type == MAFAT_MAXPOOL, mafat_plan_transforms(plan, n, layer)};
  if (r.pool) {
    r.rows = mafat_min(2 * rows, r.layer->out.h);
    r.cols = mafat_min(2 * cols, r.layer->out.w);
  }
  if (mafat_layer_is_depthwise(r.layer) && reader != layer) return plan_inner_depthwise(&r, s);
  if (plan->algorithms[reader] == MAFAT_WINOGRAD) return plan_winograd(&r, s);
  return plan_convolution(&r, s);
}

int mafat_scratch_plan(const struct mafat_plan *plan, const struct mafat_network *n, int layer,
                       int rows, int cols, struct mafat_scratch *s)
{
  const struct mafat_layer *l = &n->layers[layer];
  memset(s, 0, sizeof *s);
  bool fits = true;
  switch (n->layers[mafat_fusion_reader(plan, layer)].type) {
  case MAFAT_CONVOLUTIONAL:
    fits = plan_convolutional(plan, n, layer, rows, cols, s);
    break;
  case MAFAT_MAXPOOL:
    s->in_rows = l->size;
    fits = append(&s->slot_bytes, &s->in_offset, (size_t)l->size, 8);
    break;
  case MAFAT_CONNECTED: /* a 1x1 convolution of one pixel with one long piece */
    s->n_pieces = s->rows_per_call = s->in_rows = 1;
    fits = append_tables(s) && plan_flat(l, s);
    break;
  case MAFAT_LOCAL:
  case MAFAT_SOFTMAX:
  case MAFAT_DETECTION:
    fits = plan_flat(l, s);
    break;
  case MAFAT_REGION:
  case MAFAT_YOLO:
    fits = append(&s->slot_bytes, &s->pixel_offset, (size_t)l->in.c, sizeof(float));
    break;
  default:
    break;
  }
  return fits ? MAFAT_OK : MAFAT_ELIMIT;
}

size_t mafat_scratch_bytes(const struct mafat_scratch *s, int n_workers)
{
  size_t bytes;
  if (__builtin_mul_overflow(s->slot_bytes, (size_t)n_workers, &bytes) ||
      __builtin_add_overflow(bytes, s->shared_bytes, &bytes))
    return SIZE_MAX;
  return bytes;
}
