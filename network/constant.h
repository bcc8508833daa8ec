/* Where a network's numbers lie in the user's file, and how. The reader of a format fills this
 * in; it reads none of them. */
#ifndef MAFAT_NETWORK_CONSTANT_H
#define MAFAT_NETWORK_CONSTANT_H

#include "network/dtype.h"

#include <stdbool.h>
#include <string.h>

/* How a layer's numbers follow each other: in a filter's group, its inputs, and the window's taps, row by row; a
 * connected layer has one tap. Known to files by name. */
enum mafat_order {
  MAFAT_ORDER_FILTERS, /* filter by filter: (filters, inputs, taps) */
  MAFAT_ORDER_INPUTS,  /* input by input: (inputs, taps, filters) */
  MAFAT_ORDER_READY,   /* as the kernels take them (predictor/plan/packing.h), with scales and biases */
  MAFAT_ORDER_FILTERS_TAPS, /* (filters, taps, inputs): filters whose channels lie side by side */
  MAFAT_ORDER_TAPS,         /* (taps, inputs, filters); of depthwise convolutions (taps, filters) */
  MAFAT_ORDER_TRANSPOSED,   /* (inputs of all groups, filters of a group, taps): a transposed convolution's */
  MAFAT_N_ORDERS
};

/* Instead of a file: */
enum {
  MAFAT_CONSTANT_VALUES = 0xffe, /* among the network's values: byte `at` of them */
  MAFAT_CONSTANT_FILL = 0xfff    /* n times the same float: `at` has its bits */
};

/* Small, for a network has hundreds of them. */
struct mafat_constant {
  uint64_t at;          /* byte of the file, anywhere */
  uint64_t n : 40;      /* numbers; 0: there is none */
  uint64_t file : 12;   /* 0: the model's one; f: the network's files[f - 1]; or one of the above */
  uint64_t type : 5;    /* enum mafat_dtype, little-endian */
  uint64_t order : 6;   /* enum mafat_order */
  uint64_t flipped : 1; /* the last tap comes first */
};

/* A normalization whose numbers lie apart: for each filter
 *     y = (sum + offset - mean) / sqrt(variance + epsilon) * scale + bias.
 * There are as many as filters, or one for all of them; what there is none of is 0, or, of variances
 * (with their epsilon) and scales, 1. */
struct mafat_normalization_parts {
  struct mafat_constant offsets, means, variances, scales;
  double epsilon;
};

/* What a layer has. */
struct mafat_layer_constants {
  struct mafat_constant biases; /* as many as filters, one for all of them, or none */
  struct mafat_constant normalization; /* all scales, then all means, then all variances: then there are no parts */
  struct mafat_constant weights;
  struct mafat_normalization_parts *parts; /* NULL: there are none. Owned */
};

struct mafat_constants {
  int n_layers;
  struct mafat_layer_constants layers[];
};

/* None of any layer yet; NULL: out of memory. */
struct mafat_constants *mafat_constants_make(int n_layers);
void mafat_constants_close(struct mafat_constants **constants);

/* Such a constant, of n floats, or of none. */
static inline struct mafat_constant mafat_constant_fill(float value, uint64_t n)
{
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (struct mafat_constant){.at = bits, .n = n, .file = MAFAT_CONSTANT_FILL, .type = MAFAT_F32};
}

/* Does it lie in a file? */
static inline bool mafat_constant_is_read(const struct mafat_constant *c)
{
  return c->file < MAFAT_CONSTANT_VALUES;
}

const char *mafat_order_name(enum mafat_order order);

/* ---- what a filter's scale and bias are made of ---- */

enum mafat_constant_part {
  MAFAT_PART_BIASES,
  MAFAT_PART_SCALES,
  MAFAT_PART_OFFSETS,
  MAFAT_PART_MEANS,
  MAFAT_PART_VARIANCES,
  MAFAT_N_PARTS
};

/* Of a layer whose normalization is no block; n is 0: there is none. */
const struct mafat_constant *mafat_constants_part(const struct mafat_layer_constants *c, enum mafat_constant_part part);
/* Is the layer's scale and bias made of these, rather than of a bias for each filter, or of a block? */
bool mafat_constants_in_parts(const struct mafat_layer_constants *c, uint64_t filters);

/* Parts that are read together, as bits (1 << part), and where they lie. */
struct mafat_stretch {
  unsigned parts;
  uint64_t at, bytes;
  unsigned file;
};

/* The first of the wanted parts that there is, and those that lie near it; `parts` is 0: there is none. */
struct mafat_stretch mafat_constants_stretch(const struct mafat_layer_constants *c, unsigned wanted);

/* ---- bytes ---- */

/* Of n of its numbers. */
static inline uint64_t mafat_constant_bytes(const struct mafat_constant *c, uint64_t n)
{
  return mafat_dtype_bytes((enum mafat_dtype)c->type, n);
}

/* Where number `i` lies. */
static inline uint64_t mafat_constant_at(const struct mafat_constant *c, uint64_t i)
{
  return c->file == MAFAT_CONSTANT_FILL ? c->at : c->at + mafat_constant_bytes(c, i);
}

static inline uint64_t mafat_constant_end(const struct mafat_constant *c)
{
  return c->at + mafat_constant_bytes(c, c->n);
}

#endif
