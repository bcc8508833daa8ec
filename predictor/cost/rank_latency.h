/* Predicts memory, traffic and time of each rank (device) of a plan, from a calibration and the
 * speed of the network between ranks. The ranks' schedules are walked together, without running
 * them. A rank waits at a receive until the message arrives. Called by api/rank_choice.c. Allocates
 * from the plans' heap, and frees all of it. */
#ifndef MAFAT_PREDICTOR_COST_RANK_LATENCY_H
#define MAFAT_PREDICTOR_COST_RANK_LATENCY_H

#include "predictor/cost/calibration.h"
#include "predictor/layout/layout.h"

/* Network link; all ranks have the same. A rank sends its messages one after the other, while it
 * computes. */
struct mafat_rank_wire {
  double bits_per_second, seconds; /* seconds: fixed latency of a message */
};

struct mafat_rank_costs {
  size_t arena_bytes, kept_bytes;
  uint64_t sent_bytes, received_bytes;
  int n_messages; /* messages sent */
  /* waiting_ms: time in which the rank waits for messages; total_ms: end of the rank's last step */
  double compute_ms, waiting_ms, total_ms;
};

/* Fills costs[n_ranks], from the plans and layouts of ranks 0, 1, ... speeds[n_ranks]: each rank's
 * speed relative to the calibrated machine; NULL: all 1. Reads of weights are assumed to need no
 * time. Returns MAFAT_ENOMEM if out of memory. */
int mafat_rank_latency(struct mafat_rank_costs *costs, struct mafat_plan *const *plans,
                       struct mafat_layout *const *layouts, int n_ranks,
                       const struct mafat_network *n, const struct mafat_calibration *calibration,
                       const struct mafat_rank_wire *wire, const double *speeds);

/* Returns the bytes of the message that sends a part. */
uint64_t mafat_rank_part_bytes(const struct mafat_network *n, const struct mafat_layer_part *part);

#endif
