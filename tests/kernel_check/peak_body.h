/* A peak loop on a level's vectors. The including file (peak_avx2.c and the like) defines
 * LEVEL_VECTOR, PEAK_FUNCTION and ACCUMULATORS, the number of independent sums: at least the
 * latency in cycles times the multiply-add units, and at most the number of free registers. */
#include "tests/kernel_check/peak.h"

#include "runner/kernels/vector.h"

#ifdef VECTOR_BY_LANE
#define PEAK_ACCUMULATE(SUM, A, B) vec_accumulate_lane(SUM, A, B, 0)
#else
#define PEAK_ACCUMULATE(SUM, A, B) vec_accumulate(SUM, A, B)
#endif

double PEAK_FUNCTION(float *start, long loops)
{
  vec sum[ACCUMULATORS], x = vec_load(start), w = vec_load(start + VECTOR_LANES);
#pragma GCC unroll 32
  for (int i = 0; i < ACCUMULATORS; i++) sum[i] = vec_load(start + (i + 2) * VECTOR_LANES);
  for (long l = 0; l < loops; l++) {
#pragma GCC unroll 32
    for (int i = 0; i < ACCUMULATORS; i++) PEAK_ACCUMULATE(&sum[i], x, w);
  }
#pragma GCC unroll 32
  for (int i = 0; i < ACCUMULATORS; i++) vec_store(start + (i + 2) * VECTOR_LANES, sum[i]);
  return 2.0 * (double)loops * ACCUMULATORS * VECTOR_LANES;
}
