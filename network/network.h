/* A model as plain data: layers, shapes, edges. Made by a reader in formats/, never
 * changed afterwards, made without weights.
 *
 * A *tensor* is the output of a layer that computes something, or the network's
 * input (MAFAT_INPUT). Layers that only rename (route, dropout, cost) have no
 * tensor of their own: whoever reads them reads the tensors behind them, as a
 * list of sources. A concatenation therefore never exists in memory. */
#ifndef MAFAT_NETWORK_NETWORK_H
#define MAFAT_NETWORK_NETWORK_H

#include "base/box.h"
#include "base/error.h"

#include <stdint.h>

enum mafat_layer_type {
  MAFAT_CONVOLUTIONAL,
  MAFAT_MAXPOOL,
  MAFAT_AVGPOOL,
  MAFAT_ROUTE,
  MAFAT_SHORTCUT,
  MAFAT_UPSAMPLE,
  MAFAT_REORG,
  MAFAT_CONNECTED,
  MAFAT_LOCAL,
  MAFAT_BATCHNORM,
  MAFAT_CROP,
  MAFAT_ACTIVATION_LAYER,
  MAFAT_DROPOUT,
  MAFAT_COST,
  MAFAT_SOFTMAX,
  MAFAT_REGION,
  MAFAT_YOLO,
  MAFAT_DETECTION,
  MAFAT_N_LAYER_TYPES
};

enum mafat_activation {
  MAFAT_LINEAR, MAFAT_LEAKY, MAFAT_RELU, MAFAT_RELU6, MAFAT_LOGISTIC,
  MAFAT_MISH, MAFAT_SWISH, MAFAT_ELU, MAFAT_SELU, MAFAT_TANH, MAFAT_HARDTAN,
  MAFAT_RAMP, MAFAT_LOGGY, MAFAT_PLSE, MAFAT_STAIR, MAFAT_RELIE, MAFAT_LHTAN,
  MAFAT_N_ACTIVATIONS
};

enum {
  MAFAT_INPUT = -1,       /* the tensor that the image is decoded into */
  MAFAT_MAX_LAYERS = 4096,
  MAFAT_MAX_EXTENT = 1 << 20 /* of a map, in pixels a side; of filters and groups */
};

struct mafat_shape {
  int h, w, c;
};

/* Channels [first, first + n) of a tensor. */
struct mafat_source {
  int tensor; /* layer index or MAFAT_INPUT */
  int first, n;
};

/* What a layer reads, in channel order. */
struct mafat_sources {
  struct mafat_source *list;
  int n;
};

/* What of two boxes of one class is compared with the threshold above which the weaker one goes:
 * intersection over union, from which AlexeyAB's kinds take the share that the centres' distance has in the
 * diagonal around both: its square to the power .6, or beta_nms. */
enum mafat_nms { MAFAT_NMS_IOU, MAFAT_NMS_GREEDY, MAFAT_NMS_DIOU };

/* Parameters of the three detection heads. */
struct mafat_head {
  int classes, coords, n_anchors; /* n_anchors: boxes per cell */
  float *anchors;                 /* (n_anchors, 2): width, height; region: cells, yolo: input pixels */
  float scale_xy;                 /* yolo: scale_x_y */
  bool new_coords;                /* yolo: already activated, squared sizes */
  bool softmax, background;       /* region, detection */
  bool sqrt;                      /* detection: sizes are stored as square roots */
  int side;                       /* detection: grid of side x side */
  enum mafat_nms nms;             /* yolo: nms_kind; the last head's is for all boxes */
  float beta_nms;
};

struct mafat_layer {
  enum mafat_layer_type type;
  int line;                   /* of its section in the cfg */
  struct mafat_shape in, out; /* in: all channels of `sources` together */
  struct mafat_sources sources;
  struct mafat_sources from;  /* shortcut: what is added */
  struct mafat_shape from_shape;
  enum mafat_activation activation;
  int filters, size, stride, groups;
  int pad;                    /* taps before the first pixel: convolution padding, pooling offset */
  int padding;                /* maxpool: total padding as the cfg has it */
  bool batch_normalize;
  bool reverse;               /* reorg */
  int extra;                  /* reorg: zeros appended to the flattened input */
  int crop_y, crop_x;
  bool noadjust;              /* crop: keep [0, 1] instead of scaling to [-1, 1] */
  float alpha, beta;          /* shortcut: alpha * in + beta * from */
  float scale;                /* upsample */
  float temperature;          /* softmax */
  bool output;                /* can be read after a run because somebody asked for it */
  struct mafat_head head;
};

/* Which Darknet a network was trained by: what a batch normalization is, how a picture becomes the input,
 * and which boxes go (doc/forks.md). */
enum mafat_fork { MAFAT_FORK_AUTO, MAFAT_FORK_DARKNET, MAFAT_FORK_ALEXEYAB };

struct mafat_network {
  char *path;               /* of the cfg, for messages */
  struct mafat_shape input; /* of the image: h, w, c */
  enum mafat_fork fork;     /* never MAFAT_FORK_AUTO once it has been read */
  char fork_sign[120];      /* by what it was decided: "line 7: mosaic=1 in [net]"; "": nothing, or a wish */
  bool letterbox;           /* keep the picture's proportions; else stretch it */
  struct mafat_layer *layers;
  int n_layers;
  bool cut;                 /* the cfg goes on, with layers that cannot be read */
};

void mafat_network_close(struct mafat_network **network);
/* Leaves the first n layers. */
void mafat_network_shorten(struct mafat_network *network, int n);

/* Asks for layers that shall be outputs beside the last of the first n_layers and the heads:
 * their maps exist whole and live to the end of a run, in any plan that is made from here on.
 * MAFAT_EINVAL: no such layer. */
int mafat_network_ask_for(struct mafat_network *n, int n_layers, const int *layers, int count,
                          struct mafat_diagnostic *d);

/* The cfg's word for a type: "convolutional". Complete: a test walks the enum. */
const char *mafat_layer_type_name(enum mafat_layer_type type);
const char *mafat_activation_name(enum mafat_activation activation);

/* Does it compute a tensor of its own, or only rename what it reads? */
static inline bool mafat_layer_is_alias(const struct mafat_layer *l)
{
  return l->type == MAFAT_ROUTE || l->type == MAFAT_DROPOUT || l->type == MAFAT_COST;
}

static inline bool mafat_layer_is_head(const struct mafat_layer *l)
{
  return l->type == MAFAT_REGION || l->type == MAFAT_YOLO || l->type == MAFAT_DETECTION;
}

/* Is it an output of the first n_layers: the last of them, a head, or one that was asked for? */
static inline bool mafat_network_is_output(const struct mafat_network *n, int n_layers, int layer)
{
  return layer == n_layers - 1 || mafat_layer_is_head(&n->layers[layer]) || n->layers[layer].output;
}

/* One group per channel and one filter per group. */
static inline bool mafat_layer_is_depthwise(const struct mafat_layer *l)
{
  return l->type == MAFAT_CONVOLUTIONAL && l->groups > 1 &&
         l->groups == l->in.c && l->groups == l->filters;
}

/* Can a box of the output be computed from a box of the input? The others
 * (reorg's index order, softmax, connected, heads ...) need whole maps. */
bool mafat_layer_is_tileable(const struct mafat_layer *l);

/* Shape of a tensor (a layer's output or the network's input). */
struct mafat_shape mafat_network_tensor_shape(const struct mafat_network *n, int tensor);

/* What the output of layer `index` consists of: itself, or what it renames. */
struct mafat_sources mafat_network_output_sources(const struct mafat_network *n, int index,
                                                  struct mafat_source *self);

/* Span of rows (axis_y) or columns of the sources that the span `out` of a
 * layer's output reads, inside the map; where it reads padding only, the pixel
 * beside it. For `from` of a shortcut use mafat_layer_from_span. */
struct mafat_span mafat_layer_in_span(const struct mafat_layer *l, bool axis_y,
                                      struct mafat_span out);
struct mafat_span mafat_layer_from_span(const struct mafat_layer *l, bool axis_y,
                                        struct mafat_span out);

/* Zero columns that a convolution reads beside its input map's true edges. */
void mafat_layer_pads(const struct mafat_layer *l, int *left, int *right);

/* Multiply-accumulates for `pixels` of the output map, all filters. */
uint64_t mafat_layer_macs(const struct mafat_layer *l, uint64_t pixels);

/* Floats that the layer has in a .weights file, and how they are divided. */
struct mafat_weight_counts {
  uint64_t biases, normalization, weights; /* normalization: scales, means and variances together */
};
struct mafat_weight_counts mafat_layer_weight_counts(const struct mafat_layer *l);

#endif
