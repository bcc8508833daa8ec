/* Simulates the computation of a unit (layers that are computed together) by copying tiles between
 * a slow memory and an arena of o->fast_bytes, and counts the bytes; see the header. Called by
 * separable.c. Allocates and frees the memory. */
#include "experiments/separable/copying.h"

#include "base/box.h"

#include <stdlib.h>
#include <string.h>

enum { CONSTANTS = 8, MARK = 0xA5 };

/* A map in the slow memory, [channel][row][column]. */
struct map {
  unsigned char *bytes;
  int h, w, c;
  size_t element;
};

/* Rows of some channels of a map in the arena: [row][channel][column]. */
struct tile {
  unsigned char *bytes;
  size_t row; /* distance of two rows in bytes */
};

struct copier {
  struct copy_counters *counters;
  const struct mafat_network *n;
  const struct mafat_transfers_options *o;
  const struct mafat_unit *u;
  unsigned char *arena;
  size_t used;
};

static unsigned char *allocate(struct copier *c, size_t bytes)
{
  unsigned char *place = c->arena + c->used;
  if (bytes > c->o->fast_bytes - c->used) {
    c->counters->wrong = "the arena is full";
    return c->arena;
  }
  c->used += bytes;
  if (c->used > c->counters->most) c->counters->most = c->used;
  return place;
}

static unsigned char pattern(const struct map *m, int channel, int y)
{
  return (unsigned char)(channel * 31 + y * 7 + m->w);
}

static int open_map(struct map *m, const struct copier *c, int tensor, struct mafat_shape shape,
                    bool filled)
{
  *m = (struct map){NULL, shape.h, shape.w, shape.c,
                    mafat_transfers_tensor_bytes(c->n, c->o, tensor, 1)};
  m->bytes = calloc((size_t)mafat_shape_elements(shape), m->element);
  if (!m->bytes) return MAFAT_ENOMEM;
  size_t row = (size_t)m->w * m->element;
  for (int k = 0; filled && k < m->c; k++)
    for (int y = 0; y < m->h; y++)
      memset(m->bytes + ((size_t)k * (size_t)m->h + (size_t)y) * row, pattern(m, k, y), row);
  return MAFAT_OK;
}

static struct tile tile_of(struct copier *c, const struct map *m, int rows, int channels)
{
  struct tile t = {NULL, (size_t)channels * (size_t)m->w * m->element};
  t.bytes = allocate(c, (size_t)rows * t.row);
  return t;
}

/* Copies rows of the map into the tile; the first of them becomes the tile's row `at`. */
static void copy_in(struct copier *c, const struct tile *t, int at, const struct map *m,
                    struct mafat_span rows, struct mafat_span channels)
{
  size_t n = (size_t)m->w * m->element;
  if (c->counters->wrong) return;
  for (int y = rows.begin; y < rows.end; y++)
    for (int k = channels.begin; k < channels.end; k++) {
      memcpy(t->bytes + (size_t)(at + y - rows.begin) * t->row + (size_t)(k - channels.begin) * n,
             m->bytes + ((size_t)k * (size_t)m->h + (size_t)y) * n, n);
      c->counters->in += n;
    }
}

static void copy_out(struct copier *c, const struct tile *t, struct map *m, struct mafat_span rows,
                     struct mafat_span channels)
{
  size_t n = (size_t)m->w * m->element;
  if (c->counters->wrong) return;
  memset(t->bytes, MARK, (size_t)mafat_span_size(rows) * t->row);
  for (int y = rows.begin; y < rows.end; y++)
    for (int k = channels.begin; k < channels.end; k++) {
      memcpy(m->bytes + ((size_t)k * (size_t)m->h + (size_t)y) * n,
             t->bytes + (size_t)(y - rows.begin) * t->row + (size_t)(k - channels.begin) * n, n);
      c->counters->out += n;
    }
}

/* Checks that the tile contains these rows of the map, the first of them as the tile's row `at`. */
static void check_rows(struct copier *c, const struct tile *t, int at, const struct map *m,
                       struct mafat_span rows)
{
  if (c->counters->wrong) return;
  for (int y = rows.begin; y < rows.end; y++)
    if (t->bytes[(size_t)(at + y - rows.begin) * t->row] != pattern(m, 0, y))
      c->counters->wrong = "a row is not in its tile";
}

/* Copies the weights of some filters, and reserves memory for their constants. */
static void copy_weights(struct copier *c, int layer, struct mafat_span filters)
{
  struct mafat_matrix m = mafat_layer_matrix(&c->n->layers[layer]);
  if (m.filters == 0) return;
  size_t row = mafat_transfers_weight_bytes(c->n, c->o, layer) / (size_t)m.filters,
         n = row * (size_t)mafat_span_size(filters);
  unsigned char *place = allocate(c, n + (size_t)mafat_span_size(filters) * CONSTANTS),
                *slow = calloc(n, 1);
  if (!slow) c->counters->wrong = "out of memory";
  if (c->counters->wrong == NULL) memcpy(place, slow, n);
  c->counters->weights += n;
  free(slow);
}

static struct mafat_span part(int from, int size, int extent)
{
  return mafat_span(from, from + size < extent ? from + size : extent);
}

static int needed(const struct mafat_layer *l, int operand, int rows)
{
  int most = 0;
  for (int y = 0; y < l->out.h; y += rows) {
    int size = mafat_span_size(mafat_layer_in_span(l, operand, true, part(y, rows, l->out.h)));
    if (size > most) most = size;
  }
  return most;
}

/* ---- the kernels ---- */

/* Simulates a unit of a single layer: loops over channels, then rows. An input tile that is already
 * in the arena is not copied again. */
static void run_alone(struct copier *c, struct map *in, struct map *out)
{
  const struct mafat_layer *l = &c->n->layers[c->u->layers[0]];
  bool lane = mafat_layer_is_lanewise(l);
  for (int k = 0; k < out->c; k += c->u->channels) {
    struct mafat_span filters = part(k, c->u->channels, out->c);
    struct tile tiles[MAFAT_MAX_OPERANDS];
    c->used = 0;
    for (int i = 0; i < l->n_operands; i++)
      tiles[i] = tile_of(c, &in[i], needed(l, i, c->u->extent),
                         lane && c->u->channels < in[i].c ? c->u->channels : in[i].c);
    struct tile to = tile_of(c, out, c->u->extent, c->u->channels);
    copy_weights(c, c->u->layers[0], filters);
    for (int y = 0; y < out->h; y += c->u->extent) {
      for (int i = 0; i < l->n_operands; i++) {
        struct mafat_span channels = lane && in[i].c == out->c ? filters : mafat_span(0, in[i].c);
        bool there = k > 0 && c->u->extent >= out->h && !lane;
        if (!there)
          copy_in(c, &tiles[i], 0, &in[i],
                  mafat_layer_in_span(l, i, true, part(y, c->u->extent, out->h)), channels);
      }
      copy_out(c, &to, out, part(y, c->u->extent, out->h), filters);
    }
  }
}

static void run_dw_pw(struct copier *c, struct map *in, struct map *out)
{
  const struct mafat_layer *dw = &c->n->layers[c->u->layers[0]];
  struct tile from = tile_of(c, in, needed(dw, 0, c->u->extent), in->c);
  allocate(c, mafat_transfers_tensor_bytes(c->n, c->o, c->u->layers[0],
                                       (uint64_t)c->u->extent * (uint64_t)dw->out.w *
                                           (uint64_t)dw->out.c));
  copy_weights(c, c->u->layers[0], mafat_span(0, dw->out.c));
  struct tile to = tile_of(c, out, c->u->extent, c->u->channels);
  size_t base = c->used;
  for (int k = 0; k < out->c; k += c->u->channels) {
    c->used = base;
    copy_weights(c, c->u->layers[1], part(k, c->u->channels, out->c));
    for (int y = 0; y < out->h; y += c->u->extent) {
      struct mafat_span rows = part(y, c->u->extent, out->h),
                        need = mafat_layer_in_span(dw, 0, true, rows);
      if (k == 0) copy_in(c, &from, 0, in, need, mafat_span(0, in->c));
      check_rows(c, &from, 0, in, need);
      copy_out(c, &to, out, rows, part(k, c->u->channels, out->c));
    }
  }
}

static void run_pw_dw_channels(struct copier *c, struct map *in, struct map *out)
{
  const struct mafat_layer *pw = &c->n->layers[c->u->layers[0]];
  struct tile from = tile_of(c, in, in->h, in->c);
  copy_in(c, &from, 0, in, mafat_span(0, in->h), mafat_span(0, in->c));
  size_t base = c->used;
  for (int k = 0; k < out->c; k += c->u->extent) {
    struct mafat_span filters = part(k, c->u->extent, out->c);
    c->used = base;
    allocate(c, mafat_transfers_tensor_bytes(c->n, c->o, c->u->layers[0],
                                         (uint64_t)mafat_span_size(filters) * (uint64_t)pw->out.h *
                                             (uint64_t)pw->out.w));
    copy_weights(c, c->u->layers[0], filters);
    copy_weights(c, c->u->layers[1], filters);
    struct tile to = tile_of(c, out, out->h, mafat_span_size(filters));
    copy_out(c, &to, out, mafat_span(0, out->h), filters);
  }
}

/* Simulates a fused unit that begins with a 1x1 convolution. `window` is a tile with rows [lo, hi)
 * of that layer's output. Rows that later steps do not need are dropped. If a shortcut adds the
 * unit's input at its end, input rows stay in the arena until the same output rows are written. */
static void run_window(struct copier *c, struct map *in, struct map *out)
{
  const struct mafat_unit *u = c->u;
  const struct mafat_layer *pw = &c->n->layers[u->layers[0]], *dw = &c->n->layers[u->layers[1]];
  struct mafat_taps t = dw->window.y;
  bool around = u->n == MAFAT_UNIT_MOST;
  int reach = mafat_taps_reach(t),
      capacity = around && u->extent + reach - 1 < in->h ? u->extent + reach - 1 : in->h;
  if (!around) capacity = u->extent;
  int given = u->extent >= dw->in.h ? out->h : (u->extent + t.before - reach) / t.stride + 1;
  if (given > out->h) given = out->h;
  struct map mid = {NULL, pw->out.h, pw->out.w, pw->out.c,
                    mafat_transfers_tensor_bytes(c->n, c->o, u->layers[0], 1)};
  struct tile from = tile_of(c, in, capacity, in->c), window = tile_of(c, &mid, u->extent, mid.c),
              to = {NULL, 0};
  if (u->n > 2)
    allocate(c,
         mafat_transfers_tensor_bytes(c->n, c->o, u->layers[1],
                                      (uint64_t)given * (uint64_t)dw->out.w * (uint64_t)dw->out.c));
  to = tile_of(c, out, given, out->c);
  for (int i = 0; i < u->n; i++)
    copy_weights(c, u->layers[i], mafat_span(0, c->n->layers[u->layers[i]].out.c));
  int lo = 0, hi = 0, kept = 0;
  for (int o = 0; o < out->h && !c->counters->wrong;) {
    int end = lo + u->extent < mid.h ? lo + u->extent : mid.h, at = around ? hi - kept : 0;
    if (at + end - hi > capacity) c->counters->wrong = "input rows have no room";
    copy_in(c, &from, at, in, mafat_span(hi, end), mafat_span(0, in->c));
    for (int y = hi; y < end && !c->counters->wrong; y++)
      memset(window.bytes + (size_t)(y - lo) * window.row, pattern(&mid, 0, y), window.row);
    hi = end;
    int first = o;
    for (; o < out->h && mafat_layer_in_span(dw, 0, true, mafat_span(o, o + 1)).end <= hi; o++) {
      struct mafat_span need = mafat_layer_in_span(dw, 0, true, mafat_span(o, o + 1));
      check_rows(c, &window, need.begin - lo, &mid, need);
      if (around) check_rows(c, &from, o - kept, in, mafat_span(o, o + 1));
    }
    if (o == first) c->counters->wrong = "a step gives nothing";
    if (o - first > given) c->counters->wrong = "a step gives more than there is room for";
    copy_out(c, &to, out, mafat_span(first, o), mafat_span(0, out->c));
    if (o == out->h || c->counters->wrong) break;
    int from_row = mafat_taps_first(t, o) > 0 ? mafat_taps_first(t, o) : 0;
    if (from_row < hi) {
      memmove(window.bytes, window.bytes + (size_t)(from_row - lo) * window.row,
              (size_t)(hi - from_row) * window.row);
      c->counters->moved += (size_t)(hi - from_row) * window.row;
    }
    lo = from_row;
    if (around) {
      memmove(from.bytes, from.bytes + (size_t)(o - kept) * from.row, (size_t)(hi - o) * from.row);
      c->counters->moved += (size_t)(hi - o) * from.row;
      kept = o;
    }
  }
}

static void run(struct copier *c, struct map *in, struct map *out)
{
  switch (c->u->how) {
  case MAFAT_FUSED_NONE: run_alone(c, in, out); break;
  case MAFAT_FUSED_DW_PW_ROWS: run_dw_pw(c, in, out); break;
  case MAFAT_FUSED_PW_DW_CHANNELS: run_pw_dw_channels(c, in, out); break;
  default: run_window(c, in, out); break;
  }
  for (size_t i = 0; i < (size_t)out->h * (size_t)out->w * (size_t)out->c * out->element; i++)
    if (out->bytes[i] != MARK && !c->counters->wrong)
      c->counters->wrong = "an output is not written";
}

int copy_unit(struct copy_counters *counters, const struct mafat_network *n,
              const struct mafat_transfers_options *o, const struct mafat_unit *u)
{
  struct copier c = {counters, n, o, u, malloc(o->fast_bytes), 0};
  struct map in[MAFAT_MAX_OPERANDS] = {{NULL, 0, 0, 0, 0}}, out;
  const struct mafat_layer *first = &n->layers[u->layers[0]];
  int last = u->layers[u->n - 1], n_maps = 0;
  int code = open_map(&out, &c, last, n->layers[last].out, false);
  for (; n_maps < first->n_operands && code == MAFAT_OK; n_maps++)
    code = open_map(&in[n_maps], &c, first->operands[n_maps].sources.list[0].tensor,
                    first->operands[n_maps].shape, true);
  if (!c.arena) code = MAFAT_ENOMEM;
  if (code == MAFAT_OK) run(&c, in, &out);
  for (int i = 0; i < n_maps; i++) free(in[i].bytes);
  free(out.bytes);
  free(c.arena);
  return code;
}
