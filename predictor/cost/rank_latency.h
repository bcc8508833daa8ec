/* Predicts memory, traffic and time of each rank of a plan, from a calibration and a link between
 * every two ranks. The ranks' schedules are walked dry together; a rank waits at a receive until
 * the message is sent. Called by api/rank_choice.c. */
#ifndef MAFAT_PREDICTOR_COST_RANK_LATENCY_H
#define MAFAT_PREDICTOR_COST_RANK_LATENCY_H

#include "predictor/cost/calibration.h"
#include "predictor/layout/layout.h"

/* Link of one rank. Its messages go out one after the other while it computes. */
struct mafat_rank_wire {
  double bits_per_second, seconds; /* seconds: fixed latency of a message */
};

struct mafat_rank_costs {
  size_t arena_bytes, kept_bytes;
  uint64_t sent_bytes, received_bytes;
  int n_messages; /* messages sent */
  double compute_ms, waiting_ms, total_ms; /* total_ms: end of its last step */
};

/* Fills costs (n_ranks) for plans and layouts of ranks 0, 1, ... Reads of weights that are not kept
 * take no time. speeds (n_ranks): speed relative to the calibrated machine; NULL: 1 for all.
 * MAFAT_ENOMEM. */
int mafat_rank_latency(struct mafat_rank_costs *costs, struct mafat_plan *const *plans,
                       struct mafat_layout *const *layouts, int n_ranks,
                       const struct mafat_network *n, const struct mafat_calibration *calibration,
                       const struct mafat_rank_wire *wire, const double *speeds);

/* Bytes of a part as sent. */
uint64_t mafat_rank_part_bytes(const struct mafat_network *n, const struct mafat_layer_part *part);

#endif
