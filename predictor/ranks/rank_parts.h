/* Parts on several devices (ranks): which rank runs which part, and which messages ranks exchange.
 * Called by predictor/ (planning/lay.c, schedule/fetches.c, layout/buffers.c, cost/rank_latency.c)
 * and runner/weights.
 *
 * A part runs on one rank. If parts on another rank read its output, it is sent to that rank once:
 * the rows and columns that any of them reads. Sums over input channels that are divided among
 * ranks continue from rank to rank in channel order, so no bit depends on the number of ranks. The
 * last part of a layer runs on rank 0, which has the inputs and gets the outputs.
 *
 * All ranks have one order of parts. A message is sent after the part that it carries. It is
 * received before the first part that reads it; the sender waits for its end there, too. Everything
 * that a rank waits for is earlier in that order, so there is no deadlock. */
#ifndef MAFAT_PREDICTOR_RANKS_RANK_PARTS_H
#define MAFAT_PREDICTOR_RANKS_RANK_PARTS_H

#include "predictor/plan/partition.h"
#include "predictor/plan/plan.h"

/* Returns the rank that runs a part, in a plan with ranks. */
int mafat_rank_parts_of(const struct mafat_plan *plan, const struct mafat_network *n,
                        const struct mafat_layer_part *part);

/* Replaces the list of plan->parts by the parts of plan->rank and its messages, adapts the
 * partitions, and fills plan->own_filters and own_channels. MAFAT_ENOMEM. */
int mafat_rank_parts_take(struct mafat_plan *plan, const struct mafat_network *n,
                          const struct mafat_plan_options *options, struct mafat_diagnostic *d);

/* Range of a layer's packed weights that the plan's rank keeps: first byte, and number of bytes. A
 * NULL plan keeps all. */
size_t mafat_rank_kept_before(const struct mafat_plan *plan, const struct mafat_network *n,
                              int layer);
size_t mafat_rank_kept_bytes(const struct mafat_plan *plan, const struct mafat_network *n,
                             int layer);

/* True if a rank keeps some input channels of all panels. Then mafat_rank_kept_panel returns the
 * bytes before the panel that begins at a filter. */
bool mafat_rank_keeps_channels(const struct mafat_plan *plan, int layer);
size_t mafat_rank_kept_panel(const struct mafat_plan *plan, const struct mafat_network *n,
                             int layer, int first_filter);

/* Number of values of a part that are sent for output number `output` of its layer. */
uint64_t mafat_rank_part_values(const struct mafat_network *n, const struct mafat_layer_part *part,
                                int output);

#endif
