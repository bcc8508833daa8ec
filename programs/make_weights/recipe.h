/* Random weights for a network: uniform with He's limit, sqrt(6 / fan-in), where fan-in is the
 * number of inputs of one output. The limit is corrected by an estimate of the magnitude of the
 * layer's inputs (energy), so that activations neither grow nor vanish at any depth. Allocates.
 * Included by like.c and make_weights.c. */
#ifndef MAFAT_PROGRAMS_MAKE_WEIGHTS_RECIPE_H
#define MAFAT_PROGRAMS_MAKE_WEIGHTS_RECIPE_H

#include "network/network.h"

/* How to draw the weights of one layer. Recipes are in an array by tensor number. */
struct recipe {
  float energy;  /* estimated mean square of the layer's outputs */
  float limit;   /* weights are uniform in [-limit, limit] */
  float branch;  /* factor of the layer's biases and scales; if it has no scales, of its biases and
                    weights. Below 1 for the last convolution of a shortcut's branch, else 1 */
  int head;      /* layer number of the detection head that reads the output; -1: none */
};

/* Factor of the weights, and bias, of a filter that feeds a detection head. */
struct aim {
  float gain, bias;
};

/* Makes the recipes of all tensors; the caller frees *out. Returns MAFAT_OK or MAFAT_ENOMEM. */
int make_recipes(struct recipe **out, const struct mafat_network *n, struct mafat_diagnostic *d);

/* Factor and bias of a filter that feeds a detection head. They keep boxes near their anchors, and
 * the confidence of most objects and classes low, so that some boxes, but seldom all or none,
 * exceed a threshold. */
struct aim aim_filter(const struct mafat_layer *head, int filter);

#endif
