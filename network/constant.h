/* Where a network's numbers lie in the user's file, and how. The reader of a format fills this
 * in; it reads none of them. */
#ifndef MAFAT_NETWORK_CONSTANT_H
#define MAFAT_NETWORK_CONSTANT_H

#include "network/network.h"

/* What a number is, little-endian. Known to files by name. */
enum mafat_dtype { MAFAT_F32, MAFAT_N_DTYPES };

/* How a layer's numbers follow each other. Known to files by name. */
enum mafat_order {
  MAFAT_ORDER_FILTERS, /* filter by filter: (filters, inputs, taps) */
  MAFAT_ORDER_INPUTS,  /* input by input: (inputs, filters) */
  MAFAT_ORDER_READY,   /* as the kernels take them (predictor/packing.h), with scales and biases */
  MAFAT_N_ORDERS
};

struct mafat_constant {
  uint64_t at; /* byte of the file */
  uint64_t n;  /* numbers; 0: there is none */
  unsigned char file, type, order; /* file: 0, the model's one; enum mafat_dtype; enum mafat_order */
};

/* What a layer has. */
struct mafat_layer_constants {
  struct mafat_constant biases;
  struct mafat_constant normalization; /* all scales, then all means, then all variances */
  struct mafat_constant weights;
};

struct mafat_constants {
  int n_layers;
  struct mafat_layer_constants layers[];
};

/* None of any layer yet; NULL: out of memory. The caller's to free. */
struct mafat_constants *mafat_constants_make(int n_layers);

const char *mafat_dtype_name(enum mafat_dtype type);
size_t mafat_dtype_bytes(enum mafat_dtype type);
const char *mafat_order_name(enum mafat_order order);

static inline uint64_t mafat_constant_end(const struct mafat_constant *c)
{
  return c->at + c->n * mafat_dtype_bytes((enum mafat_dtype)c->type);
}

#endif
