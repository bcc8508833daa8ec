/* Random graphs that ONNX and TFLite can both say, number by number the same on every machine: maps
 * of rows, columns and channels, and nodes that read one or two of them. Written as a file of
 * either format, of floats or of 8-bit numbers. */
#ifndef MAFAT_TESTS_DIFFERENTIAL_GRAPH_H
#define MAFAT_TESTS_DIFFERENTIAL_GRAPH_H

#include "tests/support/random.h"

enum graph_kind {
  GRAPH_INPUT,
  GRAPH_CONV,
  GRAPH_DEPTHWISE,
  GRAPH_GROUPED,
  GRAPH_TRANSPOSED, /* windows with weights */
  GRAPH_MAX_POOL, GRAPH_MEAN_POOL, GRAPH_GLOBAL_MEAN, GRAPH_ADD, GRAPH_SUB, GRAPH_MUL, GRAPH_MAX,
  GRAPH_MIN, /* of two maps, each of which may have 1 where the other has more */
  GRAPH_ADD_CONSTANT,
  GRAPH_SUB_FROM_CONSTANT,
  GRAPH_MUL_CONSTANT,
  GRAPH_DIV_CONSTANT, /* one for each place along the node's axes */
  GRAPH_PRELU,
  GRAPH_BATCH_NORM, /* one for each channel */
  GRAPH_RELU, GRAPH_RELU6, GRAPH_LOGISTIC, GRAPH_TANH, GRAPH_LEAKY, GRAPH_ELU, GRAPH_HARD_SWISH,
  GRAPH_ABS, GRAPH_NEG, GRAPH_SQUARE, GRAPH_EXP, GRAPH_ERF, GRAPH_SOFTPLUS, GRAPH_SQRT, GRAPH_SELU,
  GRAPH_CELU, GRAPH_HARD_SIGMOID, GRAPH_SOFTSIGN, GRAPH_SIN, GRAPH_COS, GRAPH_CLIP, GRAPH_CUBE,
  GRAPH_CONCAT, GRAPH_PAD, GRAPH_MIRROR, GRAPH_EDGE, GRAPH_NEAREST, GRAPH_LINEAR, GRAPH_CUBIC,
  GRAPH_SLICE, GRAPH_STRIDED, GRAPH_SPLIT, GRAPH_GATHER, GRAPH_TOPK, GRAPH_TRANSPOSE, GRAPH_RESHAPE,
  GRAPH_SPACE_TO_DEPTH, GRAPH_DEPTH_TO_SPACE, GRAPH_SOFTMAX, GRAPH_LOG_SOFTMAX, GRAPH_LAYER_NORM,
  GRAPH_REDUCE, GRAPH_MATMUL, GRAPH_MATMUL_CONSTANT,
  GRAPH_DENSE, /* the last one */
  GRAPH_SPLIT_REST,
  GRAPH_TOPK_PLACES, /* the second output of the node that they read */
  GRAPH_KINDS
};

enum graph_axis { GRAPH_ROWS, GRAPH_COLUMNS, GRAPH_CHANNELS, GRAPH_AXES };

enum graph_reduction {
  GRAPH_MEAN, GRAPH_SUM, GRAPH_LARGEST, GRAPH_LEAST, /* TFLite has these */
  GRAPH_PRODUCT, GRAPH_L1, GRAPH_L2, GRAPH_SUM_OF_SQUARES, GRAPH_LOG_SUM_EXP,
  GRAPH_REDUCTIONS
};

struct graph_map {
  int h, w, c;
};

struct graph_node {
  enum graph_kind kind;
  int a, b; /* the nodes that it reads */
  struct graph_map out;
  int kernel[2], stride[2], dilation[2]; /* down, across */
  bool same; /* padding: as much as an output of the input's size asks for; else none, or (ONNX): */
  bool given, ceil,
      counted; /* begin and end; of pools: windows that reach over the end, and padding in means */
  int begin[3], size[3], end[3];         /* of slices; padding before and behind */
  int axis;                              /* enum graph_axis */
  unsigned axes;                         /* 1 << enum graph_axis, of several */
  int order[GRAPH_AXES];                 /* of a transposition: the axes of the input */
  int how; /* which of several ways: a reduction; where resized pixels lie; which part */
  int rounding;                          /* of the nearest pixel, as ONNX lists them */
  int alpha, beta;                       /* 64ths, which are the same in decimals */
  int fused; /* of TFLite: the activation behind it, as files number them */
  int groups;                            /* of channels and filters */
  int readers;
  bool put_out;                          /* though others read it, too */
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
  bool for_tflite; /* else ONNX, which has some kinds more */
  bool integers;   /* of 8 bits, all but what comes in and is put out; */
  bool is_signed;  /* else as files of 2018 have them */
};

/* Random numbers that follow from one. */
struct test_rng graph_random(uint64_t number);

struct random_graph graph_make(uint64_t number, enum graph_format format);

/* Quantization of a node's map in integer graphs, for int8 values. */
struct graph_numbers {
  float scale;
  int zero;
};
void graph_quantize(const struct random_graph *g, struct graph_numbers numbers[GRAPH_NODES]);
/* Steps that TFLite's fastest kernels may be off its own rule, which is ours: products of matrices
 * are rounded once where the rule does it twice, softmax and the like come from tables of floats,
 * pixels between others of uint8 are summed in another order; and what becomes of that behind them.
 * A node after none of these has 0 steps. */
void graph_count_steps(const struct random_graph *g,
                       const struct graph_numbers numbers[GRAPH_NODES], double steps[GRAPH_NODES]);
/* Its map has the numbers of the input's: TFLite asks for that. */
bool graph_keeps_numbers(const struct graph_node *o);

bool graph_reads_two(enum graph_kind kind);
/* Nodes that nobody reads are outputs, and some that others read. */
bool graph_is_output(const struct random_graph *g, int node);
/* Number i of the constants of a node, between -1 and 1. */
struct test_rng graph_constants(const struct random_graph *g, int node);
/* The node that is the second output of this one; 0: nobody has asked for it. */
int graph_second_output(const struct random_graph *g, int node);
/* Extents along the axes. */
void graph_extents(struct graph_map map, int extents[GRAPH_AXES]);
float graph_constant(struct test_rng *rng);
/* n places of `extent`, some of them counted from the end, if they may be. */
void graph_places(struct test_rng *rng, int extent, int n, int64_t *places, bool from_end);
/* Rows or columns of padding before and behind, of a window that is as it is. */
void graph_padding(const struct random_graph *g, int node, int axis, int *before, int *after);
/* A short text, node by node. */
void graph_print(const struct random_graph *g);

/* The file in memory, to be freed. */
char *graph_write_onnx(const struct random_graph *g, size_t *n);
char *graph_write_tflite(const struct random_graph *g, size_t *n);
/* Without a graph: a small TFLite file of operators whose inputs and options mostly match
 * (strange_tflite.c). */
char *graph_write_strange(uint64_t number, size_t *n);

#endif
