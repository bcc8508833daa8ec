/* Types of elements: what tensors and weights consist of. Each is a row of dtypes.def; code asks
 * for a type's properties, and never which type it is. */
#ifndef MAFAT_NETWORK_DTYPE_H
#define MAFAT_NETWORK_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

enum mafat_dtype {
#define TYPE(CONSTANT, ...) MAFAT_##CONSTANT,
#include "network/dtypes.def"
  MAFAT_N_DTYPES
};

struct mafat_dtype_traits {
  const char *name;  /* unique */
  const char *array; /* as NumPy's files have it: "<f4"; NULL: they do not */
  unsigned bits;     /* of one element */
  uint32_t exponent; /* bits that infinities and NaN have all set; 0: integers */
  bool scaled;       /* weights: rows of a panel share scales (predictor/plan/packing.h) */
  bool narrow;       /* weights: what the kernels widen to floats */
  const char *packing; /* as whoever packs weights calls it; NULL: they are not packed so */
  enum mafat_dtype wider; /* of weights that are packed so: what loses less; of floats themselves */
};

extern const struct mafat_dtype_traits mafat_dtypes[MAFAT_N_DTYPES];

/* "float32, fp16, ...": how packing calls its types, for messages. */
extern const char mafat_dtype_packings[];

/* The type that packing calls so ("fp16"); false: none. */
bool mafat_dtype_find_packing(enum mafat_dtype *type, const char *packing);

static inline const char *mafat_dtype_name(enum mafat_dtype type)
{
  return mafat_dtypes[type].name;
}

/* Of n elements that lie side by side; UINT64_MAX on overflow. */
static inline uint64_t mafat_dtype_bytes(enum mafat_dtype type, uint64_t n)
{
  uint64_t bits = mafat_dtypes[type].bits, bytes;
  return __builtin_mul_overflow(n / 8, bits, &bytes) || __builtin_add_overflow(bytes, (n % 8 * bits + 7) / 8, &bytes)
             ? UINT64_MAX : bytes;
}

/* Bytes of an element, among many: half a one of int4. */
static inline double mafat_dtype_size(enum mafat_dtype type)
{
  return mafat_dtypes[type].bits / 8.0;
}

#endif
