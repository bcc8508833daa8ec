/* Converts panels of float weights to float16, int8 or int4, and back. Called by
 * runner/weights/packer.c. Touches only its arguments. */
#include "runner/weights/narrow.h"

#include "base/half.h"

#include <math.h>
#include <string.h>

/* ---- float16 ---- */

static uint32_t bits_of(float x)
{
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

uint16_t mafat_narrow_half(float x)
{
  uint32_t bits = bits_of(x), sign = bits >> 16 & 0x8000u;
  bits &= 0x7fffffffu;
  /* from 2^-14 on, halves are normal; the exponent biases of float and half differ by 112 */
  if (bits >= 0x38800000u)
    return (uint16_t)(sign | (bits - (112u << 23) + 0xfffu + (bits >> 13 & 1u)) >> 13);
  float size;
  memcpy(&size, &bits, sizeof size);
  /* subnormal halves are multiples of 2^-24, as are floats in [1/2, 1) */
  return (uint16_t)(sign | (bits_of(size + 0.5f) - bits_of(0.5f)));
}

/* ---- one filter ---- */

/* A filter's weights in a panel of floats, one in each row; rows are `width` floats apart. */
struct narrow_filter {
  const float *from;
  size_t width, rows;
  int lane;
  float most;  /* largest magnitude of a weight */
  float scale; /* scale of the filter's sums before conversion */
  double carry; /* sum of the rounding errors of the weights converted so far */
  double lift; /* power of two that brings the largest magnitude into [1, 2) */
};

static float weight_at(const struct narrow_filter *f, size_t row)
{
  return f->from[row * f->width];
}

static float largest(const struct narrow_filter *f)
{
  float most = 0;
  for (size_t r = 0; r < f->rows; r++) most = fmaxf(most, fabsf(weight_at(f, r)));
  return most;
}

static float lifted(const struct narrow_filter *f, size_t row)
{
  return (float)((double)weight_at(f, row) * f->lift);
}

/* Returns the value to be rounded: the weight plus the accumulated error. Zeros stay zero. */
static double due(const struct narrow_filter *f, double weight)
{
  return weight == 0 ? 0 : weight + f->carry;
}

/* Adds the error of rounding a weight to `paid` to the accumulated error. */
static void pay(struct narrow_filter *f, double weight, double paid)
{
  if (weight != 0) f->carry += weight - paid;
}

/* ---- types ---- */

static bool narrow_halves(const struct mafat_layer *l, struct narrow_filter *f, char *to,
                          float *scale)
{
  (void)l;
  *scale = (float)((double)f->scale / f->lift);
  for (size_t r = 0; r < f->rows; r++) {
    double weight = (double)lifted(f, r);
    uint16_t half = mafat_narrow_half((float)due(f, weight));
    pay(f, weight, (double)mafat_half_value(half));
    memcpy(to + (r * f->width + (size_t)f->lane) * sizeof half, &half, sizeof half);
  }
  return isfinite(*scale);
}

static bool narrow_bytes(const struct mafat_layer *l, struct narrow_filter *f, char *to,
                         float *scale)
{
  (void)l;
  double step = f->most > 0 ? (double)f->most / 127 : 1;
  *scale = (float)((double)f->scale * step);
  for (size_t r = 0; r < f->rows; r++) {
    double weight = (double)weight_at(f, r) / step;
    int8_t number = (int8_t)fmax(-127, fmin(127, rint(due(f, weight))));
    pay(f, weight, number);
    memcpy(to + r * f->width + (size_t)f->lane, &number, sizeof number);
  }
  return isfinite(*scale);
}

static int nibble_of(float weight, float step)
{
  if (step == 0) return 0;
  return (int)fmaxf(-7, fminf(7, rintf(weight / step)));
}

/* Chooses the step (scale) of a group of n rows, as bits of a float16, by least squared error.
 * Weights of more than seven steps are clamped. */
static uint16_t choose_step(const struct narrow_filter *f, size_t first, size_t n)
{
  enum { TRIED = 12 };
  float most = 0;
  for (size_t r = first; r < first + n; r++) most = fmaxf(most, fabsf(lifted(f, r)));
  uint16_t best = mafat_narrow_half(most / 7);
  double least = INFINITY;
  for (int t = 0; t < TRIED; t++) {
    uint16_t half = mafat_narrow_half(most / 7 * (1 - (float)t / 32));
    float step = mafat_half_value(half);
    double errors = 0;
    for (size_t r = first; r < first + n; r++) {
      float weight = lifted(f, r), difference = (float)nibble_of(weight, step) * step - weight;
      errors += (double)difference * (double)difference;
    }
    if (errors < least) best = half;
    if (errors < least) least = errors;
  }
  return best;
}

/* Converts the filter's rows [first, first + n), which share a step, to 4-bit numbers at `to`.
 * After the numbers of all filters, stores the step. */
static void narrow_group(const struct narrow_filter *f, size_t first, size_t n, char *to)
{
  uint16_t half = choose_step(f, first, n);
  float step = mafat_half_value(half);
  for (size_t r = 0; r < n; r++) {
    int number = nibble_of(lifted(f, first + r), step);
    char *at = to + (r * f->width + (size_t)f->lane) / 2;
    *at = (char)(f->lane % 2 ? (*at & 15) | (number & 15) << 4 : (*at & 0xf0) | (number & 15));
  }
  memcpy(to + n * f->width / 2 + (size_t)f->lane * sizeof half, &half, sizeof half);
}

static bool narrow_nibbles(const struct mafat_layer *l, struct narrow_filter *f, char *to,
                           float *scale)
{
  struct mafat_matrix m = mafat_layer_matrix(l);
  *scale = (float)((double)f->scale / f->lift);
  for (int c = 0, end; c < m.inputs; c = end) {
    end = mafat_block_slice_end(l, c);
    size_t first = (size_t)c * (size_t)m.taps, after = (size_t)end * (size_t)m.taps;
    char *at = to + mafat_panel_offset(l, f->width, c);
    for (size_t n; first < after; first += n) {
      n = after - first < MAFAT_SCALED_ROWS ? after - first : MAFAT_SCALED_ROWS;
      narrow_group(f, first, n, at);
      at += n * f->width / 2 + f->width * sizeof(uint16_t);
    }
  }
  return isfinite(*scale);
}

/* ---- panels ---- */

static void widen_halves(const char *from, size_t n, float *to)
{
  for (size_t i = 0; i < n; i++) {
    uint16_t half;
    memcpy(&half, from + i * sizeof half, sizeof half);
    to[i] = mafat_half_value(half);
  }
}

static void widen_bytes(const char *from, size_t n, float *to)
{
  for (size_t i = 0; i < n; i++) to[i] = (float)(signed char)from[i];
}

/* For each type: `widen` converts n weights to floats, and `narrow` converts one filter of a panel
 * and sets *scale to the scale of its sums. `narrow` returns false if the scale is too large for a
 * float. NULL: not used for this type. */
static const struct {
  void (*widen)(const char *from, size_t n, float *to);
  bool (*narrow)(const struct mafat_layer *l, struct narrow_filter *f, char *to, float *scale);
} types[MAFAT_N_DTYPES] = {
#define TYPE(CONSTANT, name, array, bits, exponent, weights) [MAFAT_##CONSTANT] = {weights},
#define FLOATS NULL, NULL
#define NONE NULL, NULL
#define NARROW(packing, WIDER, elements) widen_##elements, narrow_##elements
#define SCALED(packing, WIDER, elements) NULL, narrow_##elements
#include "network/dtypes.def"
};

void mafat_widen_panel(const struct mafat_layer *l, int width, const char *from, float *to)
{
  struct mafat_matrix m = mafat_layer_matrix(l);
  size_t lanes = (size_t)width, n = (size_t)m.inputs * (size_t)m.taps * lanes;
  types[l->weights_type].widen(from, n, to);
  memcpy(to + n, from + mafat_panel_offset(l, lanes, m.inputs), mafat_panel_affine_bytes(lanes));
}

bool mafat_narrow_panel(const struct mafat_layer *l, int width, const float *from, char *to)
{
  struct mafat_matrix m = mafat_layer_matrix(l);
  size_t rows = (size_t)m.inputs * (size_t)m.taps, lanes = (size_t)width;
  const float *scales = from + rows * lanes;
  float *affine = (float *)(void *)(to + mafat_panel_offset(l, lanes, m.inputs));
  bool good = true;
  for (int lane = 0; lane < width; lane++) {
    struct narrow_filter f = {
        .from = from + lane, .width = lanes, .rows = rows, .lane = lane, .scale = scales[lane]};
    f.most = largest(&f);
    f.lift = f.most > 0 ? ldexp(1, -ilogbf(f.most)) : 1;
    float scale = 0;
    good = types[l->weights_type].narrow(l, &f, to, &scale) && good;
    affine[lane] = scale;
  }
  memcpy(affine + lanes, scales + lanes, lanes * sizeof *affine);
  return good;
}
