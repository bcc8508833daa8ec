/* One layer, or input of a network, as plain data: what it is, what it reads, its shapes and
 * parameters. What follows from its kind is in kind.h; how layers make a network, in network.h. */
#ifndef MAFAT_NETWORK_LAYER_H
#define MAFAT_NETWORK_LAYER_H

#include "network/quantization.h"
#include "network/window.h"

#include <float.h>
#include <stdint.h>

enum mafat_layer_type {
#define KIND(CONSTANT, name, integers) MAFAT_##CONSTANT,
#define STEPLESS(CONSTANT, name) MAFAT_##CONSTANT,
#include "network/kinds.def"
  MAFAT_N_LAYER_TYPES
};

enum mafat_activation {
#define DARKNET(CONSTANT, ...) MAFAT_##CONSTANT,
#define KERNEL DARKNET
#define FUNCTION DARKNET
#include "network/activations.def"
  MAFAT_N_ACTIVATIONS,
  /* How many are Darknet's, which come first; and how many, from the first on, are part of the kernels of every level. */
#define DARKNET(...) + 1
#define KERNEL(...)
#define FUNCTION(...)
  MAFAT_N_DARKNET_ACTIVATIONS = 0
#include "network/activations.def"
#define DARKNET(...) + 1
#define KERNEL(...) + 1
#define FUNCTION(...)
  , MAFAT_N_KERNEL_ACTIVATIONS = 0
#include "network/activations.def"
};

/* An activation with its parameters, of those that have some. */
struct mafat_activating {
  enum mafat_activation kind;
  float a, b;
};

static inline struct mafat_activating mafat_activating(enum mafat_activation kind)
{
  return (struct mafat_activating){.kind = kind};
}

/* x where it is positive, a x else. */
static inline struct mafat_activating mafat_activating_sloped(float a)
{
  return (struct mafat_activating){a >= FLT_MIN && a <= 1 ? MAFAT_SLOPED : MAFAT_STEEP, a, 0};
}

/* How maps are blended, element by element. */
enum mafat_blend {
  MAFAT_BLEND_ADD,   /* alpha * x + beta * z: with 1 and -1 their difference */
  MAFAT_BLEND_MUL,
  MAFAT_BLEND_MAX,   /* z where it is larger, x else */
  MAFAT_BLEND_MIN,   /* z where it is less, x else */
  MAFAT_BLEND_DIV,   /* x / z */
  MAFAT_BLEND_RDIV,  /* z / x */
  MAFAT_BLEND_PRELU, /* x where it is positive, z x else */
  MAFAT_N_KERNEL_BLENDS, /* those so far are part of the kernels of every level */
  MAFAT_BLEND_POW = MAFAT_N_KERNEL_BLENDS, /* x^z */
  MAFAT_BLEND_RPOW,  /* z^x */
  MAFAT_N_BLENDS
};

enum {
  MAFAT_MAX_LAYERS = 4096,
  MAFAT_MAX_EXTENT = 1 << 20, /* of a map, in pixels a side; of filters and groups */
  MAFAT_MAX_OPERANDS = 64,
  MAFAT_MAX_OUTPUTS = 256, /* of a layer */
  MAFAT_MAX_SOURCES = 4096, /* of an operand: routes of routes would double them without end */
  MAFAT_MAX_ALL_SOURCES = 1 << 18 /* of all operands: a line of a file makes an operand of so many, and they are kept (5 MB) */
};

struct mafat_shape {
  int h, w, c;
};

static inline long long mafat_shape_elements(struct mafat_shape s)
{
  return (long long)s.h * s.w * s.c;
}

/* Channels [first, first + n) of rows [first_row, first_row + n_rows) of a tensor, of all columns. */
struct mafat_source {
  int tensor; /* its index (network.h) */
  int first, n;
  int first_row, n_rows;
};

/* What a map consists of (sources.h): bands of rows from top to bottom, of each its slices in channel order. */
struct mafat_sources {
  struct mafat_source *list; /* [band][slice] */
  int n, n_bands;            /* slices of a band, as many in each */
};

/* One of the maps that a layer reads. */
struct mafat_operand {
  struct mafat_sources sources;
  struct mafat_shape shape;
  bool broadcast; /* its only row, column or channel is that of every row, column or channel */
};

/* What of two boxes of one class is compared with the threshold above which the weaker one goes:
 * intersection over union, from which AlexeyAB's kinds take the share that the centres' distance has in the
 * diagonal around both: its square to the power .6, or beta_nms. */
enum mafat_nms { MAFAT_NMS_IOU, MAFAT_NMS_GREEDY, MAFAT_NMS_DIOU };

/* Which point of its box lies in the cell. */
enum mafat_point { MAFAT_POINT_CENTER, MAFAT_POINT_LEFT_TOP, MAFAT_POINT_RIGHT_BOTTOM };

/* Parameters of the detection heads. */
struct mafat_head {
  int classes, coords, n_anchors; /* coords: values of a box beside objectness and classes; n_anchors: boxes per cell */
  float scale_xy;                 /* yolo, Gaussian_yolo: scale_x_y */
  float *anchors;                 /* (n_anchors, 2): width, height; region: cells, yolo: input pixels */
  int side;                       /* detection: grid of side x side */
  float beta_nms;
  enum mafat_nms nms : 8;         /* yolo, Gaussian_yolo: nms_kind; the last head's is for all boxes */
  enum mafat_point point : 8;     /* Gaussian_yolo: yolo_point */
  bool new_coords;                /* yolo: already activated, squared sizes */
  bool softmax, background;       /* region, detection */
  bool sqrt;                      /* detection: sizes are stored as square roots */
};

/* How a map lies among the numbers of a constant: element (y, x, c) is number
 * first + y * rows + x * columns + c * channels of n. 0: all along that axis are the same. */
struct mafat_strides {
  uint64_t n;
  int64_t first, rows, columns, channels;
};

struct mafat_rearrange; /* rearrange.h */
struct mafat_resample;  /* resample.h */

/* How the channels of a pixel are normalized, each pixel by itself. */
enum mafat_normalize_how {
  MAFAT_NORMALIZE_SOFTMAX,
  MAFAT_NORMALIZE_LOG_SOFTMAX,
  MAFAT_NORMALIZE_HARDMAX, /* 1 at the largest, the first of several; 0 else */
  MAFAT_NORMALIZE_LAYER,   /* (x - mean) / sqrt(variance + epsilon) */
  MAFAT_NORMALIZE_RMS,     /* x / sqrt(mean of squares + epsilon) */
  MAFAT_NORMALIZE_L1,      /* x / sum of magnitudes, which is epsilon at least; 0 where all are */
  MAFAT_NORMALIZE_L2,      /* the same, by the root of the sum of squares */
  MAFAT_N_NORMALIZATIONS
};

/* Parameters of normalize. */
struct mafat_normalize {
  enum mafat_normalize_how how;
  float epsilon;
  float beta; /* softmax of whole numbers: what they are multiplied by; 0: 1 */
};

/* What one value is made of many. */
enum mafat_reduction {
  MAFAT_REDUCE_SUM,
  MAFAT_REDUCE_MEAN,
  MAFAT_REDUCE_PRODUCT,
  MAFAT_REDUCE_MAX,
  MAFAT_REDUCE_MIN,
  MAFAT_REDUCE_L1,
  MAFAT_REDUCE_L2,
  MAFAT_REDUCE_SUM_OF_SQUARES,
  MAFAT_REDUCE_LOG_SUM,
  MAFAT_REDUCE_LOG_SUM_EXP,
  MAFAT_REDUCE_ARG_MAX, /* the number of the largest along one axis, the first of several */
  MAFAT_REDUCE_ARG_MIN,
  MAFAT_N_REDUCTIONS
};

/* Parameters of reduce: axes of the map that become 1. */
struct mafat_reduce {
  enum mafat_reduction how;
  bool rows, cols, channels;
  bool last; /* of several that are largest or smallest the last */
};

/* Parameters of topk: k elements along an axis (rearrange.h), the smallest or the largest first. */
struct mafat_topk {
  int k;
  signed char axis;
  bool smallest;
};

/* Parameters of postprocess: boxes out of what a detector says of its anchors. */
struct mafat_postprocess {
  int detections, classes_per_detection; /* that are put out at most; classes of each */
  int detections_per_class, classes; /* regular: of each class at most; classes of the scores, the last ones */
  bool regular;               /* class by class; else each anchor with its best classes, whatever they are */
  float least_score, most_overlap;
  float y_scale, x_scale, h_scale, w_scale; /* of what encodings are multiplied by */
};

/* One of the tensors that a layer makes. */
struct mafat_output {
  struct mafat_shape shape;
  enum mafat_dtype type;
  struct mafat_quantization quantization; /* of integers */
  bool asked; /* can be read after a run because somebody asked for it */
};

/* The outputs of a layer after its first one. One allocation; the layer owns it. */
struct mafat_more_outputs {
  int n;
  int first; /* number of the first among all such outputs of the network, the others' follow; -1: none yet */
  struct mafat_output list[];
};

/* Small, for a network may have thousands of them. */
struct mafat_layer {
  enum mafat_layer_type type;
  int line;                   /* of its section in the cfg */
  struct mafat_operand *operands; /* the first is the input; others are blended with it */
  int n_operands;
  struct mafat_shape in, out; /* in: of the first operand */
  enum mafat_dtype out_type : 8; /* of the output's elements */
  enum mafat_dtype weights_type : 8; /* of what the kernels multiply with; scales and biases are floats, but of int8, where sums are
                                        whole numbers: a bias, a multiplier and a shift for each filter */
  signed char weights_zero;   /* of int8: what stands for 0 */
  bool single;                /* of int8: scales are multiplied as floats (quantization.h) */
  struct mafat_quantization quantization; /* what the output means, where it is whole numbers */
  struct mafat_activating activation;
  int filters, groups;        /* groups: of a convolution's channels and filters */
  struct mafat_window window; /* convolution, maxpool, local_avgpool, local */
  bool count_padding;         /* local_avgpool: the mean is of the taps in the padding, too */
  bool batch_normalize;
  bool transposed;            /* matmul: its second operand has a column, not a channel, for each filter */
  bool reverse;               /* reorg */
  bool noadjust;              /* crop: keep [0, 1] instead of scaling to [-1, 1] */
  bool output;                /* can be read after a run because somebody asked for it */
  enum mafat_blend blend : 8; /* of operands, from the first to the last */
  int factor;                 /* upsample: outputs an input becomes, either way; reorg, reorg3d: side of a block */
  int extra;                  /* reorg: zeros appended to the flattened input */
  float alpha, beta;          /* of MAFAT_BLEND_ADD: alpha * input + beta * each other operand; matmul: alpha * product */
  float scale;                /* upsample */
  union {                     /* one kind each */
    struct {
      int counted_y, counted_x; /* local_avgpool: rows and columns of the padding behind the map that are
                                   counted, at most the window's */
    };
    struct {
      int crop_y, crop_x;
    };
    struct {
      int n_softmaxes;        /* softmax: parts of the values, each with a sum of its own */
      float temperature;
    };
  };
  struct mafat_head head;
  struct mafat_strides *strides; /* constant; owned */
  struct mafat_rearrange *rearrange; /* of split, too */
  struct mafat_normalize *normalize; /* its layer's own, as are the following; NULL: of another kind */
  struct mafat_reduce *reduce;
  struct mafat_resample *resample;
  struct mafat_postprocess *postprocess;
  struct mafat_more_outputs *more; /* NULL: out, out_type, quantization and output are all that it makes */
  struct mafat_topk topk;     /* 256 bytes in all: where a layer is in a list needs no multiplication */
};

#endif
