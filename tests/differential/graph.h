/* Random graphs that both ONNX and TFLite can express. A number gives the same graph on every
 * machine: maps of rows, columns and channels, and nodes that read one or two of them. Written
 * as a file of either format, in floats or 8-bit integers. Included by this folder's files and
 * tests/oracle/oracle_random.c. */
#ifndef MAFAT_TESTS_DIFFERENTIAL_GRAPH_H
#define MAFAT_TESTS_DIFFERENTIAL_GRAPH_H

#include "tests/support/random.h"

enum graph_kind {
  GRAPH_INPUT,
  GRAPH_CONV,
  GRAPH_DEPTHWISE,
  GRAPH_GROUPED,
  GRAPH_TRANSPOSED, /* kinds from GRAPH_CONV to here have windows with weights */
  GRAPH_MAX_POOL, GRAPH_MEAN_POOL, GRAPH_GLOBAL_MEAN, GRAPH_ADD, GRAPH_SUB, GRAPH_MUL, GRAPH_MAX,
  GRAPH_MIN, /* kinds from GRAPH_ADD to here have two inputs, which are broadcast */
  GRAPH_ADD_CONSTANT,
  GRAPH_SUB_FROM_CONSTANT,
  GRAPH_MUL_CONSTANT,
  GRAPH_DIV_CONSTANT, /* a constant for each position along the node's `axes` */
  GRAPH_PRELU,
  GRAPH_BATCH_NORM, /* one constant per channel */
  GRAPH_RELU, GRAPH_RELU6, GRAPH_LOGISTIC, GRAPH_TANH, GRAPH_LEAKY, GRAPH_ELU, GRAPH_HARD_SWISH,
  GRAPH_ABS, GRAPH_NEG, GRAPH_SQUARE, GRAPH_EXP, GRAPH_ERF, GRAPH_SOFTPLUS, GRAPH_SQRT, GRAPH_SELU,
  GRAPH_CELU, GRAPH_HARD_SIGMOID, GRAPH_SOFTSIGN, GRAPH_SIN, GRAPH_COS, GRAPH_CLIP, GRAPH_CUBE,
  GRAPH_CONCAT, GRAPH_PAD, GRAPH_MIRROR, GRAPH_EDGE, GRAPH_NEAREST, GRAPH_LINEAR, GRAPH_CUBIC,
  GRAPH_SLICE, GRAPH_STRIDED, GRAPH_SPLIT, GRAPH_GATHER, GRAPH_TOPK, GRAPH_TRANSPOSE, GRAPH_RESHAPE,
  GRAPH_SPACE_TO_DEPTH, GRAPH_DEPTH_TO_SPACE, GRAPH_SOFTMAX, GRAPH_LOG_SOFTMAX, GRAPH_LAYER_NORM,
  GRAPH_REDUCE, GRAPH_MATMUL, GRAPH_MATMUL_CONSTANT,
  GRAPH_DENSE, /* only as the last node */
  GRAPH_SPLIT_REST,
  GRAPH_TOPK_PLACES, /* positions that the TopK node `a` found */
  GRAPH_KINDS
};

enum graph_axis { GRAPH_ROWS, GRAPH_COLUMNS, GRAPH_CHANNELS, GRAPH_AXES };

enum graph_reduction {
  GRAPH_MEAN, GRAPH_SUM, GRAPH_LARGEST, GRAPH_LEAST, /* reductions that TFLite has too */
  GRAPH_PRODUCT, GRAPH_L1, GRAPH_L2, GRAPH_SUM_OF_SQUARES, GRAPH_LOG_SUM_EXP,
  GRAPH_REDUCTIONS
};

struct graph_map {
  int h, w, c;
};

struct graph_node {
  enum graph_kind kind;
  int a, b; /* indices of the nodes that it reads; b only if graph_reads_two(kind) */
  struct graph_map out;
  int kernel[2], stride[2], dilation[2]; /* vertical, horizontal */
  bool same;  /* padding SAME; no padding if both `same` and `given` are false */
  bool given; /* only in ONNX: padding is that of `begin` and `end` */
  bool ceil, counted; /* pools: windows may pass the end; means count padding */
  /* slices: range [begin, end) of each axis, and its size; padding: pixels before (begin) and after
   * (end) rows and columns */
  int begin[3], size[3], end[3];
  int axis;                              /* enum graph_axis */
  unsigned axes;                         /* set of 1 << enum graph_axis */
  int order[GRAPH_AXES];                 /* transpose: input axis of each output axis */
  int how; /* variant: an enum graph_reduction, a resize mode, or which part of a split */
  int rounding;    /* ONNX's nearest_mode: an index of graph_onnx.c's list `roundings` */
  int alpha, beta; /* parameters in 64ths, which decimal text represents exactly */
  int fused; /* TFLite: activation fused into the node, as a number of the schema; 0: none */
  int groups;                            /* groups of channels and filters */
  /* number of nodes that read it */
  int readers;
  bool put_out;                          /* an output although other nodes read it */
};

enum { GRAPH_NODES = 16, GRAPH_PLACES = 200 };

enum graph_format {
  GRAPH_ONNX, GRAPH_TFLITE, GRAPH_ONNX_INTEGERS, GRAPH_TFLITE_INTEGERS, GRAPH_TFLITE_STRANGE,
  GRAPH_FORMATS
};

struct random_graph {
  uint64_t number;
  struct graph_node nodes[GRAPH_NODES];
  int n;
  bool for_tflite; /* for a TFLite file; false: for ONNX, which has more kinds */
  bool integers;   /* 8-bit maps, but float inputs and outputs */
  bool is_signed;  /* int8; else uint8, like TFLite files of 2018 */
};

/* A generator seeded with a number. */
struct test_rng graph_random(uint64_t number);

/* Makes the graph of this number for a file format. */
struct random_graph graph_make(uint64_t number, enum graph_format format);

/* Quantization of a node's map in an integer graph. `zero` is for int8; for uint8 it is 128
 * more. */
struct graph_numbers {
  float scale;
  int zero;
};
void graph_quantize(const struct random_graph *g, struct graph_numbers numbers[GRAPH_NODES]);
/* Computes upper bounds, in quantization steps, of the difference between other programs'
 * outputs and mafat's; 0 for nodes whose outputs must be equal. TFLite's fastest kernels round
 * matrix products once instead of twice, use float tables for softmax and similar kinds, and add
 * up resized uint8 pixels in another order. Later nodes amplify these differences. */
void graph_count_steps(const struct random_graph *g,
                       const struct graph_numbers numbers[GRAPH_NODES], double steps[GRAPH_NODES]);
/* True if TFLite requires the output to have the input's quantization. */
bool graph_keeps_numbers(const struct graph_node *o);

bool graph_reads_two(enum graph_kind kind);
/* True if the node is an output: no node reads it, or put_out is set. */
bool graph_is_output(const struct random_graph *g, int node);
/* The generator for a node's constants. */
struct test_rng graph_constants(const struct random_graph *g, int node);
/* Returns the index of the node that holds this node's second output; 0: none. */
int graph_second_output(const struct random_graph *g, int node);
/* The map's extents, by enum graph_axis. */
void graph_extents(struct graph_map map, int extents[GRAPH_AXES]);
/* The next constant, between -1 and 1. */
float graph_constant(struct test_rng *rng);
/* Draws n random positions below `extent`. With from_end, some are negative: counted from the
 * end. */
void graph_places(struct test_rng *rng, int extent, int n, int64_t *places, bool from_end);
/* Padding of a window before and after along axis 0 (rows) or 1 (columns). */
void graph_padding(const struct random_graph *g, int node, int axis, int *before, int *after);
/* Prints the graph to standard output, a line for each node. */
void graph_print(const struct random_graph *g);

/* Write the graph as a file in memory, with its size in *n. The caller frees the file. */
char *graph_write_onnx(const struct random_graph *g, size_t *n);
char *graph_write_tflite(const struct random_graph *g, size_t *n);
/* Makes a small TFLite file of operators with mostly valid inputs and options, from `number`
 * alone (strange_tflite.c). The caller frees it. */
char *graph_write_strange(uint64_t number, size_t *n);

#endif
