/* One layer or input of a network, as plain data: kind, operands, shapes and parameters.
 * Properties of a kind are in kind.h; networks of layers are in network.h. Included by network/
 * and runner/kernels. Pure inline functions. */
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
  /* number of Darknet's activations, which come first, and number of activations that the kernels
   * of every level compute, which include Darknet's */
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

/* An activation with its parameters, if it has any. */
struct mafat_activating {
  enum mafat_activation kind;
  float a, b;
};

static inline struct mafat_activating mafat_activating(enum mafat_activation kind)
{
  return (struct mafat_activating){.kind = kind};
}

/* Returns the activation that gives x if x is positive, else a * x. */
static inline struct mafat_activating mafat_activating_sloped(float a)
{
  return (struct mafat_activating){a >= FLT_MIN && a <= 1 ? MAFAT_SLOPED : MAFAT_STEEP, a, 0};
}

/* Elementwise operation on operands x and z. */
enum mafat_blend {
  MAFAT_BLEND_ADD,   /* alpha * x + beta * z */
  MAFAT_BLEND_MUL,
  MAFAT_BLEND_MAX,   /* z if larger, else x */
  MAFAT_BLEND_MIN,   /* z if smaller, else x */
  MAFAT_BLEND_DIV,   /* x / z */
  MAFAT_BLEND_RDIV,  /* z / x */
  MAFAT_BLEND_PRELU, /* x if positive, else z * x */
  MAFAT_N_KERNEL_BLENDS, /* blends before this one are part of the kernels of every level */
  MAFAT_BLEND_POW = MAFAT_N_KERNEL_BLENDS, /* x^z */
  MAFAT_BLEND_RPOW,  /* z^x */
  MAFAT_N_BLENDS
};

enum {
  MAFAT_MAX_LAYERS = 4096,
  MAFAT_MAX_EXTENT = 1 << 20, /* maximum of a map's height and width, of filters and of groups */
  MAFAT_MAX_OPERANDS = 64,
  MAFAT_MAX_OUTPUTS = 256, /* per layer */
  MAFAT_MAX_SOURCES = 4096, /* per operand: each nested route could double their number */
  /* over all operands (5 MB): a short file must not make a reader allocate more */
  MAFAT_MAX_ALL_SOURCES = 1 << 18
};

struct mafat_shape {
  int h, w, c;
};

static inline long long mafat_shape_elements(struct mafat_shape s)
{
  return (long long)s.h * s.w * s.c;
}

/* Channels [first, first + n) and rows [first_row, first_row + n_rows) of a tensor, all columns. */
struct mafat_source {
  int tensor; /* index (network.h) */
  int first, n;
  int first_row, n_rows;
};

/* The parts of a map (sources.h): bands of rows from top to bottom, each with slices in channel
 * order. */
struct mafat_sources {
  struct mafat_source *list; /* [band][slice] */
  int n, n_bands;            /* n: slices per band, equal in all bands */
};

/* One of the maps that a layer reads. */
struct mafat_operand {
  struct mafat_sources sources;
  struct mafat_shape shape;
  bool broadcast; /* an axis of extent 1 is broadcast */
};

/* Overlap measure of non-maximum suppression for two boxes of one class: intersection over union.
 * AlexeyAB's kinds subtract the DIoU penalty: (squared distance of the centres / squared diagonal
 * of the enclosing box) to the power 0.6 (greedy) or beta_nms (DIoU). */
enum mafat_nms { MAFAT_NMS_IOU, MAFAT_NMS_GREEDY, MAFAT_NMS_DIOU };

/* Point of a box whose grid cell predicts the box. */
enum mafat_point { MAFAT_POINT_CENTER, MAFAT_POINT_LEFT_TOP, MAFAT_POINT_RIGHT_BOTTOM };

/* Parameters of the detection heads. */
struct mafat_head {
  /* coords: values per box besides objectness and classes; n_anchors: boxes per cell */
  int classes, coords, n_anchors;
  float scale_xy;                 /* yolo, Gaussian_yolo: cfg key scale_x_y */
  float *anchors; /* (n_anchors, 2): width, height; in cells (region) or input pixels (yolo) */
  int side;                       /* detection: the grid is side x side */
  float beta_nms;
  enum mafat_nms nms : 8; /* yolo, Gaussian_yolo: cfg key nms_kind; the last head's value applies to
                             all boxes */
  enum mafat_point point : 8;     /* Gaussian_yolo: cfg key yolo_point */
  bool new_coords; /* yolo: coordinates are already activated, and sizes are squared */
  bool softmax, background;       /* cfg keys of region; softmax also of detection */
  bool sqrt;                      /* detection: sizes are stored as square roots */
};

/* How a map is read from a constant of n values: element (y, x, c) is value first + y * rows + x *
 * columns + c * channels. A stride of 0 broadcasts the axis. */
struct mafat_strides {
  uint64_t n;
  int64_t first, rows, columns, channels;
};

struct mafat_rearrange; /* rearrange.h */
struct mafat_resample;  /* resample.h */

/* Normalization over the channels of each pixel. */
enum mafat_normalize_how {
  MAFAT_NORMALIZE_SOFTMAX,
  MAFAT_NORMALIZE_LOG_SOFTMAX,
  MAFAT_NORMALIZE_HARDMAX, /* 1 at the first maximum, else 0 */
  MAFAT_NORMALIZE_LAYER,   /* (x - mean) / sqrt(variance + epsilon) */
  MAFAT_NORMALIZE_RMS,     /* x / sqrt(mean of squares + epsilon) */
  MAFAT_NORMALIZE_L1,      /* x / max(sum of magnitudes, epsilon); 0 if all are 0 */
  MAFAT_NORMALIZE_L2,      /* x / max(root of the sum of squares, epsilon); 0 if all are 0 */
  MAFAT_N_NORMALIZATIONS
};

/* Parameters of normalize. */
struct mafat_normalize {
  enum mafat_normalize_how how;
  float epsilon;
  float beta; /* factor of a softmax over integers; 0 means 1 */
};

/* Reduction of many values to one. */
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
  MAFAT_REDUCE_ARG_MAX, /* index of the maximum along one axis, the first of equal ones */
  MAFAT_REDUCE_ARG_MIN,
  MAFAT_N_REDUCTIONS
};

/* Parameters of reduce: the axes that are reduced to 1. */
struct mafat_reduce {
  enum mafat_reduction how;
  bool rows, cols, channels;
  bool last; /* arg: the last of equal maxima or minima, rather than the first */
};

/* Parameters of topk: the k largest or smallest elements along an axis (rearrange.h). */
struct mafat_topk {
  int k;
  signed char axis;
  bool smallest;
};

/* Parameters of postprocess, which decodes a detector's outputs per anchor into boxes. */
struct mafat_postprocess {
  int detections;            /* most detections in the output */
  int classes_per_detection; /* number of best classes reported for each box, if not `regular` */
  int detections_per_class;  /* most detections of a class, if `regular` */
  int classes;               /* number of classes: the last scores of each anchor */
  bool regular; /* suppress boxes class by class; else all together, each with its best classes */
  float least_score, most_overlap; /* least score of a detection; greatest overlap (intersection
                                      over union) of two boxes that are both kept */
  float y_scale, x_scale, h_scale, w_scale; /* divisors of the box encodings */
};

/* One output tensor of a layer, after its first. */
struct mafat_output {
  struct mafat_shape shape;
  enum mafat_dtype type;
  struct mafat_quantization quantization; /* for integer types */
  bool asked; /* requested as an output: readable after a run */
};

/* The outputs of a layer after its first one. One allocation, owned by the layer. */
struct mafat_more_outputs {
  int n;
  /* index of list[0] in the network's `makers`, where the others follow; -1: not assigned yet */
  int first;
  struct mafat_output list[];
};

/* Compact, because a network may have thousands of layers. */
struct mafat_layer {
  enum mafat_layer_type type;
  int line;                   /* line of its section in the cfg, or index of its node */
  /* (n_operands) the first is the input, the others are combined with it */
  struct mafat_operand *operands;
  int n_operands;
  struct mafat_shape in, out; /* in: shape of the first operand */
  enum mafat_dtype out_type : 8; /* element type of the output */
  /* type of the weights; scales and biases are floats, but a layer that sums integers has an int32
   * bias, a multiplier and a shift per filter */
  enum mafat_dtype weights_type : 8;
  signed char weights_zero;   /* zero point of int8 weights */
  bool single;                /* quantized weights: multiply scales as floats (quantization.h) */
  struct mafat_quantization quantization; /* quantization of an integer output */
  struct mafat_activating activation;
  int filters, groups;        /* groups: number of groups of a convolution's channels and filters */
  struct mafat_window window; /* convolution, maxpool, local_avgpool, local */
  bool count_padding;         /* local_avgpool: the mean includes taps in the padding */
  bool batch_normalize;
  /* matmul: the second operand is transposed: it has a column for each output channel */
  bool transposed;
  bool reverse;               /* reorg: cfg key reverse */
  bool noadjust;              /* crop: keep the range [0, 1] instead of scaling it to [-1, 1] */
  bool output;                /* requested as an output: readable after a run */
  enum mafat_blend blend : 8; /* applied to the operands from first to last */
  int factor; /* upsample: magnification along both axes; reorg, reorg3d: side of a block */
  int extra;                  /* reorg: zeros appended to the flattened input */
  /* MAFAT_BLEND_ADD: alpha * input + beta * each other operand; matmul: alpha * product */
  float alpha, beta;
  float scale;                /* upsample: factor of the copied values */
  union {                     /* one member per kind */
    struct {
      /* local_avgpool with count_padding: rows and columns of padding past the end of the map that
       * the mean counts, at most the window's `after` */
      int counted_y, counted_x;
    };
    struct {
      int crop_y, crop_x;
    };
    struct {
      int n_softmaxes;        /* softmax: number of parts, each normalized by itself */
      float temperature;
    };
  };
  struct mafat_head head;
  struct mafat_strides *strides; /* constant; owned */
  struct mafat_rearrange *rearrange; /* rearrange and split; owned */
  struct mafat_normalize *normalize; /* owned, as are the following; NULL for other kinds */
  struct mafat_reduce *reduce;
  struct mafat_resample *resample;
  struct mafat_postprocess *postprocess;
  /* NULL: a single output, described by out, out_type, quantization and output */
  struct mafat_more_outputs *more;
  /* brings the size to 256 bytes, so that indexing needs no multiplication */
  struct mafat_topk topk;
};

#endif
