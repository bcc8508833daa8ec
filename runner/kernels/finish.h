/* Activations in the epilogue of a sum, y = activation(sum * scale + bias), for vectors of filters.
 * Included by bodies.h; called by the kernels. Touches only its arguments. */
#ifndef MAFAT_RUNNER_KERNELS_FINISH_H
#define MAFAT_RUNNER_KERNELS_FINISH_H

#include "runner/kernels/activation.h"
#include "runner/kernels/vector.h"

#include <float.h>

/* Activates n floats in memory. Not inlined: seventeen activations in every tile would be 300 KB of
 * code. */
static __attribute__((noinline)) void activate_floats(float *x, int n,
                                                      const struct mafat_activating *a)
{
  activate_array(x, (size_t)n, *a);
}

/* Converts activations with fixed constants to activations with parameters, so that tiles have to
 * handle few kinds. */
static __attribute__((noinline)) struct mafat_activating general_activation(
    struct mafat_activating a)
{
  switch (a.kind) {
  case MAFAT_LEAKY: return (struct mafat_activating){MAFAT_SLOPED, 0.1f, 0};
  case MAFAT_RELU: return (struct mafat_activating){MAFAT_CLIP, 0.0f, __builtin_inff()};
  case MAFAT_RELU6: return (struct mafat_activating){MAFAT_CLIP, 0.0f, 6.0f};
  default: return a;
  }
}

/* True for activations that tiles compute in registers; `a` was returned by general_activation. */
INLINE bool is_usual(const struct mafat_activating *a)
{
  return a->kind == MAFAT_LINEAR || a->kind == MAFAT_SLOPED || a->kind == MAFAT_CLIP;
}

INLINE void activate_usual(vec *y, const int n, const struct mafat_activating *a)
{
  if (a->kind == MAFAT_SLOPED) {
    const vec slope = vec_all(a->a);
#pragma GCC unroll 20
    for (int i = 0; i < n; i++) y[i] = vec_larger(y[i], vec_mul(y[i], slope));
  } else if (a->kind == MAFAT_CLIP) {
    const vec least = vec_all(a->a), most = vec_all(a->b);
#pragma GCC unroll 20
    for (int i = 0; i < n; i++) y[i] = vec_min(vec_max(y[i], least), most);
  }
}

INLINE void activate_vectors(vec *y, const int n, const struct mafat_activating *a)
{
  if (is_usual(a)) {
    activate_usual(y, n, a);
    return;
  }
  float floats[20 * VECTOR_LANES];
#pragma GCC unroll 20
  for (int i = 0; i < n; i++) vec_store(floats + i * VECTOR_LANES, y[i]);
  activate_floats(floats, n * VECTOR_LANES, a);
#pragma GCC unroll 20
  for (int i = 0; i < n; i++) y[i] = vec_load(floats + i * VECTOR_LANES);
}

/* Returns the larger of `next` and `most`, the maximum of the values before it. The result has the
 * same bits as that of maxpool if the first `most` is -FLT_MAX and values are taken row by row. */
INLINE vec pool_vector(vec most, vec next)
{
  return vec_max(next, most);
}

#endif
