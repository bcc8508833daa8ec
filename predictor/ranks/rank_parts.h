/* Split groups on several devices: which rank runs which part, and what ranks send each other for it.
 *
 * A part runs on one rank. Whoever reads on another rank what a part makes is sent that, once: the rows and columns of it that any
 * reader there wants. Sums of a fan-in go on from rank to rank in channel order, so no bit depends on the number of ranks. The last part
 * of a layer runs on rank 0, which has the inputs and gets the outputs; so what crosses is, scheme by scheme, what schemes.h says.
 *
 * All ranks have one order of parts. A message is sent behind the part that makes it, received ahead of the first that reads it,
 * and waited for at that same place: all that a rank waits for stands earlier in that order, so no two wait for each other. */
#ifndef MAFAT_PREDICTOR_RANKS_RANK_PARTS_H
#define MAFAT_PREDICTOR_RANKS_RANK_PARTS_H

#include "predictor/plan/partition.h"
#include "predictor/plan/plan.h"

/* The rank that runs a part of a plan that has ranks. */
int mafat_rank_parts_of(const struct mafat_plan *plan, const struct mafat_network *n, const struct mafat_layer_part *part);

/* Makes plan->parts those of plan->rank, with what it sends and receives. MAFAT_ENOMEM. */
int mafat_rank_parts_take(struct mafat_plan *plan, const struct mafat_network *n, const struct mafat_plan_options *options,
                          struct mafat_diagnostic *d);

/* A layer's weights that are in memory where they are kept: from which of its packed bytes on, and how many. plan: NULL: all. */
size_t mafat_rank_kept_before(const struct mafat_plan *plan, const struct mafat_network *n, int layer);
size_t mafat_rank_kept_bytes(const struct mafat_plan *plan, const struct mafat_network *n, int layer);

/* Are they, of all panels, those of some input channels? Then: of the panel that begins with that filter, how many bytes lie
 * before it. */
bool mafat_rank_keeps_channels(const struct mafat_plan *plan, int layer);
size_t mafat_rank_kept_panel(const struct mafat_plan *plan, const struct mafat_network *n, int layer, int first_filter);

/* Values that a part is of an output of its layer: what is sent of it. */
uint64_t mafat_rank_part_values(const struct mafat_network *n, const struct mafat_layer_part *part, int output);

#endif
