/* Operators that compute: each becomes a layer, or part of the one before it, where nobody else reads that. `out` is a
 * value that is cleared; `in` stays as it is. What they put out has dimensions of the caller's. */
#ifndef MAFAT_FORMATS_GRAPH_COMPUTE_H
#define MAFAT_FORMATS_GRAPH_COMPUTE_H

#include "formats/graph/places.h"

/* Of which axes an operator's output has its dimensions, in order; the first one of four is the batch of 1. */
struct mafat_graph_dims {
  int n;
  int axes[MAFAT_VIEW_DIMS]; /* -1: a dimension of 1 */
};

struct mafat_graph_conv {
  struct mafat_window window;
  int groups, filters;
  const struct mafat_value *weights, *bias; /* bias: NULL: none */
  enum mafat_order order;                   /* that the weights' dimensions have, row-major */
  bool flipped;
  bool single; /* of whole numbers: quantization.h */
};

/* The layer's output, its dimensions on these axes. */
int mafat_graph_output_on(struct mafat_graph *g, struct mafat_value *out, const struct mafat_layer *l,
                          const struct mafat_graph_dims *dims);
/* `in` is a map with its channels, rows and columns each on one axis (mafat_graph_lay). */
int mafat_graph_convolve(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                         const struct mafat_graph_conv *conv, const struct mafat_graph_dims *dims);
/* A layer with one operand: its parameters are the caller's to set between these two. */
struct mafat_layer *mafat_graph_begin(struct mafat_graph *g, enum mafat_layer_type type, const struct mafat_value *in);

/* For each channel: (x - mean) / sqrt(variance + epsilon) * scale + bias. What is NULL is left out; constants have as
 * many numbers as there are channels, or one. */
struct mafat_graph_affine {
  const struct mafat_value *means, *variances, *scales, *biases;
  float epsilon;
};
int mafat_graph_normalize(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                          const struct mafat_graph_affine *affine);

/* Of every element. */
int mafat_graph_activate(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                         struct mafat_activating activation);

/* The same elements of that type, or at that scale; rounding: of whole numbers that come to others. */
int mafat_graph_quantize(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                         struct mafat_meaning to, enum mafat_requantizing rounding);
/* The same numbers, which mean something else from here on. */
int mafat_graph_rename_numbers(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                               struct mafat_meaning to);
/* Of a map of whole numbers: kept between two reals. */
int mafat_graph_clamp(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in, float least,
                      float most);

/* Of two values, whose dimensions of 1 stand for all of the other's; those that one lacks, in front, are 1. */
enum mafat_graph_binary {
  MAFAT_GRAPH_ADD,
  MAFAT_GRAPH_SUB,
  MAFAT_GRAPH_MUL,
  MAFAT_GRAPH_DIV,
  MAFAT_GRAPH_MAX,
  MAFAT_GRAPH_MIN,
  MAFAT_GRAPH_POW,
  MAFAT_GRAPH_PRELU
};
int mafat_graph_combine(struct mafat_graph *g, struct mafat_value *out, enum mafat_graph_binary op,
                        const struct mafat_value *a, const struct mafat_value *b);
/* The same of a value and a number. */
int mafat_graph_combine_number(struct mafat_graph *g, struct mafat_value *out, enum mafat_graph_binary op,
                               const struct mafat_value *a, double b);

#endif
