/* A model as plain data: layers, shapes, edges. Made by a reader in formats/, never
 * changed afterwards, made without weights.
 *
 * A *tensor* is the output of a layer that computes something, or the network's
 * input (MAFAT_INPUT). Layers that only rename (route, dropout, cost) have no
 * tensor of their own: whoever reads them reads the tensors behind them, as a
 * list of sources. A concatenation therefore never exists in memory. */
#ifndef MAFAT_NETWORK_NETWORK_H
#define MAFAT_NETWORK_NETWORK_H

#include "base/error.h"
#include "network/kind.h"

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
  struct mafat_constants *constants; /* constant.h: in the file of weights that it usually comes with */
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

const char *mafat_activation_name(enum mafat_activation activation);

/* Is it an output of the first n_layers: the last of them, a head, or one that was asked for? */
static inline bool mafat_network_is_output(const struct mafat_network *n, int n_layers, int layer)
{
  return layer == n_layers - 1 || mafat_layer_is_head(&n->layers[layer]) || n->layers[layer].output;
}

/* Shape of a tensor (a layer's output or the network's input). */
struct mafat_shape mafat_network_tensor_shape(const struct mafat_network *n, int tensor);

/* What the output of layer `index` consists of: itself, or what it renames. */
struct mafat_sources mafat_network_output_sources(const struct mafat_network *n, int index,
                                                  struct mafat_source *self);

#endif
