/* Types of elements: what tensors and weights consist of. A row of the table for each; whoever
 * needs to know something about a type asks the table, and never which type it is. */
#ifndef MAFAT_NETWORK_DTYPE_H
#define MAFAT_NETWORK_DTYPE_H

#include <stddef.h>

/* The numbers are our own: files know types by their names. */
enum mafat_dtype { MAFAT_F32, MAFAT_N_DTYPES };

struct mafat_dtype_traits {
  const char *name; /* unique */
  size_t bytes;     /* of one element */
};

extern const struct mafat_dtype_traits mafat_dtypes[MAFAT_N_DTYPES];

static inline const char *mafat_dtype_name(enum mafat_dtype type)
{
  return mafat_dtypes[type].name;
}

static inline size_t mafat_dtype_bytes(enum mafat_dtype type)
{
  return mafat_dtypes[type].bytes;
}

#endif
