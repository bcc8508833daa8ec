/* Divides a sequence of layers into groups, so that the arena is as small as possible. A group's
 * memory depends almost only on its own layers, so dynamic programming over the possible cuts can
 * find the grouping whose largest group has the fewest bytes. Included by search/best/best.c.
 * Temporary memory is in request->options->heap. */
#ifndef MAFAT_SEARCH_LEAST_GROUPING_H
#define MAFAT_SEARCH_LEAST_GROUPING_H

#include "search/common/front.h"
#include "search/least/sequence.h"

/* True if the network's input has few rows, as sequences of tokens have. Then groups are tiled by
 * columns, instead of running by rows. */
bool mafat_grouping_tiles(const struct mafat_network *network);

/* Finds the grouping of this sequence with the smallest arena. Replaces the front's only plan by it
 * if it is better (mafat_least_take). evaluations: limit of effort (common/effort.h), if the
 * request has no deadline. Returns MAFAT_OK or MAFAT_ENOMEM. */
int mafat_grouping_least(struct mafat_front *front, const struct mafat_search_request *request,
                         const struct mafat_sequence *sequence, long long evaluations,
                         struct mafat_diagnostic *d);

#endif
