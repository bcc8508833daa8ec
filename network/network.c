#include "network/network.h"

#include <stdlib.h>
#include <string.h>

static const char *const type_names[MAFAT_N_LAYER_TYPES] = {
    [MAFAT_CONVOLUTIONAL] = "convolutional", [MAFAT_MAXPOOL] = "maxpool",
    [MAFAT_AVGPOOL] = "avgpool",             [MAFAT_ROUTE] = "route",
    [MAFAT_SHORTCUT] = "shortcut",           [MAFAT_UPSAMPLE] = "upsample",
    [MAFAT_REORG] = "reorg",                 [MAFAT_CONNECTED] = "connected",
    [MAFAT_LOCAL] = "local",                 [MAFAT_BATCHNORM] = "batchnorm",
    [MAFAT_CROP] = "crop",                   [MAFAT_ACTIVATION_LAYER] = "activation",
    [MAFAT_DROPOUT] = "dropout",             [MAFAT_COST] = "cost",
    [MAFAT_SOFTMAX] = "softmax",             [MAFAT_REGION] = "region",
    [MAFAT_YOLO] = "yolo",                   [MAFAT_DETECTION] = "detection",
};

static const char *const activation_names[MAFAT_N_ACTIVATIONS] = {
    [MAFAT_LINEAR] = "linear", [MAFAT_LEAKY] = "leaky",       [MAFAT_RELU] = "relu",
    [MAFAT_RELU6] = "relu6",   [MAFAT_LOGISTIC] = "logistic", [MAFAT_MISH] = "mish",
    [MAFAT_SWISH] = "swish",   [MAFAT_ELU] = "elu",           [MAFAT_SELU] = "selu",
    [MAFAT_TANH] = "tanh",     [MAFAT_HARDTAN] = "hardtan",   [MAFAT_RAMP] = "ramp",
    [MAFAT_LOGGY] = "loggy",   [MAFAT_PLSE] = "plse",         [MAFAT_STAIR] = "stair",
    [MAFAT_RELIE] = "relie",   [MAFAT_LHTAN] = "lhtan",
};

const char *mafat_layer_type_name(enum mafat_layer_type type)
{
  return (unsigned)type < MAFAT_N_LAYER_TYPES ? type_names[type] : "unknown";
}

const char *mafat_activation_name(enum mafat_activation activation)
{
  return (unsigned)activation < MAFAT_N_ACTIVATIONS ? activation_names[activation] : "unknown";
}

void mafat_network_shorten(struct mafat_network *network, int n)
{
  for (int i = n; i < network->n_layers; i++) {
    struct mafat_layer *l = &network->layers[i];
    free(l->sources.list);
    free(l->from.list);
    free(l->head.anchors);
    *l = (struct mafat_layer){.sources = {NULL, 0}};
  }
  network->n_layers = n;
}

void mafat_network_close(struct mafat_network **network)
{
  if (!network || !*network) return;
  struct mafat_network *n = *network;
  if (n->layers) mafat_network_shorten(n, 0);
  free(n->layers);
  free(n->constants);
  free(n->path);
  free(n);
  *network = NULL;
}

int mafat_network_ask_for(struct mafat_network *n, int n_layers, const int *layers, int count,
                          struct mafat_diagnostic *d)
{
  if (count < 0 || (count > 0 && !layers))
    return mafat_fail(d, MAFAT_EINVAL, "%s: expected a list of outputs, found %d of them in no list", n->path, count);
  for (int i = 0; i < count; i++) {
    if (layers[i] < 0 || layers[i] >= n_layers)
      return mafat_fail(d, MAFAT_EINVAL, "%s: expected outputs of layers from 0 to %d, found %d", n->path, n_layers - 1,
                        layers[i]);
    n->layers[layers[i]].output = true;
  }
  return MAFAT_OK;
}

bool mafat_layer_is_tileable(const struct mafat_layer *l)
{
  switch (l->type) {
  case MAFAT_CONVOLUTIONAL:
  case MAFAT_MAXPOOL:
  case MAFAT_ROUTE:
  case MAFAT_SHORTCUT:
  case MAFAT_UPSAMPLE:
  case MAFAT_BATCHNORM:
  case MAFAT_CROP:
  case MAFAT_ACTIVATION_LAYER:
  case MAFAT_DROPOUT:
  case MAFAT_COST:
    return true;
  default:
    return false;
  }
}

struct mafat_shape mafat_network_tensor_shape(const struct mafat_network *n, int tensor)
{
  return tensor == MAFAT_INPUT ? n->input : n->layers[tensor].out;
}

struct mafat_sources mafat_network_output_sources(const struct mafat_network *n, int index,
                                                  struct mafat_source *self)
{
  if (index != MAFAT_INPUT && mafat_layer_is_alias(&n->layers[index]))
    return n->layers[index].sources;
  *self = (struct mafat_source){index, 0, mafat_network_tensor_shape(n, index).c};
  return (struct mafat_sources){self, 1};
}

/* Clips to the map, but keeps the pixel at the edge of a window that lies wholly
 * in the padding (padding >= size): the zeros it reads are stored beside it. */
static struct mafat_span clip_to_touch(struct mafat_span s, int extent)
{
  if (s.begin >= extent) return mafat_span(extent - 1, extent);
  if (s.end <= 0) return mafat_span(0, 1);
  return mafat_span_clip(s, extent);
}

struct mafat_span mafat_layer_in_span(const struct mafat_layer *l, bool axis_y,
                                      struct mafat_span out)
{
  int extent = axis_y ? l->in.h : l->in.w;
  if (mafat_span_is_empty(out)) return mafat_span(0, 0);
  switch (l->type) {
  case MAFAT_CONVOLUTIONAL:
    return clip_to_touch(mafat_span_window(out, l->size, l->stride, l->pad), extent);
  case MAFAT_MAXPOOL:
    return mafat_span_clip(mafat_span_window(out, l->size, l->stride, l->pad), extent);
  case MAFAT_UPSAMPLE:
    return mafat_span(out.begin / l->stride, (out.end - 1) / l->stride + 1);
  case MAFAT_CROP: {
    int offset = axis_y ? l->crop_y : l->crop_x;
    return mafat_span(out.begin + offset, out.end + offset);
  }
  case MAFAT_SHORTCUT:
  case MAFAT_BATCHNORM:
  case MAFAT_ACTIVATION_LAYER:
  case MAFAT_ROUTE:
  case MAFAT_DROPOUT:
  case MAFAT_COST:
    return out;
  default:
    return mafat_span(0, extent);
  }
}

struct mafat_span mafat_layer_from_span(const struct mafat_layer *l, bool axis_y,
                                        struct mafat_span out)
{
  int from = axis_y ? l->from_shape.h : l->from_shape.w;
  int to = axis_y ? l->out.h : l->out.w;
  int least = from < to ? from : to;
  int stride = from / to > 1 ? from / to : 1, sample = to / from > 1 ? to / from : 1;
  /* Output i * sample takes input i * stride, for i below the smaller extent. */
  struct mafat_span i = mafat_span_clip(
      mafat_span((out.begin + sample - 1) / sample, (out.end - 1) / sample + 1), least);
  if (mafat_span_is_empty(out) || mafat_span_is_empty(i)) return mafat_span(0, 0);
  return mafat_span(i.begin * stride, (i.end - 1) * stride + 1);
}

void mafat_layer_pads(const struct mafat_layer *l, int *left, int *right)
{
  *left = *right = 0;
  if (l->type != MAFAT_CONVOLUTIONAL) return;
  int reach = (l->out.w - 1) * l->stride - l->pad + l->size - l->in.w;
  *left = l->pad;
  *right = reach > 0 ? reach : 0;
}

uint64_t mafat_layer_macs(const struct mafat_layer *l, uint64_t pixels)
{
  uint64_t taps = (uint64_t)l->size * (uint64_t)l->size;
  switch (l->type) {
  case MAFAT_CONVOLUTIONAL:
    return pixels * (uint64_t)l->filters * (uint64_t)(l->in.c / l->groups) * taps;
  case MAFAT_LOCAL:
    return pixels * (uint64_t)l->filters * (uint64_t)l->in.c * taps;
  case MAFAT_CONNECTED:
    return (uint64_t)l->in.h * (uint64_t)l->in.w * (uint64_t)l->in.c * (uint64_t)l->out.c;
  default:
    return 0;
  }
}

struct mafat_weight_counts mafat_layer_weight_counts(const struct mafat_layer *l)
{
  struct mafat_weight_counts n = {0, 0, 0};
  uint64_t taps = (uint64_t)l->size * (uint64_t)l->size;
  uint64_t out_floats = (uint64_t)l->out.h * (uint64_t)l->out.w * (uint64_t)l->out.c;
  uint64_t in_floats = (uint64_t)l->in.h * (uint64_t)l->in.w * (uint64_t)l->in.c;
  switch (l->type) {
  case MAFAT_CONVOLUTIONAL:
    n.biases = (uint64_t)l->filters;
    n.normalization = l->batch_normalize ? 3 * n.biases : 0;
    n.weights = n.biases * (uint64_t)(l->in.c / l->groups) * taps;
    break;
  case MAFAT_CONNECTED:
    n.biases = (uint64_t)l->out.c;
    n.normalization = l->batch_normalize ? 3 * n.biases : 0;
    n.weights = n.biases * in_floats;
    break;
  case MAFAT_LOCAL:
    n.biases = out_floats;
    n.weights = out_floats * (uint64_t)l->in.c * taps;
    break;
  case MAFAT_BATCHNORM:
    n.normalization = 3 * (uint64_t)l->in.c;
    break;
  default:
    break;
  }
  return n;
}
