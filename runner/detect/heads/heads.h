/* Chooses the head that decodes a network's outputs: by name, or by the outputs' dimensions.
 * Constant table; allocates nothing. Included by api/choose.c. */
#ifndef MAFAT_RUNNER_DETECT_HEADS_HEADS_H
#define MAFAT_RUNNER_DETECT_HEADS_HEADS_H

#include "include/mafat.h"
#include "network/network.h"

/* Sets n->decoded. name: that of a head; "auto" or NULL: the first head whose dimensions the
 * outputs have and no other head has, if there is one; "darknet": only layers that are heads;
 * "none": nothing is decoded. Networks from cfg files, and parts of networks, allow no named head.
 * MAFAT_EINVAL: unknown name, or the outputs do not fit. */
int mafat_heads_choose(struct mafat_network *n, int n_layers, const char *name,
                       struct mafat_diagnostic *d);

#endif
