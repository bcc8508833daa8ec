/* Which head reads a network's outputs: by its name, or by their dimensions. */
#ifndef MAFAT_RUNNER_DETECT_HEADS_HEADS_H
#define MAFAT_RUNNER_DETECT_HEADS_HEADS_H

#include "include/mafat.h"
#include "network/network.h"

/* Fills n->decoded. name: a head's; "auto" or NULL: the first whose dimensions nothing else has, if any; "darknet":
 * layers that are heads; "none". A network of Darknet's, or part of one, has only the latter. MAFAT_EINVAL: no such
 * name, outputs that are not so. */
int mafat_heads_choose(struct mafat_network *n, int n_layers, const char *name, struct mafat_diagnostic *d);

#endif
