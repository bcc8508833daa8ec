/* Packs integer weights into panels of quads, with biases, multipliers and shifts
 * (predictor/plan/packing.h), and checks packed panels. Called by runner/weights/weights.c and
 * packer.c. Touches only its arguments. */
#include "runner/weights/pack_integers.h"

#include "runner/weights/pack.h"

#include <math.h>
#include <string.h>

/* A packed panel, of filters [first, end). */
struct integer_panel {
  int8_t *weights;
  int32_t *finish; /* [3][width]: biases, multipliers, shifts; stored after the weights */
  size_t width, bytes; /* bytes: size of the weights */
  int first, end;
};

static struct integer_panel find_panel(const struct mafat_layer *l,
                                       struct mafat_packed_panels panels, int filter)
{
  int first = mafat_pack_panel_begin(l, filter), end = mafat_panel_end(l, first);
  size_t width = (size_t)mafat_panel_width(end - first),
         weights = mafat_quads_taps(l, first) * width;
  char *at = panels.bytes + (mafat_packed_offset(l, first) - panels.before);
  return (struct integer_panel){
      (int8_t *)at, (int32_t *)(void *)(at + weights), width, weights, first, end};
}

/* ---- positions of weights ---- */

/* A block slice of a group's inputs, and its place in the panel. */
struct slice_place {
  size_t before, channels; /* inputs of earlier block slices, and of this one, each rounded up to
                              quads */
  int first, end;          /* its inputs, counted in the group */
};

static struct slice_place find_place(const struct mafat_block_slice *block_slices, int n, int input)
{
  struct slice_place p = {0};
  int at = 0;
  for (int i = 0; i < n; i++, at = p.end) {
    p = (struct slice_place){p.before + p.channels,
                             (size_t)mafat_round_up(block_slices[i].n, MAFAT_QUAD), at,
                             at + block_slices[i].n};
    if (input < p.end) break;
  }
  return p;
}

/* Sets *place to the block slice that contains `input`. Does nothing if *place is that block slice
 * already, as it mostly is, because inputs come in order. */
static void move_place(struct slice_place *place, const struct mafat_block_slice *block_slices,
                       int n, int input)
{
  if (input < place->first || input >= place->end) *place = find_place(block_slices, n, input);
}

/* Returns the address of the weight in the panel for an input, its first tap and the panel's first
 * filter. Taps are *between_taps bytes apart, and filters 4 bytes, or 1 in depthwise layers. */
static int8_t *find_input(const struct mafat_layer *l, const struct integer_panel *p,
                          const struct slice_place *place, int input, size_t *between_taps)
{
  *between_taps = mafat_layer_is_depthwise(l) ? p->width : place->channels * p->width;
  if (mafat_layer_is_depthwise(l)) return p->weights;
  size_t taps = (size_t)mafat_layer_matrix(l).taps, in = (size_t)(input - place->first);
  return p->weights + (place->before * taps + in / MAFAT_QUAD * MAFAT_QUAD) * p->width +
         in % MAFAT_QUAD;
}

/* ---- copying ---- */

/* Weights in a file's order. */
struct source {
  const unsigned char *from;
  unsigned char turn;             /* xored with each weight; 0x80 converts unsigned to signed */
  size_t filter, input, tap;      /* bytes from a weight to that of the next filter, input, tap */
  bool flipped;                   /* taps are stored in reverse order */
};

static struct source source_of(const struct mafat_layer *l, const struct mafat_pack_part *part)
{
  struct mafat_matrix m = mafat_layer_matrix(l);
  size_t inputs = (size_t)m.inputs, taps = (size_t)m.taps, filters = (size_t)m.filters;
  struct source s = {.from = (const unsigned char *)part->weights,
                     .flipped = part->constant->flipped};
  s.turn = part->constant->type == MAFAT_U8 ? 0x80 : 0;
  switch ((enum mafat_order)part->constant->order) {
  case MAFAT_ORDER_FILTERS_TAPS: s.filter = inputs * taps, s.tap = inputs, s.input = 1; break;
  case MAFAT_ORDER_INPUTS: s.filter = 1, s.tap = filters, s.input = taps * filters; break;
  case MAFAT_ORDER_TAPS: s.filter = 1, s.input = filters, s.tap = inputs * filters; break;
  default: s.filter = inputs * taps, s.tap = 1, s.input = taps; break;
  }
  return s;
}

static int list_block_slices(const struct mafat_layer *l, int filter,
                             struct mafat_block_slice *block_slices)
{
  struct mafat_matrix m = mafat_layer_matrix(l);
  int begin = filter / (l->filters / l->groups) * m.inputs;
  if (mafat_layer_is_depthwise(l)) return 0;
  return mafat_block_slices(mafat_layer_sources(l), mafat_span(begin, begin + m.inputs),
                            block_slices, mafat_pack_block_slices(l));
}

/* Copies the weights of one input and tap for some filters of a panel. `from` points to the weight
 * of the first of these filters, `to` to that of the panel's first filter. */
static void put(const struct source *s, const struct mafat_layer *l, const struct integer_panel *p,
                const unsigned char *from, int8_t *to, struct mafat_span filters)
{
  size_t step = mafat_layer_is_depthwise(l) ? 1 : MAFAT_QUAD;
  to += (size_t)(filters.begin - p->first) * step;
  for (int f = filters.begin; f < filters.end; f++, from += s->filter, to += step)
    *to = (int8_t)(*from ^ s->turn);
}

/* Packs some filters of a panel, from a file in which the weights of a filter are contiguous. */
static void pack_filters(const struct mafat_layer *l, const struct mafat_pack_part *part,
                         struct mafat_block_slice *block_slices, const struct integer_panel *p,
                         struct mafat_span filters)
{
  struct mafat_matrix m = mafat_layer_matrix(l);
  struct source s = source_of(l, part);
  int n = list_block_slices(l, p->first, block_slices);
  s.from += (size_t)(filters.begin - part->filters.begin) * s.filter;
  struct slice_place place = {0};
  for (int i = 0; i < m.inputs; i++) {
    move_place(&place, block_slices, n, i);
    size_t between;
    int8_t *to = find_input(l, p, &place, i, &between);
    for (int t = 0; t < m.taps; t++)
      put(&s, l, p, s.from + (size_t)i * s.input + (size_t)t * s.tap,
          to + (size_t)(s.flipped ? m.taps - 1 - t : t) * between, filters);
  }
}

/* Packs some rows, for the filters of one panel. A row has the weights of all filters for one input
 * and one tap. */
static void pack_rows(const struct mafat_layer *l, const struct mafat_pack_part *part,
                      struct mafat_block_slice *block_slices, const struct integer_panel *p)
{
  struct mafat_matrix m = mafat_layer_matrix(l);
  struct source s = source_of(l, part);
  int n = list_block_slices(l, p->first, block_slices);
  const unsigned char *from = s.from + p->first;
  struct slice_place place = {0};
  for (int row = part->rows.begin; row < part->rows.end; row++, from += m.filters) {
    bool by_taps = part->constant->order == MAFAT_ORDER_TAPS;
    int tap = by_taps ? row / m.inputs : row % m.taps,
        input = by_taps ? row % m.inputs : row / m.taps;
    move_place(&place, block_slices, n, input);
    size_t between;
    int8_t *to = find_input(l, p, &place, input, &between);
    put(&s, l, p, from, to + (size_t)(s.flipped ? m.taps - 1 - tap : tap) * between,
        mafat_span(p->first, p->end));
  }
}

/* ---- requantization ---- */

/* Returns the sum of all weights of the panel's filter `lane`. The padding of quads is 0. */
static int64_t sum_lane(const struct mafat_layer *l, const struct integer_panel *p, size_t lane)
{
  size_t step = mafat_layer_is_depthwise(l) ? 1 : MAFAT_QUAD;
  int64_t sum = 0;
  for (size_t at = lane * step; at < p->bytes; at += p->width * step)
    for (size_t k = 0; k < step; k++) sum += p->weights[at + k];
  return sum;
}

static int32_t wrap(int64_t sum)
{
  uint32_t bits = (uint32_t)(uint64_t)sum;
  int32_t out;
  memcpy(&out, &bits, sizeof out);
  return out;
}

static struct mafat_multiplier multiplier_of(const struct mafat_layer *l, float in_scale,
                                             float scale)
{
  if (l->quantization.rounding == MAFAT_REQUANTIZE_EVEN)
    return mafat_multiplier_even(in_scale, scale, l->quantization.scale);
  return mafat_multiplier(
      mafat_quantization_factor(in_scale, scale, l->quantization.scale, l->single));
}

/* Zeroes the weights that fill up the last quad of each block slice, because kernels multiply them
 * by arbitrary bytes. */
static void clear_after(const struct mafat_layer *l, const struct integer_panel *p,
                        const struct mafat_block_slice *block_slices, int n)
{
  size_t taps = (size_t)mafat_layer_matrix(l).taps;
  int8_t *at = p->weights;
  for (int i = 0; i < n; i++) {
    size_t quads = (size_t)mafat_divide_up(block_slices[i].n, MAFAT_QUAD),
           rest = (size_t)block_slices[i].n % MAFAT_QUAD;
    for (size_t t = 0; t < taps; t++) {
      at += quads * p->width * MAFAT_QUAD;
      for (size_t f = 1; rest && f <= p->width; f++)
        memset(at - f * MAFAT_QUAD + rest, 0, MAFAT_QUAD - rest);
    }
  }
}

/* Subtracts the zero point of the weights from a panel's weights if the results fit in int8, as
 * they nearly always do; kernels then need not sum the inputs. Returns the zero point that remains:
 * 0, or that of the weights. */
static int take_zero(const struct mafat_layer *l, const struct integer_panel *p,
                     struct mafat_block_slice *block_slices)
{
  int least = 0, most = 0, zero = l->weights_zero;
  if (!zero || l->quantization.rounding == MAFAT_REQUANTIZE_EVEN) return zero;
  for (size_t i = 0; i < p->bytes; i++) {
    least = mafat_min(least, p->weights[i]);
    most = mafat_max(most, p->weights[i]);
  }
  if (least - zero < INT8_MIN || most - zero > INT8_MAX) return zero;
  for (size_t i = 0; i < p->bytes; i++) p->weights[i] = (int8_t)(p->weights[i] - zero);
  clear_after(l, p, block_slices, list_block_slices(l, p->first, block_slices));
  return 0;
}

static void finish(const struct mafat_network *n, int layer, const struct mafat_pack_part *part,
                   struct mafat_block_slice *block_slices, const struct integer_panel *p)
{
  const struct mafat_layer *l = &n->layers[layer];
  struct mafat_quantization in = mafat_network_in_quantization(n, layer, 0);
  int64_t taps = (int64_t)mafat_matrix_row(mafat_layer_matrix(l));
  int zero = take_zero(l, p, block_slices);
  for (size_t i = 0; i < p->width; i++) {
    int filter = p->first + (int)i;
    int32_t bias = 0;
    struct mafat_multiplier m = {0, 0};
    if (filter < p->end) {
      memcpy(&bias, &part->bias[filter], sizeof bias);
      bias = wrap(bias - in.zero * (sum_lane(l, p, i) - taps * zero));
      m = multiplier_of(l, in.scale, part->scale[filter]);
    }
    p->finish[i] = bias;
    p->finish[p->width + i] = m.multiplier;
    p->finish[2 * p->width + i] = l->quantization.rounding == MAFAT_REQUANTIZE_EVEN
                                      ? m.shift
                                      : mafat_shift_with_zero(m.shift, zero);
  }
}

/* ---- from floats ---- */

enum { MOST_BIAS = 1 << 30 }; /* largest bias: leaves room in 32 bits for sums of products */

/* Conversion of a filter's int8 weights. The real weight is scale * packed weight. */
struct integer_filter {
  double scale, bias;
  double keep; /* the packed weight is the int8 weight times this: 1 or -1, or less in magnitude if
                  the bias requires a coarser scale */
};

/* Makes the scale positive, so that a sum has the sign of its real value, and large enough that the
 * bias is at most MOST_BIAS. zeros: all weights are 0, so that only the bias determines the
 * scale. */
static struct integer_filter filter_of(double scale, double bias, double in_scale, bool zeros)
{
  struct integer_filter f = {zeros ? 0 : fabs(scale), bias, scale < 0 ? -1 : 1};
  double least = fabs(bias) / in_scale / MOST_BIAS; /* least scale for the bias */
  if (least < 0x1p-100) least = 0x1p-100;
  if (f.scale >= least) return f;
  f.keep *= f.scale / least;
  f.scale = least;
  return f;
}

static bool is_zero(const signed char *from, size_t rows, size_t width, size_t lane)
{
  for (size_t r = 0; r < rows; r++)
    if (from[r * width + lane]) return false;
  return true;
}

/* Packs the inputs of one block slice into quads. Multiplies each weight by its filter's `keep`. */
static void put_quads(const struct integer_filter *filters, const signed char *from, int n_channels,
                      int taps, size_t width, int8_t *to)
{
  for (int t = 0; t < taps; t++)
    for (int c = 0; c < n_channels; c += MAFAT_QUAD)
      for (size_t lane = 0; lane < width; lane++)
        for (int k = 0; k < MAFAT_QUAD; k++, to++)
          *to = c + k < n_channels
                    ? (int8_t)rint(from[(size_t)(t * n_channels + c + k) * width + lane] *
                                   filters[lane].keep)
                    : 0;
}

static void put_depthwise(const struct integer_filter *filters, const signed char *from,
                          const struct integer_panel *p)
{
  for (size_t i = 0; i < p->bytes; i++)
    p->weights[i] = (int8_t)rint(from[i] * filters[i % p->width].keep);
}

/* Returns the factor of negative sums for a sloped rectifier, as the bits of a float. Bits of 0
 * mean to kernels that negative sums have the same factor as positive sums. So a factor of 0 is
 * returned as -0. */
static struct mafat_multiplier multiplier_below(float in_scale, float slope, float scale,
                                                float out_scale)
{
  struct mafat_multiplier m = mafat_multiplier_even(in_scale * slope, scale, out_scale);
  if (m.multiplier == 0) m.multiplier = INT32_MIN;
  return m;
}

static void finish_real(const struct mafat_network *n, int layer, const struct integer_panel *p,
                        const struct integer_filter *filters)
{
  const struct mafat_layer *l = &n->layers[layer];
  struct mafat_quantization in = mafat_network_in_quantization(n, layer, 0);
  for (size_t i = 0; i < p->width; i++) {
    double bias = rint(filters[i].bias / ((double)in.scale * filters[i].scale));
    float scale = (float)filters[i].scale;
    struct mafat_multiplier m = mafat_multiplier_even(in.scale, scale, l->quantization.scale),
                            below = {0, 0};
    if (l->activation.kind == MAFAT_SLOPED)
      below = multiplier_below(in.scale, l->activation.a, scale, l->quantization.scale);
    p->finish[i] = wrap((int64_t)bias - in.zero * sum_lane(l, p, i));
    p->finish[p->width + i] = m.multiplier;
    p->finish[2 * p->width + i] = below.multiplier;
  }
}

void mafat_pack_integers_narrowed(const struct mafat_network *n, int layer, int filter,
                                  const char *narrow, struct mafat_block_slice *block_slices,
                                  char *to)
{
  const struct mafat_layer *l = &n->layers[layer];
  struct integer_panel p =
      find_panel(l, (struct mafat_packed_panels){to, mafat_packed_offset(l, filter)}, filter);
  struct mafat_matrix m = mafat_layer_matrix(l);
  const size_t rows = (size_t)mafat_matrix_row(m);
  const float *scales = (const float *)(const void *)(narrow + rows * p.width);
  const double in_scale = (double)mafat_network_in_quantization(n, layer, 0).scale;
  struct integer_filter filters[MAFAT_PANEL];
  const signed char *from = (const signed char *)narrow;
  for (size_t i = 0; i < p.width; i++)
    filters[i] = filter_of((double)scales[i], (double)scales[p.width + i], in_scale,
                           is_zero(from, rows, p.width, i));
  int8_t *quads = p.weights;
  if (mafat_layer_is_depthwise(l)) put_depthwise(filters, from, &p);
  for (int i = 0, n_block_slices = list_block_slices(l, p.first, block_slices); i < n_block_slices;
       i++) {
    put_quads(filters, from, block_slices[i].n, m.taps, p.width, quads);
    from += (size_t)block_slices[i].n * (size_t)m.taps * p.width;
    quads += (size_t)mafat_round_up(block_slices[i].n, MAFAT_QUAD) * (size_t)m.taps * p.width;
  }
  finish_real(n, layer, &p, filters);
}

void mafat_pack_integers(const struct mafat_network *n, int layer,
                         const struct mafat_pack_part *part, struct mafat_block_slice *block_slices,
                         struct mafat_packed_panels panels)
{
  const struct mafat_layer *l = &n->layers[layer];
  enum mafat_order order = (enum mafat_order)part->constant->order;
  bool filters = mafat_order_has_filters(order);
  struct mafat_span all = filters ? part->filters : mafat_span(0, l->out.c);
  for (int f = all.begin; f < all.end;) {
    struct integer_panel p = find_panel(l, panels, f);
    int end = mafat_min(p.end, all.end);
    if (filters ? f == p.first : part->rows.begin == 0) memset(p.weights, 0, p.bytes);
    if (filters) pack_filters(l, part, block_slices, &p, mafat_span(f, end));
    else pack_rows(l, part, block_slices, &p);
    if (filters ? end == p.end : part->rows.end == mafat_order_rows(l, order))
      finish(n, layer, part, block_slices, &p);
    f = end;
  }
}

/* ---- checks of packed panels ---- */

/* bounds of shifts and multipliers (network/quantization.h) */
enum { LEAST_SHIFT = -31, MOST_SHIFT = 30, LEAST_MULTIPLIER = 1 << 30 };

static float float_of(int32_t bits)
{
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Checks a float factor of a layer with ONNX's rounding rule, which is stored as bits in place of a
 * multiplier or shift: it must not be NaN. */
static struct mafat_integer_fault find_factor_fault(int32_t bits)
{
  const struct mafat_integer_fault none = {0}, fault = {"factor", 0, (double)float_of(bits)};
  return isnan(float_of(bits)) ? fault : none;
}

static struct mafat_integer_fault find_multiplier_fault(int32_t multiplier)
{
  const struct mafat_integer_fault none = {0}, fault = {"multiplier", 0, (double)multiplier};
  return multiplier == 0 || multiplier >= LEAST_MULTIPLIER || multiplier <= -LEAST_MULTIPLIER
             ? none
             : fault;
}

static struct mafat_integer_fault find_shift_fault(int32_t both)
{
  int zero = mafat_zero_beside_shift(both), shift = (int16_t)(uint16_t)((uint32_t)both & 0xffff);
  if (zero < INT8_MIN || zero > INT8_MAX)
    return (struct mafat_integer_fault){"zero point of weights", 0, zero};
  if (shift < LEAST_SHIFT || shift > MOST_SHIFT)
    return (struct mafat_integer_fault){"shift", 0, shift};
  return (struct mafat_integer_fault){0};
}

/* Checks the multipliers and shifts of a panel, as far as they are in `data`, which has `bytes`
 * bytes of the packed layer, from offset `into` on. at: offset of the panel's multipliers in the
 * packed layer. */
static struct mafat_integer_fault find_panel_fault(bool even, size_t at, size_t width, size_t into,
                                                   const char *data, size_t bytes)
{
  for (size_t i = 0; i < 2 * width; i++, at += sizeof(int32_t)) {
    if (at < into || at - into >= bytes) continue;
    int32_t number;
    memcpy(&number, data + (at - into), sizeof number);
    struct mafat_integer_fault fault = even        ? find_factor_fault(number)
                                       : i < width ? find_multiplier_fault(number)
                                                   : find_shift_fault(number);
    fault.filter = (int)(i % width);
    if (fault.what) return fault;
  }
  return (struct mafat_integer_fault){0};
}

/* A part of a packed layer: `data` has `bytes` bytes from offset `into` on. */
struct window {
  size_t into, bytes;
  const char *data;
};

/* Checks that the weights are 0 that fill up the last quad of a block slice; `rest` inputs are in
 * that quad. The block slice begins at offset `at` and has n_quads quads for each tap. */
static struct mafat_integer_fault find_filling_fault(struct window w, size_t at, size_t width,
                                                     size_t taps, size_t n_quads, size_t rest)
{
  for (size_t t = 0; t < taps; t++) {
    at += n_quads * width * MAFAT_QUAD;
    const size_t last = at - width * MAFAT_QUAD; /* offset of the last quads of the tap */
    if (at <= w.into || last >= w.into + w.bytes) continue;
    for (size_t i = 0; i < width * MAFAT_QUAD; i++) {
      size_t byte = last + i;
      if (i % MAFAT_QUAD < rest || byte < w.into || byte - w.into >= w.bytes) continue;
      signed char weight = (signed char)w.data[byte - w.into];
      if (weight)
        return (struct mafat_integer_fault){"padding weight", (int)(i / MAFAT_QUAD), weight};
    }
  }
  return (struct mafat_integer_fault){0};
}

/* Calls find_filling_fault for the block slices of the panel that begins with filter `first`, at
 * offset `at`. */
static struct mafat_integer_fault find_weights_fault(const struct mafat_layer *l, int first,
                                                     size_t at, size_t width, struct window w)
{
  enum { SOME = 64 };
  struct mafat_block_slice block_slices[SOME];
  struct mafat_matrix m = mafat_layer_matrix(l);
  struct mafat_integer_fault fault = {0};
  const int begin = first / (l->filters / l->groups) * m.inputs;
  struct mafat_span inputs = {begin, begin + m.inputs};
  while (!mafat_layer_is_depthwise(l) && !mafat_span_is_empty(inputs) && at < w.into + w.bytes) {
    int n = mafat_block_slices(mafat_layer_sources(l), inputs, block_slices, SOME);
    for (int i = 0; i < n && i < SOME; i++) {
      size_t channels = (size_t)block_slices[i].n, quads = (channels + MAFAT_QUAD - 1) / MAFAT_QUAD,
             rest = channels % MAFAT_QUAD;
      if (rest) fault = find_filling_fault(w, at, width, (size_t)m.taps, quads, rest);
      if (fault.what) return fault;
      at += (size_t)m.taps * quads * MAFAT_QUAD * width;
      inputs.begin = block_slices[i].position + block_slices[i].n;
    }
  }
  return fault;
}

struct mafat_integer_fault mafat_pack_integers_find_fault(const struct mafat_layer *l, size_t into,
                                                          const char *data, size_t bytes)
{
  const bool even = l->quantization.rounding == MAFAT_REQUANTIZE_EVEN;
  size_t at = 0;
  for (int first = 0, end; first < l->out.c && at < into + bytes; first = end) {
    end = mafat_panel_end(l, first);
    size_t width = (size_t)mafat_panel_width(end - first),
           multipliers = at + mafat_quads_taps(l, first) * width + width * sizeof(int32_t);
    const size_t begin = at;
    at = multipliers + 2 * width * sizeof(int32_t);
    if (at <= into) continue;
    struct mafat_integer_fault fault =
        find_weights_fault(l, first, begin, width, (struct window){into, bytes, data});
    if (!fault.what && multipliers < into + bytes)
      fault = find_panel_fault(even, multipliers, width, into, data, bytes);
    fault.filter += first;
    if (fault.what) return fault;
  }
  return (struct mafat_integer_fault){0};
}
