/* Parts on several devices (ranks): which rank runs which part, and which messages ranks exchange.
 * Called by predictor/ (planning/lay.c, schedule/fetches.c, layout/buffers.c, cost/rank_latency.c)
 * and runner/weights. Changes the plan; allocates from its heap.
 *
 * A part runs on one rank. If parts on another rank read its output, one message carries to that
 * rank all rows and columns that these parts read. If ranks share a sum over input channels, each
 * rank continues the sums of the rank before it, in channel order; so no bit depends on the number
 * of ranks (unless the options have sums_apart). The last part of a layer runs on rank 0, because
 * rank 0 has the network's inputs and gets its outputs.
 *
 * All ranks have the same execution order of parts. A message is sent after the part that it
 * carries. It is received before the first part that reads it; at that place in the order, the
 * sender waits until the message is sent. Everything that a rank waits for is earlier in the order,
 * so there is no deadlock. */
#ifndef MAFAT_PREDICTOR_RANKS_RANK_PARTS_H
#define MAFAT_PREDICTOR_RANKS_RANK_PARTS_H

#include "predictor/plan/partition.h"
#include "predictor/plan/plan.h"

/* Returns the rank that runs a part. The plan must have ranks. */
int mafat_rank_parts_of(const struct mafat_plan *plan, const struct mafat_network *n,
                        const struct mafat_layer_part *part);

/* Replaces the list of plan->parts by the parts and messages of one rank, plan->rank. Restricts
 * partitions to what this rank stores, and fills plan->own_filters and plan->own_channels.
 * MAFAT_ENOMEM. */
int mafat_rank_parts_take(struct mafat_plan *plan, const struct mafat_network *n,
                          const struct mafat_plan_options *options, struct mafat_diagnostic *d);

/* Range of a layer's packed weights that the plan's rank keeps: number of bytes before it, and its
 * bytes. plan NULL: the whole layer. */
size_t mafat_rank_kept_before(const struct mafat_plan *plan, const struct mafat_network *n,
                              int layer);
size_t mafat_rank_kept_bytes(const struct mafat_plan *plan, const struct mafat_network *n,
                             int layer);

/* mafat_rank_keeps_channels: true if the plan's rank keeps, of each panel of the layer, only the
 * weights of some input channels. Then mafat_rank_kept_panel returns the bytes that the rank keeps
 * of the panels before first_filter. */
bool mafat_rank_keeps_channels(const struct mafat_plan *plan, int layer);
size_t mafat_rank_kept_panel(const struct mafat_plan *plan, const struct mafat_network *n,
                             int layer, int first_filter);

/* Number of values in the part's region of its layer's output number `output`; a message with this
 * part carries as many. */
uint64_t mafat_rank_part_values(const struct mafat_network *n, const struct mafat_layer_part *part,
                                int output);

#endif
