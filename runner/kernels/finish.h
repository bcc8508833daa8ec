/* The end of a sum: y = activation(sum * scale + bias), for one vector of
 * filters. Included by kernel sources only. */
#ifndef MAFAT_RUNNER_KERNELS_FINISH_H
#define MAFAT_RUNNER_KERNELS_FINISH_H

#include "runner/kernels/activation.h"
#include "runner/kernels/vector.h"

#include <float.h>

/* Activates n vectors: the usual ones in registers, the others through memory
 * and out of line, for seventeen of them in every tile would be 300 KB of code. */
static __attribute__((noinline)) void activate_floats(float *x, int n, enum mafat_activation a)
{
  activate_array(x, (size_t)n, a);
}

INLINE bool is_usual(enum mafat_activation a)
{
  return a == MAFAT_LINEAR || a == MAFAT_LEAKY || a == MAFAT_RELU;
}

INLINE void activate_usual(vec *y, const int n, enum mafat_activation a)
{
  if (a == MAFAT_LEAKY) {
#pragma GCC unroll 16
    for (int i = 0; i < n; i++) y[i] = vec_larger(y[i], vec_mul(y[i], vec_all(0.1f)));
  } else if (a == MAFAT_RELU) {
#pragma GCC unroll 16
    for (int i = 0; i < n; i++) y[i] = vec_max(y[i], vec_all(0.0f));
  }
}

INLINE void activate_vectors(vec *y, const int n, enum mafat_activation a)
{
  if (is_usual(a)) {
    activate_usual(y, n, a);
    return;
  }
  float floats[16 * VECTOR_LANES];
#pragma GCC unroll 16
  for (int i = 0; i < n; i++) vec_store(floats + i * VECTOR_LANES, y[i]);
  activate_floats(floats, n * VECTOR_LANES, a);
#pragma GCC unroll 16
  for (int i = 0; i < n; i++) y[i] = vec_load(floats + i * VECTOR_LANES);
}

/* The largest of up to 2 x 2 outputs, in the order of maxpool: row by row, from
 * -FLT_MAX. */
INLINE vec pool_vector(vec most, vec next)
{
  return vec_max(next, most);
}

#endif
