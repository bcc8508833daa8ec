/* Common subexpression elimination: merges layers that compute the same output. Exporters often
 * write one ReLU or pool for each reader of a map. Included by formats/graph/graph.c. Allocates
 * tables of the network's size, and frees them before it returns. */
#ifndef MAFAT_NETWORK_MERGE_H
#define MAFAT_NETWORK_MERGE_H

#include "network/network.h"

/* Turns each layer that computes the same output as an earlier one into a route to that layer, and
 * redirects its readers. Only layers without weights are merged. Layers keep their indices. Returns
 * MAFAT_OK or MAFAT_ENOMEM. */
int mafat_network_merge(struct mafat_network *network);

#endif
