/* Folds biases and batch normalization into a scale and a bias for each filter, so that kernels
 * compute sum * scale + bias. Called by runner/weights/weights.c and packer.c when they read
 * weights. Touches only its arguments. */
#include "runner/weights/affine.h"

#include "runner/weights/pack.h"

#include <string.h>

enum mafat_epsilon mafat_affine_epsilon(const struct mafat_network *n)
{
  return n->fork == MAFAT_FORK_ALEXEYAB ? MAFAT_EPSILON_IN_ROOT : MAFAT_EPSILON_BESIDE_ROOT;
}

static double deviation(double variance, enum mafat_epsilon epsilon)
{
  if (epsilon == MAFAT_EPSILON_IN_ROOT) return __builtin_sqrt(variance + .00001);
  return __builtin_sqrt(variance) + .000001;
}

/* (sum - mean) / deviation * scale + bias is sum * factor + (bias - mean * factor), with factor =
 * scale / deviation. Computes in double precision, because a small deviation gives large
 * factors. */
struct mafat_affine mafat_affine_fold(const struct mafat_normalization *from,
                                      enum mafat_epsilon epsilon)
{
  double factor = (double)from->scale / deviation((double)from->variance, epsilon);
  return (struct mafat_affine){(float)factor,
                               (float)((double)from->bias - (double)from->mean * factor)};
}

bool mafat_affine_take(enum mafat_fetch_kind kind, const float *values, size_t n,
                       enum mafat_epsilon epsilon, float *scale, float *bias)
{
  if (kind != MAFAT_FETCH_NORMALIZATION)
    for (size_t i = 0; i < n; i++) {
      scale[i] = 1;
      bias[i] = *values++;
    }
  if (kind != MAFAT_FETCH_BIASES)
    for (size_t i = 0; i < n; i++) {
      const struct mafat_normalization from = {bias[i], values[i], values[n + i],
                                               values[2 * n + i]};
      struct mafat_affine folded = mafat_affine_fold(&from, epsilon);
      scale[i] = folded.scale;
      bias[i] = folded.bias;
    }
  return mafat_pack_is_finite(scale, n) && mafat_pack_is_finite(bias, n);
}

/* ---- constants in parts ---- */

/* Returns the row of n floats that holds a part, in `rows`. Scales and biases always have a row;
 * other parts only if the layer has them. */
static float *row_of(const struct mafat_layer_constants *c, enum mafat_constant_part part, size_t n,
                     float *rows)
{
  size_t row = part == MAFAT_PART_SCALES ? 0 : 1;
  for (int p = MAFAT_PART_OFFSETS; p <= (int)part; p++)
    row += mafat_constants_part(c, (enum mafat_constant_part)p)->n > 0;
  return rows + row * n;
}

/* Copies a part's numbers into its row of n floats. If the part has a single number, repeats it. */
static void spread(float *row, const struct mafat_constant *c, const char *numbers, size_t n)
{
  memcpy(row, numbers, (size_t)mafat_constant_bytes(c, c->n));
  for (size_t i = c->n; i < n; i++) row[i] = row[0];
}

/* Returns a part's value for filter i. If the layer does not have the part: 1 for scales, 0 for
 * others. */
static double value(const struct mafat_layer_constants *c, enum mafat_constant_part part, size_t n,
                    float *rows, size_t i)
{
  if (mafat_constants_part(c, part)->n == 0) return part == MAFAT_PART_SCALES;
  return (double)row_of(c, part, n, rows)[i];
}

/* Folds all parts into a scale and a bias for each of n filters, in the first and second row: the
 * result is (sum + offset - mean) * factor + bias, with factor = scale / sqrt(variance + epsilon).
 * Computes in double precision, for the same reason as mafat_affine_fold. */
static void fold_parts(const struct mafat_layer_constants *c, size_t n, float *rows)
{
  bool normalized = mafat_constants_part(c, MAFAT_PART_VARIANCES)->n > 0;
  for (size_t i = 0; i < n; i++) {
    double factor = value(c, MAFAT_PART_SCALES, n, rows, i);
    if (normalized)
      factor /= __builtin_sqrt(value(c, MAFAT_PART_VARIANCES, n, rows, i) + c->parts->epsilon);
    double shift =
        value(c, MAFAT_PART_OFFSETS, n, rows, i) - value(c, MAFAT_PART_MEANS, n, rows, i);
    double bias = value(c, MAFAT_PART_BIASES, n, rows, i) + shift * factor;
    rows[i] = (float)factor;
    rows[n + i] = (float)bias;
  }
}

void mafat_affine_spread_parts(const struct mafat_fetch *fetch,
                               const struct mafat_layer_constants *c, const char *data, size_t n,
                               float *rows)
{
  if (mafat_constants_part(c, MAFAT_PART_BIASES)->n == 0)
    memset(row_of(c, MAFAT_PART_BIASES, n, rows), 0, n * sizeof *rows);
  for (int p = 0; p < MAFAT_N_PARTS; p++) {
    const struct mafat_constant *part = mafat_constants_part(c, (enum mafat_constant_part)p);
    if (!(fetch->parts & (1u << p))) continue;
    size_t first = mafat_constant_is_read(part) ? (size_t)(part->at - fetch->position) : 0;
    spread(row_of(c, (enum mafat_constant_part)p, n, rows), part, data + first, n);
  }
}

bool mafat_affine_take_parts(const struct mafat_fetch *fetch, const struct mafat_layer_constants *c,
                             const char *data, size_t n, float *rows)
{
  mafat_affine_spread_parts(fetch, c, data, n, rows);
  if (!fetch->folds) return true;
  fold_parts(c, n, rows);
  return mafat_pack_is_finite(rows, 2 * n);
}
