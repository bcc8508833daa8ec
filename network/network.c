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
    [MAFAT_HARD_MISH] = "hard_mish",
};

const char *mafat_activation_name(enum mafat_activation activation)
{
  return (unsigned)activation < MAFAT_N_ACTIVATIONS ? activation_names[activation] : "unknown";
}

void mafat_network_shorten(struct mafat_network *network, int n)
{
  for (int i = n; i < network->n_layers; i++) {
    struct mafat_layer *l = &network->layers[i];
    for (int k = 0; k < l->n_operands; k++) free(l->operands[k].sources.list);
    free(l->operands);
    free(l->head.anchors);
    *l = (struct mafat_layer){.operands = NULL};
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

struct mafat_shape mafat_network_tensor_shape(const struct mafat_network *n, int tensor)
{
  return tensor == MAFAT_INPUT ? n->input : n->layers[tensor].out;
}

struct mafat_sources mafat_network_output_sources(const struct mafat_network *n, int index,
                                                  struct mafat_source *self)
{
  if (index != MAFAT_INPUT && mafat_layer_is_alias(&n->layers[index]))
    return *mafat_layer_sources(&n->layers[index]);
  *self = (struct mafat_source){index, 0, mafat_network_tensor_shape(n, index).c};
  return (struct mafat_sources){self, 1};
}
