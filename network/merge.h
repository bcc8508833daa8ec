/* Layers that compute what an earlier one does: files have a ReLU, or a pool, for each reader of the same map. */
#ifndef MAFAT_NETWORK_MERGE_H
#define MAFAT_NETWORK_MERGE_H

#include "network/network.h"

/* Each layer without constants that puts out what an earlier one does, number for number, becomes a route to that one, which its
 * readers read. Layers keep their numbers. MAFAT_ENOMEM. */
int mafat_network_merge(struct mafat_network *network);

#endif
