/* Transposes pixels for operations across channels, so that the compiler vectorizes them over
 * pixels. Each pixel of a group becomes a lane: scratch has channel 0 of all lanes, then channel 1
 * of all lanes, and so on. Results do not depend on the number of lanes. Reads and writes the
 * step's tensors and the worker's scratch, in the arena; allocates nothing. Included by lanes.c,
 * normalize.c and reduce.c. */
#ifndef MAFAT_RUNNER_ENGINE_KINDS_LANES_H
#define MAFAT_RUNNER_ENGINE_KINDS_LANES_H

#include "runner/engine/kinds/kind.h"

#include <stdint.h>
#include <string.h>

/* Declares a function that has the number of lanes as an argument. Callers pass a constant, 16 or
 * 1, so that the inlined copy has loops of constant length. */
#define MAFAT_LANES_INLINE static inline __attribute__((always_inline))

/* A unit of work: some columns of one row of the step's output. */
struct mafat_lanes_unit {
  int y;
  struct mafat_span cols;
};

/* Gets the worker's next unit; false: no unit is left. */
bool mafat_lanes_take(const struct mafat_worker *w, const struct mafat_step *step,
                      struct mafat_lanes_unit *unit);

/* Returns the worker's memory, which has channel c of lane i at [c * scratch->lanes + i]. */
static inline float *mafat_lanes_memory(const struct mafat_worker *w)
{
  return (float *)(w->slot_memory + w->scratch->pixel_offset);
}

/* Transposes n pixels of a layer's input, from (y, x) on, to the worker's memory. Lanes n and above
 * repeat the last pixel. */
void mafat_lanes_read(const struct mafat_worker *w, const struct mafat_layer *l, int y, int x,
                      int n);
/* Transposes the worker's memory to n pixels of a layer's output, from (y, x) on. */
void mafat_lanes_write(const struct mafat_worker *w, int layer, int y, int x, int n);

/* Returns e^x for -87 <= x <= 0, within 2 ulp, by the method of kernels/activation.h. Products are
 * rounded before additions (no fused multiply-add), at every kernel level. */
static inline float mafat_lanes_exponential(float x)
{
  float shifted = x * 1.44269504f + 12582912.0f; /* 1.5 * 2^23: rounds to the nearest integer */
  float n = shifted - 12582912.0f;
  float r = x - n * 0.693359375f + n * 2.12194440e-4f;
  float p = 1.98412698e-4f;
  p = p * r + 1.38888889e-3f;
  p = p * r + 8.33333333e-3f;
  p = p * r + 4.16666667e-2f;
  p = p * r + 1.66666667e-1f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  uint32_t bits;
  memcpy(&bits, &shifted, sizeof bits);
  bits = (bits << 23) + (127u << 23);
  float power;
  memcpy(&power, &bits, sizeof power);
  return p * power;
}

/* Sets e to e^x for each lane's x <= 0. Subtracts e^-87, so that results for x <= -87 are 0; this
 * changes no result above about e^-70. There are two loops, because a branch would prevent
 * vectorization. */
MAFAT_LANES_INLINE void mafat_lanes_exponentials(const float *x, float *e, int lanes)
{
  for (int i = 0; i < lanes; i++) e[i] = x[i] < -87.0f ? -87.0f : x[i];
  for (int i = 0; i < lanes; i++)
    e[i] = mafat_lanes_exponential(e[i]) - mafat_lanes_exponential(-87.0f);
}

#endif
