/* Element types of tensors and weights, and their properties. Each type is a row of dtypes.def.
 * Included by network/, runner/image, runner/kernels, search/fdt and search/motes; most other
 * folders reach it through network/quantization.h. Pure functions. */
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
  const char *array; /* NumPy's name: "<f4"; NULL: none */
  unsigned bits;     /* per element */
  uint32_t exponent; /* mask of the exponent bits: all set in infinities and NaN; 0: integers */
  bool scaled;       /* weights: rows of a panel share scales (predictor/plan/packing.h) */
  bool narrow;       /* weights: the kernels widen them to floats */
  const char *packing; /* value of pack_weights --type; NULL: weights are not packed in this type */
  enum mafat_dtype wider; /* weights: next wider type of packed weights; float32's is itself */
};

extern const struct mafat_dtype_traits mafat_dtypes[MAFAT_N_DTYPES];

/* "float32, fp16, ...": all packing names, for messages. */
extern const char mafat_dtype_packings[];

/* Finds the type with a packing name such as "fp16". False: none. */
bool mafat_dtype_find_packing(enum mafat_dtype *type, const char *packing);

static inline const char *mafat_dtype_name(enum mafat_dtype type)
{
  return mafat_dtypes[type].name;
}

/* Bytes of n contiguous elements; UINT64_MAX on overflow. */
static inline uint64_t mafat_dtype_bytes(enum mafat_dtype type, uint64_t n)
{
  uint64_t bits = mafat_dtypes[type].bits, bytes;
  return __builtin_mul_overflow(n / 8, bits, &bytes) ||
                 __builtin_add_overflow(bytes, (n % 8 * bits + 7) / 8, &bytes)
             ? UINT64_MAX
             : bytes;
}

/* Average bytes of an element: 0.5 for int4. */
static inline double mafat_dtype_size(enum mafat_dtype type)
{
  return mafat_dtypes[type].bits / 8.0;
}

#endif
