/* Random weights for a network: uniform with He's scale, sqrt(6 / fan-in), corrected by an estimate
 * of the magnitude of the layer's inputs (energy), so that activations neither grow nor vanish at
 * any depth. Allocates. Included by like.c and make_weights.c. */
#ifndef MAFAT_PROGRAMS_MAKE_WEIGHTS_RECIPE_H
#define MAFAT_PROGRAMS_MAKE_WEIGHTS_RECIPE_H

#include "network/network.h"

/* Plain data, [operator]. */
struct recipe {
  float energy;  /* estimated mean square of the layer's outputs */
  float limit;   /* weights are uniform in [-limit, limit] */
  float branch;  /* factor of the scales: less than 1 at the end of a shortcut's branch */
  int head;      /* the detection head it feeds, or -1 */
};

/* A filter in front of a detection head: its weights' factor and its bias. */
struct aim {
  float gain, bias;
};

/* [operator], to be freed. MAFAT_ENOMEM. */
int make_recipes(struct recipe **out, const struct mafat_network *n, struct mafat_diagnostic *d);

/* Boxes near their anchors, objects and classes rarely sure: what is left over a
 * threshold is a matter of luck, but seldom all or nothing. */
struct aim aim_filter(const struct mafat_layer *head, int filter);

#endif
