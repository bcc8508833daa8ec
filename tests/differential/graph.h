/* Random graphs of floats that ONNX and TFLite can both say, number by number the same on every machine: maps of rows, columns and
 * channels, and nodes that read one or two of them. Written as a file of either format. */
#ifndef MAFAT_TESTS_DIFFERENTIAL_GRAPH_H
#define MAFAT_TESTS_DIFFERENTIAL_GRAPH_H

#include "tests/support/random.h"

enum graph_kind {
  GRAPH_INPUT,
  GRAPH_CONV, GRAPH_DEPTHWISE, GRAPH_GROUPED, GRAPH_TRANSPOSED, /* windows with weights */
  GRAPH_MAX_POOL, GRAPH_MEAN_POOL, GRAPH_GLOBAL_MEAN,
  GRAPH_ADD, GRAPH_SUB, GRAPH_MUL, GRAPH_MAX, GRAPH_MIN,         /* of two maps; the second may be a pixel */
  GRAPH_ADD_CONSTANT, GRAPH_SUB_FROM_CONSTANT, GRAPH_MUL_CONSTANT, GRAPH_DIV_CONSTANT, GRAPH_PRELU, GRAPH_BATCH_NORM, /* one for each channel */
  GRAPH_RELU, GRAPH_RELU6, GRAPH_LOGISTIC, GRAPH_TANH, GRAPH_LEAKY, GRAPH_ELU, GRAPH_HARD_SWISH, GRAPH_ABS, GRAPH_NEG, GRAPH_SQUARE, GRAPH_EXP,
  GRAPH_ERF, GRAPH_SOFTPLUS, GRAPH_SQRT,
  GRAPH_CONCAT_CHANNELS, GRAPH_CONCAT_ROWS, GRAPH_PAD, GRAPH_MIRROR, GRAPH_NEAREST, GRAPH_BILINEAR, GRAPH_SLICE, GRAPH_STRIDED, GRAPH_SWAP,
  GRAPH_SPACE_TO_DEPTH, GRAPH_DEPTH_TO_SPACE,
  GRAPH_SOFTMAX, GRAPH_MEAN_CHANNELS, GRAPH_SUM_ROWS, GRAPH_MAX_COLUMNS,
  GRAPH_DENSE, /* the last one */
  GRAPH_KINDS
};

struct graph_map {
  int h, w, c;
};

struct graph_node {
  enum graph_kind kind;
  int a, b; /* the nodes that it reads */
  struct graph_map out;
  int kernel[2], stride[2], dilation[2]; /* down, across */
  bool same;                             /* padding: as much as an output of the input's size asks for; else none */
  int begin[3], size[3], end[3];         /* of slices; padding before and behind */
  int readers;
};

enum { GRAPH_NODES = 16 };

struct graph {
  uint64_t number;
  struct graph_node nodes[GRAPH_NODES];
  int n;
  bool for_tflite; /* else ONNX, which has some kinds more */
};

/* Random numbers that follow from one. */
struct test_rng graph_random(uint64_t number);

struct graph graph_make(uint64_t number, bool for_tflite);
/* Nodes that nobody reads are outputs. */
bool graph_is_output(const struct graph *g, int node);
/* Number i of the constants of a node, between -1 and 1. */
struct test_rng graph_constants(const struct graph *g, int node);
float graph_constant(struct test_rng *rng);
/* Rows or columns of padding before and behind, of a window that is as it is. */
void graph_padding(const struct graph *g, int node, int axis, int *before, int *behind);
/* A short text, node by node. */
void graph_print(const struct graph *g);

/* The file in memory, to be freed. */
char *graph_write_onnx(const struct graph *g, size_t *n);
char *graph_write_tflite(const struct graph *g, size_t *n);

#endif
