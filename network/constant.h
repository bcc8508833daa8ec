/* Location and storage order of a network's constants (weights, biases, normalization) in the
 * model's files. The reader of a format fills these structs in; it reads no constants itself.
 * Included by api/, formats/, network/, predictor/, programs/ and runner/. Only
 * mafat_constants_make allocates; mafat_constants_close frees. */
#ifndef MAFAT_NETWORK_CONSTANT_H
#define MAFAT_NETWORK_CONSTANT_H

#include "network/dtype.h"

#include <stdbool.h>
#include <string.h>

/* Storage order of a layer's weights, outermost dimension first. The dimensions are filters, inputs
 * of the filter's group, and taps of the window, row by row; a connected layer has one tap. Packed
 * files store an order by its name. */
enum mafat_order {
  MAFAT_ORDER_FILTERS, /* (filters, inputs, taps) */
  MAFAT_ORDER_INPUTS,  /* (inputs, taps, filters) */
  /* the kernels' layout (predictor/plan/packing.h), including scales and biases */
  MAFAT_ORDER_READY,
  MAFAT_ORDER_FILTERS_TAPS, /* (filters, taps, inputs): the channels of a tap are contiguous */
  MAFAT_ORDER_TAPS,         /* (taps, inputs, filters); depthwise convolutions: (taps, filters) */
  /* transposed convolution: (inputs of all groups, filters of a group, taps) */
  MAFAT_ORDER_TRANSPOSED,
  MAFAT_N_ORDERS
};

/* special values of mafat_constant.file */
enum {
  MAFAT_CONSTANT_VALUES = 0xffe, /* `at` is a byte offset in mafat_network.values (network.h) */
  MAFAT_CONSTANT_FILL = 0xfff    /* one float repeated n times; `at` holds its bits */
};

/* Bit fields, because a network has hundreds of constants. */
struct mafat_constant {
  uint64_t at;          /* byte offset in the file, not necessarily aligned */
  uint64_t n : 40;      /* number of elements; 0: no constant */
  /* 0: the model's own file; f: the network's files[f - 1]; or a special value above */
  uint64_t file : 12;
  uint64_t type : 5;    /* enum mafat_dtype, little-endian */
  uint64_t order : 6;   /* enum mafat_order */
  uint64_t flipped : 1; /* the taps are stored in reverse order */
};

/* A normalization whose constants are stored separately. For each filter
 *   y = (sum + offset - mean) / sqrt(variance + epsilon) * scale + bias.
 * Each constant has one value per filter or one for all. Absent offsets, means and biases are 0;
 * absent variances (with their epsilon) and scales are 1. */
struct mafat_normalization_parts {
  struct mafat_constant offsets, means, variances, scales;
  double epsilon;
};

/* The constants of one layer. */
struct mafat_layer_constants {
  struct mafat_constant biases; /* one per filter, one for all, or none */
  /* one block of all scales, all means, all variances; empty if `parts` is not NULL */
  struct mafat_constant normalization;
  struct mafat_constant weights;
  struct mafat_normalization_parts *parts; /* owned; NULL: none */
};

struct mafat_constants {
  int n_layers;
  struct mafat_layer_constants layers[];
};

/* Allocates empty constants for n_layers layers. NULL: out of memory. */
struct mafat_constants *mafat_constants_make(int n_layers);
void mafat_constants_close(struct mafat_constants **constants);

/* Returns a constant of n equal floats; n 0: no constant. */
static inline struct mafat_constant mafat_constant_fill(float value, uint64_t n)
{
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (
      struct mafat_constant){.at = bits, .n = n, .file = MAFAT_CONSTANT_FILL, .type = MAFAT_F32};
}

/* True if the constant must be read from a file. */
static inline bool mafat_constant_is_read(const struct mafat_constant *c)
{
  return c->file < MAFAT_CONSTANT_VALUES;
}

const char *mafat_order_name(enum mafat_order order);

/* ---- parts of a filter's scale and bias ---- */

enum mafat_constant_part {
  MAFAT_PART_BIASES,
  MAFAT_PART_SCALES,
  MAFAT_PART_OFFSETS,
  MAFAT_PART_MEANS,
  MAFAT_PART_VARIANCES,
  MAFAT_N_PARTS
};

/* Returns a part; its n is 0 if the layer has none. Not for layers with a block
 * (`normalization`). */
const struct mafat_constant *mafat_constants_part(const struct mafat_layer_constants *c,
                                                  enum mafat_constant_part part);
/* True if a filter's scale and bias are computed from these parts. False: they are computed from a
 * block, or each of the `filters` has one bias and no scale. */
bool mafat_constants_in_parts(const struct mafat_layer_constants *c, uint64_t filters);

/* A range of a file that holds several parts and is read at once. */
struct mafat_stretch {
  unsigned parts;     /* bits 1 << enum mafat_constant_part */
  uint64_t at, bytes;
  unsigned file;      /* as in struct mafat_constant */
};

/* Returns the range of the first wanted part, extended by wanted parts that are stored near it.
 * wanted: bits 1 << enum mafat_constant_part. The result's `parts` is 0 if none of them exists. */
struct mafat_stretch mafat_constants_stretch(const struct mafat_layer_constants *c,
                                             unsigned wanted);

/* ---- bytes ---- */

/* Returns the bytes of n elements of the constant. */
static inline uint64_t mafat_constant_bytes(const struct mafat_constant *c, uint64_t n)
{
  return mafat_dtype_bytes((enum mafat_dtype)c->type, n);
}

/* Returns the byte offset of element `i` in its file; the value's bits for a repeated value. */
static inline uint64_t mafat_constant_at(const struct mafat_constant *c, uint64_t i)
{
  return c->file == MAFAT_CONSTANT_FILL ? c->at : c->at + mafat_constant_bytes(c, i);
}

static inline uint64_t mafat_constant_end(const struct mafat_constant *c)
{
  return c->at + mafat_constant_bytes(c, c->n);
}

#endif
