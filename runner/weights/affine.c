#include "runner/weights/affine.h"

#include "runner/weights/pack.h"

enum mafat_epsilon mafat_affine_epsilon(const struct mafat_network *n)
{
  return n->fork == MAFAT_FORK_ALEXEYAB ? MAFAT_EPSILON_IN_ROOT : MAFAT_EPSILON_BESIDE_ROOT;
}

static double deviation(double variance, enum mafat_epsilon epsilon)
{
  if (epsilon == MAFAT_EPSILON_IN_ROOT) return __builtin_sqrt(variance + .00001);
  return __builtin_sqrt(variance) + .000001;
}

/* In double precision: a small deviation makes large factors. */
struct mafat_affine mafat_affine_fold(const struct mafat_normalization *from, enum mafat_epsilon epsilon)
{
  double factor = (double)from->scale / deviation((double)from->variance, epsilon);
  return (struct mafat_affine){(float)factor, (float)((double)from->bias - (double)from->mean * factor)};
}

bool mafat_affine_take(enum mafat_fetch_kind kind, const float *values, size_t n, enum mafat_epsilon epsilon,
                       float *scale, float *bias)
{
  if (kind != MAFAT_FETCH_NORMALIZATION)
    for (size_t i = 0; i < n; i++) {
      scale[i] = 1;
      bias[i] = *values++;
    }
  if (kind != MAFAT_FETCH_BIASES)
    for (size_t i = 0; i < n; i++) {
      const struct mafat_normalization from = {bias[i], values[i], values[n + i], values[2 * n + i]};
      struct mafat_affine folded = mafat_affine_fold(&from, epsilon);
      scale[i] = folded.scale;
      bias[i] = folded.bias;
    }
  return mafat_pack_is_finite(scale, n) && mafat_pack_is_finite(bias, n);
}
