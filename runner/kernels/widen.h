/* Kernels that widen narrow weights to floats, exactly and so with the same bits at every level.
 * Included by bodies.h; called by runner/engine/kinds/widened.c. Touches only its arguments. */
#include "base/tuning.h"
#include "network/dtype.h"

/* Calls the kernel of the level with narrower vectors if the rows are not a multiple of this
 * level's vectors. */
#ifdef LEVEL_NARROW
#define WIDEN_NARROW(TYPE) \
  if (width % VECTOR_LANES != 0) { \
    LEVEL_NARROW.widen[TYPE](from, n_rows, width, to); \
    return; \
  }
#else
#define WIDEN_NARROW(TYPE)
#endif

static void widen_halves(const void *from, int n_rows, int width, float *to)
{
  WIDEN_NARROW(MAFAT_F16)
  const uint16_t *at = from;
  const size_t n = (size_t)n_rows * (size_t)width;
  for (size_t i = 0; i < n; i += VECTOR_LANES) vec_store(to + i, vec_load_halves(at + i));
}

static void widen_bytes(const void *from, int n_rows, int width, float *to)
{
  WIDEN_NARROW(MAFAT_I8)
  const int8_t *at = from;
  const size_t n = (size_t)n_rows * (size_t)width;
  for (size_t i = 0; i < n; i += VECTOR_LANES) vec_store(to + i, vec_load_bytes(at + i));
}

static void widen_nibbles(const void *from, int n_rows, int width, float *to)
{
  WIDEN_NARROW(MAFAT_I4)
  const uint8_t *at = from;
  const size_t row_bytes = (size_t)width / 2;
  for (int row = 0, n; row < n_rows; row += n) {
    n = mafat_min(MAFAT_SCALED_ROWS, n_rows - row);
    const uint16_t *scales = (const uint16_t *)(const void *)(at + (size_t)n * row_bytes);
    for (int v = 0; v < width; v += VECTOR_LANES) {
      const vec scale = vec_load_halves(scales + v);
      for (int r = 0; r < n; r++)
        vec_store(to + (size_t)r * (size_t)width + v,
                  vec_mul(vec_load_nibbles(at + (size_t)r * row_bytes + v / 2), scale));
    }
    at = (const uint8_t *)(scales + width);
    to += (size_t)n * (size_t)width;
  }
}

#undef WIDEN_NARROW
