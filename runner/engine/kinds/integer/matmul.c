/* Computes matrix products of two quantized maps, as ../matmul.c does for floats. Each unit packs
 * its part of the second map, minus 128, into a panel of int8 weights. Called by the executor
 * through the table in kinds.c. Writes the step's output and the worker's scratch, in the arena;
 * allocates nothing. */
#include "runner/engine/kinds/integer/integer.h"

#include "predictor/plan/packing.h"
#include "runner/engine/kinds/matmul.h"

#include <string.h>

enum { SIGNED_TO_BYTE = MAFAT_SIGNED_TO_BYTE };

_Static_assert(sizeof(struct mafat_integer_block_slice) + sizeof(struct mafat_block_slice) <=
                   MAFAT_SCRATCH_INTEGER_PIECE,
               "block slice record");

struct integer_product {
  const struct mafat_worker *worker;
  const struct mafat_step *step;
  const struct mafat_layer *layer;
  struct mafat_block_slice *references;     /* [n_block_slices]: channels of the first map */
  struct mafat_integer_block_slice *block_slices; /* [n_block_slices]: arguments for kernels */
  const uint8_t **in_rows;            /* [n_block_slices] */
  uint8_t **out_rows;                 /* [segment] */
  int8_t *panel;                      /* [block slice][channel / 4][width][4] */
  int n_block_slices, channels;       /* channels: of all block slices, each rounded up to quads */
  int y, x;                           /* row and column of the first map at which in_rows point;
                                         y < 0: not set */
};

static struct integer_product open_product(const struct mafat_worker *w,
                                           const struct mafat_step *step)
{
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  const struct mafat_scratch *s = w->scratch;
  char *memory = w->slot_memory, *tables = memory + s->block_slices_offset;
  struct integer_product p = {
      .worker = w,
      .step = step,
      .layer = l,
      .block_slices = (struct mafat_integer_block_slice *)(void *)tables,
      .references = (struct mafat_block_slice *)(void *)(tables + (size_t)s->n_block_slices *
                                                                      sizeof *p.block_slices),
      .in_rows = (const uint8_t **)(void *)(memory + s->in_offset),
      .out_rows = (uint8_t **)(void *)(memory + s->out_offset),
      .panel = (int8_t *)(memory + s->panel_offset)};
  p.n_block_slices = mafat_block_slices(mafat_layer_sources(l), mafat_span(0, l->in.c),
                                        p.references, s->n_block_slices);
  p.y = -1;
  for (int i = 0; i < p.n_block_slices; i++)
    p.channels += mafat_round_up(p.references[i].n, MAFAT_QUAD);
  return p;
}

/* ---- the second map, packed ---- */

/* Inputs (channels that are summed) of a block slice, and the address of their weights in the
 * panel, which is `width` filters wide. */
struct panel_place {
  struct mafat_span inputs;
  int8_t *panel;
  int width;
};

/* Returns the address of the weight of an input for the panel's filter `lane`. */
static int8_t *find(const struct panel_place *p, int input, int lane)
{
  int k = input - p->inputs.begin;
  return p->panel + (k / MAFAT_QUAD * p->width + lane) * MAFAT_QUAD + k % MAFAT_QUAD;
}

#if defined __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define CAN_SHUFFLE
#endif
#endif

/* Transposes four pixels of a channel block: the four values of each channel become contiguous.
 * Subtracts 128. */
static inline void turn_quad(const uint8_t *from, size_t pixel, int8_t *to)
{
#ifdef CAN_SHUFFLE
  typedef uint8_t bytes __attribute__((vector_size(16)));
  typedef uint16_t pairs __attribute__((vector_size(16)));
  bytes a, b, c, d;
  memcpy(&a, from, sizeof a);
  memcpy(&b, from + pixel, sizeof b);
  memcpy(&c, from + 2 * pixel, sizeof c);
  memcpy(&d, from + 3 * pixel, sizeof d);
  const pairs ab[] = {(pairs)__builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21,
                                                     6, 22, 7, 23),
                      (pairs)__builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13,
                                                     29, 14, 30, 15, 31)};
  const pairs cd[] = {(pairs)__builtin_shufflevector(c, d, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21,
                                                     6, 22, 7, 23),
                      (pairs)__builtin_shufflevector(c, d, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13,
                                                     29, 14, 30, 15, 31)};
  for (int i = 0; i < 2; i++, to += 2 * sizeof a) {
    const bytes low = (bytes)__builtin_shufflevector(ab[i], cd[i], 0, 8, 1, 9, 2, 10, 3, 11) -
                      (uint8_t)SIGNED_TO_BYTE;
    const bytes high = (bytes)__builtin_shufflevector(ab[i], cd[i], 4, 12, 5, 13, 6, 14, 7, 15) -
                       (uint8_t)SIGNED_TO_BYTE;
    memcpy(to, &low, sizeof low);
    memcpy(to + sizeof low, &high, sizeof high);
  }
#else
  for (int f = 0; f < MAFAT_CHANNEL_BLOCK; f++)
    for (int k = 0; k < MAFAT_QUAD; k++)
      to[f * MAFAT_QUAD + k] = (int8_t)(from[(size_t)k * pixel + (size_t)f] - SIGNED_TO_BYTE);
#endif
}

/* Packs the inputs of a run of filters. `from` points at the first input of the first filter;
 * inputs are `pixel` bytes apart. The first filter is filter `lane` of the panel. */
static void pack_run(const struct panel_place *to, const struct mafat_run *run, const uint8_t *from,
                     size_t pixel, int lane)
{
  int k = to->inputs.begin;
  if (run->n == MAFAT_CHANNEL_BLOCK)
    for (; k + MAFAT_QUAD <= to->inputs.end; k += MAFAT_QUAD, from += MAFAT_QUAD * pixel)
      turn_quad(from, pixel, find(to, k, lane));
  for (; k < to->inputs.end; k++, from += pixel)
    for (int f = 0; f < run->n; f++) *find(to, k, lane + f) = (int8_t)(from[f] - SIGNED_TO_BYTE);
}

/* Returns the panel_place of a block slice whose weights begin at `panel`. */
static struct panel_place place_of(const struct integer_product *p, int block_slice, int8_t *panel,
                                   int width)
{
  const struct mafat_block_slice *r = &p->references[block_slice];
  return (struct panel_place){mafat_span(r->position, r->position + r->n), panel, width};
}

static int8_t *after(const struct panel_place *p)
{
  return p->panel + mafat_round_up(mafat_span_size(p->inputs), MAFAT_QUAD) * p->width;
}

/* Packs the part's filters from one row of the second map. The whole row is in one buffer. The
 * row's columns are the inputs, and its channels are the filters. */
static void pack_channels(const struct integer_product *p, const struct mafat_product_part *part,
                          int width)
{
  const struct mafat_tensors *t = p->worker->tensors;
  const struct mafat_sources *sources = &p->layer->operands[1].sources;
  struct mafat_runs runs = mafat_runs_of(sources, part->filters);
  for (struct mafat_run run; mafat_runs_next(&runs, &run);) {
    const int first = p->references[0].position;
    const uint8_t *row =
        mafat_runs_read_bytes(t, sources, &run, mafat_product_row(p->layer, 1, part->y), first);
    const size_t pixel = mafat_tensors_pixel_bytes(t, run.tensor, run.block);
    int lane = run.out_block * MAFAT_CHANNEL_BLOCK + run.out_lane - part->filters.begin;
    int8_t *panel = p->panel;
    for (int i = 0; i < p->n_block_slices; i++) {
      const struct panel_place to = place_of(p, i, panel, width);
      pack_run(&to, &run, row + (size_t)(to.inputs.begin - first) * pixel, pixel, lane);
      panel = after(&to);
    }
  }
}

/* Packs n channels of a pixel as inputs of filter f, from `input` on, but only whole quads. Returns
 * the number of channels that it has packed. */
static int take_quads(const struct panel_place *to, const uint8_t *from, int input, int n, int f)
{
  const uint32_t turn = SIGNED_TO_BYTE * UINT32_C(0x01010101); /* subtracts 128 from each byte */
  int k = 0;
  if ((input - to->inputs.begin) % MAFAT_QUAD) return 0;
  int8_t *at = find(to, input, f);
  for (; k + MAFAT_QUAD <= n; k += MAFAT_QUAD, at += to->width * MAFAT_QUAD) {
    uint32_t quad;
    memcpy(&quad, from + k, sizeof quad);
    quad ^= turn;
    memcpy(at, &quad, sizeof quad);
  }
  return k;
}

/* Packs a block slice's inputs if the second map is transposed: its columns are the filters, and
 * its channels are the inputs. */
static void pack_columns(const struct integer_product *p, const struct mafat_product_part *part,
                         const struct panel_place *to)
{
  const struct mafat_tensors *t = p->worker->tensors;
  const struct mafat_sources *sources = &p->layer->operands[1].sources;
  struct mafat_runs runs = mafat_runs_of(sources, to->inputs);
  for (struct mafat_run run; mafat_runs_next(&runs, &run);) {
    const uint8_t *from = mafat_runs_read_bytes(
        t, sources, &run, mafat_product_row(p->layer, 1, part->y), part->filters.begin);
    const size_t pixel = mafat_tensors_pixel_bytes(t, run.tensor, run.block);
    int input = run.out_block * MAFAT_CHANNEL_BLOCK + run.out_lane,
        n = mafat_span_size(part->filters);
    for (int f = 0; f < n; f++, from += pixel)
      for (int k = take_quads(to, from, input, run.n, f); k < run.n; k++)
        *find(to, input + k, f) = (int8_t)(from[k] - SIGNED_TO_BYTE);
  }
}

/* Packs the panel of a part. The panel has zeros after the part's last filter, up to its width, and
 * after the last input of each block slice, up to a whole quad. */
static void pack(const struct integer_product *p, const struct mafat_product_part *part, int width)
{
  int8_t *panel = p->panel;
  memset(p->panel, 0, (size_t)p->channels * (size_t)width);
  if (!p->layer->transposed) {
    pack_channels(p, part, width);
    return;
  }
  for (int i = 0; i < p->n_block_slices; i++) {
    const struct panel_place to = place_of(p, i, panel, width);
    pack_columns(p, part, &to);
    panel = after(&to);
  }
}

/* ---- the product ---- */

/* Computes the value at which each filter's sum begins: -in_zero times the sum of (weight -
 * weights_zero) over the filter's weights. in_zero is the first map's zero point. */
static void begin(const struct integer_product *p, int width, int in_zero, int weights_zero,
                  int32_t *bias)
{
  int32_t sums[MAFAT_QUAD * MAFAT_PANEL] = {0};
  const int8_t *quad = p->panel;
  const int n = width * MAFAT_QUAD;
  for (int c = 0; c < p->channels && in_zero; c += MAFAT_QUAD, quad += n)
    for (int i = 0; i < n; i++) sums[i] += quad[i];
  for (int f = 0; f < width; f++) {
    const int32_t *s = sums + f * MAFAT_QUAD;
    bias[f] = in_zero * (weights_zero * p->layer->in.c - (s[0] + s[1] + s[2] + s[3]));
  }
}

/* Points in_rows at the first map's pixels of the part. Does nothing if the last part was another
 * panel of the same row and columns. */
static void point_at_input(struct integer_product *p, const struct mafat_product_part *part)
{
  const struct mafat_tensors *t = p->worker->tensors;
  int y = mafat_product_row(p->layer, 0, part->y);
  if (p->y == y && p->x == part->cols.begin) return;
  p->y = y;
  p->x = part->cols.begin;
  for (int i = 0; i < p->n_block_slices; i++) {
    const struct mafat_block_slice *from = &p->references[i];
    int pixel_bytes;
    p->in_rows[i] = mafat_integer_source_at(t, mafat_layer_sources(p->layer), from->position, y,
                                            part->cols.begin, &pixel_bytes);
    p->block_slices[i] = (struct mafat_integer_block_slice){&p->in_rows[i], from->n, pixel_bytes};
  }
}

static int point_at_output(const struct integer_product *p, const struct mafat_product_part *part,
                           struct mafat_integer_segment *segments)
{
  const struct mafat_tensors *t = p->worker->tensors;
  int layer = p->step->layer, n = 0;
  for (int f = part->filters.begin, end; f < part->filters.end; f = end, n++) {
    int block = f / MAFAT_CHANNEL_BLOCK;
    end = mafat_min(part->filters.end, (block + 1) * MAFAT_CHANNEL_BLOCK);
    p->out_rows[n] = (uint8_t *)mafat_tensors_address(t, layer, block, part->y, part->cols.begin) +
                     f % MAFAT_CHANNEL_BLOCK;
    segments[n] = (struct mafat_integer_segment){&p->out_rows[n], end - f,
                                                 (int)mafat_tensors_pixel_bytes(t, layer, block)};
  }
  return n;
}

static void run_part(struct integer_product *p, const struct mafat_product_part *part)
{
  const struct mafat_network *n = p->worker->tensors->network;
  struct mafat_quantization a = mafat_network_in_quantization(n, p->step->layer, 0),
                            b = mafat_network_in_quantization(n, p->step->layer, 1);
  struct mafat_multiplier to =
      mafat_multiplier_even(a.scale, b.scale, p->layer->quantization.scale);
  int32_t bias[MAFAT_PANEL], multipliers[MAFAT_PANEL], shifts[MAFAT_PANEL];
  struct mafat_integer_conv_call call = {.block_slices = p->block_slices,
                                         .n_block_slices = p->n_block_slices,
                                         .n_rows = 1,
                                         .n_cols = mafat_span_size(part->cols),
                                         .window = mafat_window_square(1, 1, 0),
                                         .weights = p->panel,
                                         .width = mafat_panel_width(mafat_span_size(part->filters)),
                                         .weights_zero = b.zero - SIGNED_TO_BYTE,
                                         .to = {bias, multipliers, shifts, p->layer->quantization},
                                         .start = true,
                                         .finish = true};
  for (int f = 0; f < MAFAT_PANEL; f++) multipliers[f] = to.multiplier, shifts[f] = to.shift;
  pack(p, part, call.width);
  begin(p, call.width, a.zero, call.weights_zero, bias);
  point_at_input(p, part);
  call.n_segments = point_at_output(p, part, call.segments);
  p->worker->integers->conv(&call);
}

static int run_matmul(const struct mafat_worker *w, const struct mafat_step *step)
{
  struct integer_product p = open_product(w, step);
  for (struct mafat_product_part part; mafat_product_take(w, step, &part);) run_part(&p, &part);
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_integer_matmul = {.run = run_matmul,
                                                       .sharing = MAFAT_SHARED_BY_UNITS};
