/* The grouping of a network's layers into groups whose arenas are least. What a group needs depends on its own layers
 * only: so the fullest group of the best grouping is found by dynamic programming over places to cut at. */
#ifndef MAFAT_SEARCH_LEAST_GROUPING_H
#define MAFAT_SEARCH_LEAST_GROUPING_H

#include "search/common/front.h"
#include "search/least/sequence.h"

/* Are maps of so few rows, as of tokens, that groups are cut into tiles of columns, and not by rows? */
bool mafat_grouping_tiles(const struct mafat_network *network);

/* Into a front of one plan takes the best of what is found in this order of layers, where it is better (least.h). Looks
 * at `looks` layers at most: plans times their layers. MAFAT_ENOMEM. */
int mafat_grouping_least(struct mafat_front *front, const struct mafat_search_request *request,
                          const struct mafat_sequence *sequence, long long looks, struct mafat_diagnostic *d);

#endif
