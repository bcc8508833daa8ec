/* What a plan costs each of its ranks: memory, bytes that it sends and receives, and time, by the prices of a calibration and a
 * link between any two ranks. The ranks' lists are walked dry together, each until it waits for what another one has not sent. */
#ifndef MAFAT_PREDICTOR_COST_RANK_LATENCY_H
#define MAFAT_PREDICTOR_COST_RANK_LATENCY_H

#include "predictor/cost/calibration.h"
#include "predictor/layout/layout.h"

/* Each rank's own: what it sends goes out one after the other, while it computes. */
struct mafat_rank_wire {
  double bits_per_second, seconds; /* of a message beside its bytes */
};

struct mafat_rank_costs {
  size_t arena_bytes, kept_bytes;
  uint64_t sent_bytes, received_bytes;
  int n_messages; /* that it sends */
  double compute_ms, waiting_ms, total_ms; /* total: when it is done */
};

/* costs (n_ranks) of plans and layouts, of ranks 0, 1, ...; reads of weights that are not kept take no time. speeds (n_ranks): how fast
 * each computes beside the calibration's machine; NULL: all as that one. MAFAT_ENOMEM. */
int mafat_rank_latency(struct mafat_rank_costs *costs, struct mafat_plan *const *plans, struct mafat_layout *const *layouts, int n_ranks,
                       const struct mafat_network *n, const struct mafat_calibration *calibration,
                       const struct mafat_rank_wire *wire, const double *speeds);

/* Bytes of what a part is, as it is sent. */
uint64_t mafat_rank_part_bytes(const struct mafat_network *n, const struct mafat_layer_part *part);

#endif
