/* Chooses the head that decodes a network's outputs: by name, or by the outputs' dimensions.
 * Constant table; allocates nothing. Included by api/choose.c. */
#ifndef MAFAT_RUNNER_DETECT_HEADS_HEADS_H
#define MAFAT_RUNNER_DETECT_HEADS_HEADS_H

#include "include/mafat.h"
#include "network/network.h"

/* Fills n->decoded. name: a head's; "auto" or NULL: the first head that alone has such dimensions,
 * if any; "darknet": layers that are heads; "none". Darknet networks, and parts of networks, only
 * allow the latter two. MAFAT_EINVAL: unknown name, or the outputs do not fit. */
int mafat_heads_choose(struct mafat_network *n, int n_layers, const char *name,
                       struct mafat_diagnostic *d);

#endif
