/* Finds the tiles with which a unit copies the fewest bytes, and counts these bytes (transfers.h).
 * Called by choose.c and api/transfers.c. Changes only the unit. */
#include "predictor/transfers/transfers.h"

#include "base/box.h"

enum { CONSTANTS = 8 }; /* bytes of a filter's two constants in the fast memory */

const char *mafat_fused_name(enum mafat_fused how)
{
  static const char *const names[MAFAT_N_FUSED] = {"alone", "dw-pw rows", "pw-dw channels",
                                                   "pw-dw rows", "bottleneck rows"};
  return names[how];
}

uint64_t mafat_transfers_tensor_bytes(const struct mafat_network *n,
                                      const struct mafat_transfers_options *o, int tensor,
                                      uint64_t elements)
{
  if (tensor == n->n_layers - 1 && o->logit_bytes) return elements * (uint64_t)o->logit_bytes;
  if (o->element_bytes) return elements * (uint64_t)o->element_bytes;
  return mafat_dtype_bytes(mafat_network_tensor_type(n, tensor), elements);
}

static uint64_t matrix_bytes(const struct mafat_layer *l, const struct mafat_transfers_options *o,
                             int filters)
{
  uint64_t count = (uint64_t)filters * mafat_matrix_row(mafat_layer_matrix(l));
  return o->element_bytes ? count * (uint64_t)o->element_bytes
                          : mafat_dtype_bytes(l->weights_type, count);
}

uint64_t mafat_transfers_weight_bytes(const struct mafat_network *n,
                                      const struct mafat_transfers_options *o, int layer)
{
  const struct mafat_layer *l = &n->layers[layer];
  return matrix_bytes(l, o, mafat_layer_matrix(l).filters);
}

/* ---- bytes of a tile; `rows` and `channels` are those of the unit's output unless noted ---- */

/* A unit, with its first and last layer. */
struct tiling {
  const struct mafat_network *n;
  const struct mafat_transfers_options *o;
  struct mafat_unit *u;
  const struct mafat_layer *first, *last;
};

static struct tiling tiling_of(const struct mafat_network *n,
                               const struct mafat_transfers_options *o, struct mafat_unit *u)
{
  return (struct tiling){n, o, u, &n->layers[u->layers[0]], &n->layers[u->layers[u->n - 1]]};
}

static int output_of(const struct tiling *t)
{
  return t->u->layers[t->u->n - 1];
}

static uint64_t output_bytes(const struct tiling *t, int rows, int channels)
{
  return mafat_transfers_tensor_bytes(
      t->n, t->o, output_of(t), (uint64_t)rows * (uint64_t)t->last->out.w * (uint64_t)channels);
}

/* Bytes of `rows` rows of an operand that a tile of `channels` output channels needs. They have
 * `channels` channels if the layer computes each channel from the same channel of its input; else
 * all channels. */
static uint64_t operand_bytes(const struct tiling *t, const struct mafat_layer *l, int operand,
                              int rows, int channels)
{
  const struct mafat_operand *p = &l->operands[operand];
  if (!p->sources.list) return 0; /* a constant: part of the code */
  int c = mafat_layer_is_lanewise(l) && channels < p->shape.c ? channels : p->shape.c;
  return mafat_transfers_tensor_bytes(t->n, t->o, p->sources.list[0].tensor,
                                      (uint64_t)rows * (uint64_t)p->shape.w * (uint64_t)c);
}

/* Bytes of `rows` rows and `channels` channels of the output of the unit's layer number `index`. */
static uint64_t bytes_between(const struct tiling *t, int index, int rows, int channels)
{
  const struct mafat_layer *l = &t->n->layers[t->u->layers[index]];
  return mafat_transfers_tensor_bytes(t->n, t->o, t->u->layers[index],
                                      (uint64_t)rows * (uint64_t)l->out.w * (uint64_t)channels);
}

/* Greatest number of rows of an operand that a tile of `rows` output rows reads. */
static int tile_in_rows(const struct mafat_layer *l, int operand, int rows)
{
  int most = 0;
  for (int y = 0; y < l->out.h; y += rows) {
    struct mafat_span in = mafat_layer_in_span(
        l, operand, true, mafat_span(y, y + rows < l->out.h ? y + rows : l->out.h));
    if (mafat_span_size(in) > most) most = mafat_span_size(in);
  }
  return most;
}

/* Number of rows of an operand that all tiles copy. Rows that two tiles share count twice. */
static int all_in_rows(const struct mafat_layer *l, int operand, int rows)
{
  int sum = 0;
  for (int y = 0; y < l->out.h; y += rows)
    sum += mafat_span_size(mafat_layer_in_span(
        l, operand, true, mafat_span(y, y + rows < l->out.h ? y + rows : l->out.h)));
  return sum;
}

/* Number of tiles of size `part`. */
static int tiles_in(int extent, int part)
{
  return (extent + part - 1) / part;
}

/* ---- one layer ---- */

/* Bytes of fast memory that a tile of a single layer needs. */
static uint64_t alone_bytes(const struct tiling *t, int rows, int channels)
{
  const struct mafat_layer *l = t->first;
  struct mafat_matrix m = mafat_layer_matrix(l);
  uint64_t sum = output_bytes(t, rows, channels);
  for (int i = 0; i < l->n_operands; i++)
    sum += operand_bytes(t, l, i, tile_in_rows(l, i, rows), channels);
  return m.filters ? sum + matrix_bytes(l, t->o, channels) + (uint64_t)channels * CONSTANTS : sum;
}

/* Greatest number of channels with which a tile of `rows` rows fits the fast memory; 0: none. */
static int alone_channels(const struct tiling *t, int rows)
{
  int low = 0, high = t->last->out.c;
  if (alone_bytes(t, rows, high) <= t->o->fast_bytes) return high;
  if (!(mafat_layer_along(t->first) & MAFAT_ALONG_FILTERS)) return 0;
  while (high - low > 1) {
    int middle = low + (high - low) / 2;
    if (alone_bytes(t, rows, middle) <= t->o->fast_bytes) low = middle;
    else high = middle;
  }
  return low;
}

/* Counts the bytes of a single layer. The outer loop is over channel tiles, the inner one over row
 * tiles. If there are several row tiles, the input is copied for each channel tile, unless each
 * channel tile reads other channels. */
static void count_alone(const struct tiling *t, int rows, int channels)
{
  const struct mafat_layer *l = t->first;
  struct mafat_unit *u = t->u;
  uint64_t once = 0;
  u->extent = rows;
  u->channels = channels;
  u->n_rows = tiles_in(l->out.h, rows);
  u->n_channels = tiles_in(l->out.c, channels);
  u->input_bytes = 0;
  int times = u->n_rows > 1 && !mafat_layer_is_lanewise(l) ? u->n_channels : 1;
  for (int i = 0; i < l->n_operands; i++) {
    u->input_bytes += (uint64_t)times * operand_bytes(t, l, i, all_in_rows(l, i, rows), l->out.c);
    once += operand_bytes(t, l, i,
                          mafat_span_size(mafat_layer_in_span(l, i, true, mafat_span(0, l->out.h))),
                          l->out.c);
  }
  u->again_bytes = u->input_bytes - once;
  u->mid_bytes = 0;
  u->capacity_bytes = alone_bytes(t, rows, channels);
}

/* The try_... functions count the unit's bytes for one extent. False: a tile does not fit the fast
 * memory. */
static bool try_alone(const struct tiling *t, int rows)
{
  int channels = alone_channels(t, rows);
  if (channels == 0) return false;
  count_alone(t, rows, channels);
  return true;
}

/* ---- layers together ---- */

/* Bytes of the weights and constants of all layers; of the last layer, only channels_of_last
 * filters. */
static uint64_t all_weights(const struct tiling *t, int channels_of_last)
{
  uint64_t sum = 0;
  for (int i = 0; i < t->u->n; i++) {
    const struct mafat_layer *l = &t->n->layers[t->u->layers[i]];
    int filters = mafat_layer_matrix(l).filters;
    if (filters == 0) continue;
    if (l == t->last) filters = channels_of_last;
    sum += matrix_bytes(l, t->o, filters) + (uint64_t)filters * CONSTANTS;
  }
  return sum;
}

/* Sets input_bytes to the bytes of rows_copied rows, and again_bytes to those of them that are
 * copied more than once. */
static void count_input(const struct tiling *t, int rows_copied)
{
  const struct mafat_layer *l = t->first;
  struct mafat_span all = mafat_layer_in_span(l, 0, true, mafat_span(0, l->out.h));
  t->u->input_bytes = operand_bytes(t, l, 0, rows_copied, l->out.c);
  t->u->again_bytes = t->u->input_bytes - operand_bytes(t, l, 0, mafat_span_size(all), l->out.c);
}

/* If all rows are one tile, the channels of the 1x1 may be tiled, because each weight is still
 * copied only once. */
static bool try_dw_pw(const struct tiling *t, int rows)
{
  struct mafat_unit *u = t->u;
  u->mid_bytes = bytes_between(t, 0, rows, t->first->out.c);
  uint64_t input = operand_bytes(t, t->first, 0, tile_in_rows(t->first, 0, rows), t->first->out.c) +
                   u->mid_bytes;
  int channels = t->last->out.c;
  for (;; channels = (channels + 1) / 2) {
    u->capacity_bytes = input + output_bytes(t, rows, channels) + all_weights(t, channels);
    if (u->capacity_bytes <= t->o->fast_bytes) break;
    if (rows < t->last->out.h || channels == 1) return false;
  }
  u->channels = channels;
  u->n_rows = tiles_in(t->last->out.h, rows);
  u->n_channels = tiles_in(t->last->out.c, channels);
  count_input(t, all_in_rows(t->first, 0, rows));
  return true;
}

static bool try_pw_dw_channels(const struct tiling *t, int channels)
{
  struct mafat_unit *u = t->u;
  const struct mafat_layer *pw = t->first, *dw = t->last;
  u->mid_bytes = bytes_between(t, 0, pw->out.h, channels);
  u->capacity_bytes = operand_bytes(t, pw, 0, pw->in.h, 0) + u->mid_bytes +
                      output_bytes(t, dw->out.h, channels) + matrix_bytes(pw, t->o, channels) +
                      matrix_bytes(dw, t->o, channels) + 2 * CONSTANTS * (uint64_t)channels;
  u->channels = channels;
  u->n_rows = 1;
  u->n_channels = tiles_in(dw->out.c, channels);
  count_input(t, pw->in.h);
  return u->capacity_bytes <= t->o->fast_bytes;
}

/* Greatest number of rows of the depthwise output that can be computed from `rows` rows of its
 * input. */
static int rows_given(const struct mafat_layer *dw, int rows)
{
  if (rows >= dw->in.h) return dw->out.h;
  int most =
      (rows + dw->window.y.before - mafat_taps_reach(dw->window.y)) / dw->window.y.stride + 1;
  return most < dw->out.h ? most : dw->out.h;
}

/* The tile is a rolling window of rows of the first 1x1's output. If the unit has a shortcut, rows
 * of the unit's input stay in the fast memory until the shortcut has used them. So the tile has
 * reach - 1 rows more of the input than of the 1x1's output. */
static bool try_window(const struct tiling *t, int rows)
{
  struct mafat_unit *u = t->u;
  const struct mafat_layer *dw = &t->n->layers[u->layers[1]];
  int reach = mafat_taps_reach(dw->window.y), whole = dw->in.h;
  if (rows < reach && rows < whole) return false;
  int given = rows_given(dw, rows), kept = u->n == MAFAT_UNIT_MOST ? rows + reach - 1 : rows;
  u->mid_bytes = bytes_between(t, 0, rows, t->first->out.c);
  if (u->n > 2) u->mid_bytes += bytes_between(t, 1, given, dw->out.c);
  u->capacity_bytes = operand_bytes(t, t->first, 0, kept < whole ? kept : whole, 0) + u->mid_bytes +
                  output_bytes(t, given, t->last->out.c) + all_weights(t, t->last->out.c);
  u->channels = t->last->out.c;
  u->n_channels = 1;
  u->n_rows = tiles_in(whole, rows); /* a lower bound, because neighboring windows share rows */
  count_input(t, t->first->in.h);
  return u->capacity_bytes <= t->o->fast_bytes;
}

/* ---- choice ---- */

bool mafat_unit_can(const struct mafat_unit *u, const struct mafat_network *n)
{
  const struct mafat_layer *l[MAFAT_UNIT_MOST];
  for (int i = 0; i < u->n; i++) l[i] = &n->layers[u->layers[i]];
  switch (u->how) {
  case MAFAT_FUSED_NONE: return u->n == 1;
  case MAFAT_FUSED_DW_PW_ROWS:
    return u->n == 2 && mafat_layer_is_depthwise(l[0]) && mafat_layer_is_pointwise(l[1]);
  case MAFAT_FUSED_PW_DW_CHANNELS:
  case MAFAT_FUSED_PW_DW_ROWS:
    return u->n == 2 && mafat_layer_is_pointwise(l[0]) && mafat_layer_is_depthwise(l[1]);
  default: break;
  }
  if (u->n < 3 || !mafat_layer_is_pointwise(l[0]) || !mafat_layer_is_depthwise(l[1]) ||
      !mafat_layer_is_pointwise(l[2]))
    return false;
  if (u->n == 3) return true;
  if (!mafat_layer_blends(l[3]) || l[3]->n_operands != 2 || l[1]->window.y.stride != 1)
    return false;
  int around = mafat_network_sole_tensor(n, mafat_layer_sources(l[0]));
  for (int i = 0; i < 2; i++)
    if (around >= 0 && mafat_network_sole_tensor(n, &l[3]->operands[i].sources) == around)
      return true;
  return false;
}

static bool try_at(const struct tiling *t, int extent)
{
  switch (t->u->how) {
  case MAFAT_FUSED_NONE: return try_alone(t, extent);
  case MAFAT_FUSED_DW_PW_ROWS: return try_dw_pw(t, extent);
  case MAFAT_FUSED_PW_DW_CHANNELS: return try_pw_dw_channels(t, extent);
  default: return try_window(t, extent);
  }
}

/* Largest extent of the unit. */
static int whole_extent(const struct tiling *t)
{
  if (t->u->how == MAFAT_FUSED_PW_DW_CHANNELS) return t->first->out.c;
  return t->u->how == MAFAT_FUSED_NONE || t->u->how == MAFAT_FUSED_DW_PW_ROWS ? t->last->out.h
                                                                              : t->first->out.h;
}

/* Counts the bytes that do not depend on the tiles. */
static void count_fixed(const struct tiling *t)
{
  t->u->weight_bytes = 0;
  for (int i = 0; i < t->u->n; i++)
    t->u->weight_bytes += mafat_transfers_weight_bytes(t->n, t->o, t->u->layers[i]);
  t->u->output_bytes = output_bytes(t, t->last->out.h, t->last->out.c);
}

bool mafat_unit_count_at(struct mafat_unit *u, const struct mafat_network *n,
                         const struct mafat_transfers_options *o)
{
  struct tiling t = tiling_of(n, o, u);
  if (u->extent < 1 || u->extent > whole_extent(&t)) return false;
  count_fixed(&t);
  return u->fits = try_at(&t, u->extent);
}

void mafat_unit_count(struct mafat_unit *u, const struct mafat_network *n,
                      const struct mafat_transfers_options *o)
{
  struct tiling t = tiling_of(n, o, u);
  struct mafat_unit best = *u;
  bool by_rows = u->how != MAFAT_FUSED_NONE || (mafat_layer_along(t.first) & MAFAT_ALONG_ROWS);
  best.fits = false;
  count_fixed(&t);
  for (int extent = whole_extent(&t); extent >= 1; extent--) {
    u->extent = extent;
    if (try_at(&t, extent) && (!best.fits || mafat_unit_moved(u) < mafat_unit_moved(&best))) {
      best = *u;
      best.fits = true;
    }
    if (!by_rows || (best.fits && best.again_bytes == 0)) break;
  }
  if (!best.fits) {
    struct mafat_transfers_options all = *o;
    if (o->fast_bytes == SIZE_MAX) return;
    all.fast_bytes = SIZE_MAX;
    mafat_unit_count(u, n, &all);
    u->fits = false;
    return;
  }
  *u = best;
}
