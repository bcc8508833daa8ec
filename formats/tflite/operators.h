/* TFLite's operators: codes and names of the schema, and the options of the supported ones.
 * Included by formats/tflite/model.h; called by formats/tflite/tflite.c. Allocates nothing. */
#ifndef MAFAT_FORMATS_TFLITE_OPERATORS_H
#define MAFAT_FORMATS_TFLITE_OPERATORS_H

#include "formats/tflite/flat.h"

/* Codes that are used by name, with the schema's numbers. */
enum mafat_tflite_code {
  MAFAT_TFLITE_ADD = 0,
  MAFAT_TFLITE_AVERAGE_POOL_2D = 1,
  MAFAT_TFLITE_CONCATENATION = 2,
  MAFAT_TFLITE_CONV_2D = 3,
  MAFAT_TFLITE_DEPTHWISE_CONV_2D = 4,
  MAFAT_TFLITE_DEPTH_TO_SPACE = 5,
  MAFAT_TFLITE_DEQUANTIZE = 6,
  MAFAT_TFLITE_FULLY_CONNECTED = 9,
  MAFAT_TFLITE_L2_NORMALIZATION = 11,
  MAFAT_TFLITE_LOGISTIC = 14,
  MAFAT_TFLITE_MAX_POOL_2D = 17,
  MAFAT_TFLITE_MUL = 18,
  MAFAT_TFLITE_RELU = 19,
  MAFAT_TFLITE_RELU_N1_TO_1 = 20,
  MAFAT_TFLITE_RELU6 = 21,
  MAFAT_TFLITE_RESHAPE = 22,
  MAFAT_TFLITE_RESIZE_BILINEAR = 23,
  MAFAT_TFLITE_SOFTMAX = 25,
  MAFAT_TFLITE_SPACE_TO_DEPTH = 26,
  MAFAT_TFLITE_TANH = 28,
  MAFAT_TFLITE_CUSTOM = 32,
  MAFAT_TFLITE_PAD = 34,
  MAFAT_TFLITE_GATHER = 36,
  MAFAT_TFLITE_TRANSPOSE = 39,
  MAFAT_TFLITE_MEAN = 40,
  MAFAT_TFLITE_SUB = 41,
  MAFAT_TFLITE_DIV = 42,
  MAFAT_TFLITE_SQUEEZE = 43,
  MAFAT_TFLITE_STRIDED_SLICE = 45,
  MAFAT_TFLITE_EXP = 47,
  MAFAT_TFLITE_TOPK_V2 = 48,
  MAFAT_TFLITE_SPLIT = 49,
  MAFAT_TFLITE_LOG_SOFTMAX = 50,
  MAFAT_TFLITE_CAST = 53,
  MAFAT_TFLITE_PRELU = 54,
  MAFAT_TFLITE_MAXIMUM = 55,
  MAFAT_TFLITE_ARG_MAX = 56,
  MAFAT_TFLITE_MINIMUM = 57,
  MAFAT_TFLITE_NEG = 59,
  MAFAT_TFLITE_PADV2 = 60,
  MAFAT_TFLITE_SLICE = 65,
  MAFAT_TFLITE_TRANSPOSE_CONV = 67,
  MAFAT_TFLITE_EXPAND_DIMS = 70,
  MAFAT_TFLITE_LOG = 73,
  MAFAT_TFLITE_SUM = 74,
  MAFAT_TFLITE_SQRT = 75,
  MAFAT_TFLITE_RSQRT = 76,
  MAFAT_TFLITE_SHAPE = 77,
  MAFAT_TFLITE_POW = 78,
  MAFAT_TFLITE_REDUCE_MAX = 82,
  MAFAT_TFLITE_PACK = 83,
  MAFAT_TFLITE_UNPACK = 88,
  MAFAT_TFLITE_REDUCE_MIN = 89,
  MAFAT_TFLITE_SQUARE = 92,
  MAFAT_TFLITE_RESIZE_NEAREST_NEIGHBOR = 97,
  MAFAT_TFLITE_LEAKY_RELU = 98,
  MAFAT_TFLITE_SQUARED_DIFFERENCE = 99,
  MAFAT_TFLITE_MIRROR_PAD = 100,
  MAFAT_TFLITE_ABS = 101,
  MAFAT_TFLITE_SPLIT_V = 102,
  MAFAT_TFLITE_ELU = 111,
  MAFAT_TFLITE_QUANTIZE = 114,
  MAFAT_TFLITE_HARD_SWISH = 117,
  MAFAT_TFLITE_IF = 118,
  MAFAT_TFLITE_WHILE = 119,
  MAFAT_TFLITE_BATCH_MATMUL = 126,
  MAFAT_TFLITE_CALL_ONCE = 129,
  MAFAT_TFLITE_GELU = 150,
  MAFAT_TFLITE_RELU_0_TO_1 = 152
};

/* Paddings and activations, with the schema's numbers. */
enum mafat_tflite_padding { MAFAT_TFLITE_SAME, MAFAT_TFLITE_VALID };

enum mafat_tflite_fused {
  MAFAT_TFLITE_FUSED_NONE,
  MAFAT_TFLITE_FUSED_RELU,
  MAFAT_TFLITE_FUSED_RELU_N1_TO_1,
  MAFAT_TFLITE_FUSED_RELU6,
  MAFAT_TFLITE_FUSED_TANH,
  MAFAT_TFLITE_FUSED_SIGN_BIT
};

enum { MAFAT_TFLITE_MAX_RANK = 8 };

/* CONV_2D, DEPTHWISE_CONV_2D, TRANSPOSE_CONV, AVERAGE_POOL_2D, MAX_POOL_2D. The taps of a
 * convolution follow from its weights. */
struct mafat_tflite_window {
  int padding, stride_h, stride_w;
  int dilation_h, dilation_w;
  int filter_h, filter_w;
  int depth_multiplier; /* 0: inferred from the weights' shape */
  int fused;
};

struct mafat_tflite_dense {
  int fused;
  int weights_format; /* 0: row-major */
  int keep_num_dims;
};

/* n: of PACK, UNPACK, SPLIT, SPLIT_V. axis: of these, CONCATENATION and GATHER. batch_dims: of
 * GATHER. */
struct mafat_tflite_axis {
  int n, axis, batch_dims;
  int fused;
};

/* RESHAPE, SQUEEZE. n -1: absent. */
struct mafat_tflite_dims {
  int n;
  int32_t list[MAFAT_TFLITE_MAX_RANK];
};

struct mafat_tflite_strided {
  int begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask;
  int offset; /* ends are relative to begins */
};

struct mafat_tflite_resize {
  int align_corners, half_pixel_centers;
};

struct mafat_tflite_matmul {
  int adj_x, adj_y;
};

struct mafat_tflite_types {
  int in, out; /* enum mafat_tflite_type; ARG_MAX: out */
};

/* Options of an operator; its code selects the member. */
union mafat_tflite_options {
  struct mafat_tflite_window window;
  struct mafat_tflite_dense dense;
  struct mafat_tflite_axis axis;
  struct mafat_tflite_dims dims;
  struct mafat_tflite_strided strided;
  struct mafat_tflite_resize resize;
  struct mafat_tflite_matmul matmul;
  struct mafat_tflite_types types;
  int fused;         /* ADD, SUB, MUL, DIV, L2_NORMALIZATION */
  int block_size;    /* DEPTH_TO_SPACE, SPACE_TO_DEPTH */
  int keep_dims;     /* MEAN, SUM, REDUCE_MAX, REDUCE_MIN */
  int symmetric;     /* MIRROR_PAD: the edge is repeated */
  int approximate;   /* GELU: by tanh */
  float alpha;       /* LEAKY_RELU */
  float beta;        /* SOFTMAX */
};

/* "CONV_2D"; NULL: not in the schema. */
const char *mafat_tflite_code_name(int code);

/* Reads the options in fields 3 and 4 of an operator's table; absent fields get defaults. `name`:
 * of the operator, for messages. Failures are recorded in f. */
void mafat_tflite_options_read(struct mafat_flat *f, const struct mafat_flat_table *operator,
                               int code, const char *name, union mafat_tflite_options *options);

#endif
