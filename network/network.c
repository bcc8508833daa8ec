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

static void free_layer(struct mafat_layer *l)
{
  for (int k = 0; k < l->n_operands; k++) free(l->operands[k].sources.list);
  free(l->operands);
  free(l->head.anchors);
}

/* Sources that are inputs, which lie `by` further to the front. */
static void move_sources(struct mafat_sources *sources, int n_layers, int by)
{
  for (int i = 0; i < mafat_sources_count(sources); i++)
    if (sources->list[i].tensor >= n_layers) sources->list[i].tensor -= by;
}

void mafat_network_shorten(struct mafat_network *network, int n)
{
  struct mafat_layer *layers = network->layers;
  for (int l = 0; l < n; l++)
    for (int k = 0; k < layers[l].n_operands; k++)
      move_sources(&layers[l].operands[k].sources, network->n_layers, network->n_layers - n);
  for (int l = n; l < network->n_layers; l++) free_layer(&layers[l]);
  memmove(layers + n, layers + network->n_layers, (size_t)network->n_inputs * sizeof *layers);
  network->n_layers = n;
}

void mafat_network_close(struct mafat_network **network)
{
  if (!network || !*network) return;
  struct mafat_network *n = *network;
  for (int i = 0; n->layers && i < mafat_network_n_operators(n); i++) free_layer(&n->layers[i]);
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

struct mafat_sources mafat_network_output_sources(const struct mafat_network *n, int index,
                                                  struct mafat_source *self)
{
  if (mafat_layer_is_alias(&n->layers[index]))
    return *mafat_layer_sources(&n->layers[index]);
  struct mafat_shape shape = mafat_network_tensor_shape(n, index);
  *self = (struct mafat_source){index, 0, shape.c, 0, shape.h};
  return (struct mafat_sources){self, 1, 1};
}
