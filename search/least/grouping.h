/* Divides an order of layers into groups with the least arena. A group's memory depends on its own
 * layers only, so dynamic programming over the possible cuts finds the grouping whose largest
 * group is smallest. Included by search/best/best.c. Allocates in the options' heap. */
#ifndef MAFAT_SEARCH_LEAST_GROUPING_H
#define MAFAT_SEARCH_LEAST_GROUPING_H

#include "search/common/front.h"
#include "search/least/sequence.h"

/* True if maps have so few rows, like tokens, that groups are tiled by columns rather than split by
 * rows. */
bool mafat_grouping_tiles(const struct mafat_network *network);

/* Takes the best grouping of this order into a front of one plan, if it is better (least.h).
 * Effort: at most `evaluations`, in plans times their layers. MAFAT_ENOMEM. */
int mafat_grouping_least(struct mafat_front *front, const struct mafat_search_request *request,
                         const struct mafat_sequence *sequence, long long evaluations,
                         struct mafat_diagnostic *d);

#endif
