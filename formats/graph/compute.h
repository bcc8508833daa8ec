/* Adds layers for operators that compute elementwise or by convolution. If an operator's input has
 * no other reader, the operator may be folded into the layer that made that input.
 *
 * `out` is an empty value; `in` does not change. The caller chooses the dimensions of the
 * output.
 *
 * Included by formats/graph, formats/onnx and formats/tflite. Allocates layers in the graph. */
#ifndef MAFAT_FORMATS_GRAPH_COMPUTE_H
#define MAFAT_FORMATS_GRAPH_COMPUTE_H

#include "formats/graph/places.h"

/* Axes of an operator's output dimensions, in order. Four dimensions usually begin with the batch,
 * of size 1. */
struct mafat_graph_dims {
  int n;
  int axes[MAFAT_VIEW_DIMS]; /* -1: a dimension of size 1 */
};

struct mafat_graph_conv {
  struct mafat_window window;
  int groups, filters;
  const struct mafat_value *weights, *bias; /* bias NULL: none */
  enum mafat_order order;                   /* order of the weights' dimensions, row-major */
  bool flipped; /* the weights are stored with rows and columns reversed */
  bool single; /* integers only: see network/quantization.h */
};

/* Makes a value of the layer's output, with its dimensions on these axes. */
int mafat_graph_output_on(struct mafat_graph *g, struct mafat_value *out,
                          const struct mafat_layer *l, const struct mafat_graph_dims *dims);
/* Adds a convolution. The channels, rows and columns of `in` must each be on one axis
 * (mafat_graph_lay). */
int mafat_graph_convolve(struct mafat_graph *g, struct mafat_value *out,
                         const struct mafat_value *in, const struct mafat_graph_conv *conv,
                         const struct mafat_graph_dims *dims);
/* Adds a layer with one operand. The caller sets its parameters before mafat_graph_end_layer. NULL:
 * failed, and the diagnostic has the reason. */
struct mafat_layer *mafat_graph_begin(struct mafat_graph *g, enum mafat_layer_type type,
                                      const struct mafat_value *in);

/* Per channel: (x - mean) / sqrt(variance + epsilon) * scale + bias. NULL parts are left out.
 * Constants have one value per channel, or a single one. */
struct mafat_graph_affine {
  const struct mafat_value *means, *variances, *scales, *biases;
  float epsilon;
};
int mafat_graph_normalize(struct mafat_graph *g, struct mafat_value *out,
                          const struct mafat_value *in, const struct mafat_graph_affine *affine);

/* Applies an activation to every element. */
int mafat_graph_activate(struct mafat_graph *g, struct mafat_value *out,
                         const struct mafat_value *in, struct mafat_activating activation);

/* Converts the elements to a type and scale. `rounding` is the rule if the results are integers; it
 * does not matter if they are floats. */
int mafat_graph_quantize(struct mafat_graph *g, struct mafat_value *out,
                         const struct mafat_value *in, struct mafat_meaning to,
                         enum mafat_requantizing rounding);
/* Keeps the stored integers and changes their quantization parameters. */
int mafat_graph_rename_numbers(struct mafat_graph *g, struct mafat_value *out,
                               const struct mafat_value *in, struct mafat_meaning to);
/* Clamps a map of integers between two reals. */
int mafat_graph_clamp(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                      float least, float most);

/* Elementwise operators of two values with broadcasting: dimensions of 1 are broadcast, and missing
 * leading dimensions count as 1. */
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
/* Combines a value with a number. */
int mafat_graph_combine_number(struct mafat_graph *g, struct mafat_value *out,
                               enum mafat_graph_binary op, const struct mafat_value *a, double b);

#endif
