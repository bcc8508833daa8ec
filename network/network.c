#include "network/network.h"

#include <stdlib.h>
#include <string.h>

static const char *const activation_names[MAFAT_N_ACTIVATIONS] = {
    [MAFAT_LINEAR] = "linear", [MAFAT_LEAKY] = "leaky",       [MAFAT_RELU] = "relu",
    [MAFAT_RELU6] = "relu6",   [MAFAT_LOGISTIC] = "logistic", [MAFAT_MISH] = "mish",
    [MAFAT_SWISH] = "swish",   [MAFAT_ELU] = "elu",           [MAFAT_SELU] = "selu",
    [MAFAT_TANH] = "tanh",     [MAFAT_HARDTAN] = "hardtan",   [MAFAT_RAMP] = "ramp",
    [MAFAT_LOGGY] = "loggy",   [MAFAT_PLSE] = "plse",         [MAFAT_STAIR] = "stair",
    [MAFAT_RELIE] = "relie",   [MAFAT_LHTAN] = "lhtan",
};

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
