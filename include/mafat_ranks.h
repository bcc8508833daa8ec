/* Plans for several devices: predicts the memory of each rank (process) of mafat_ranks(1), and the
 * time of a run. Sizes, defaults, errors and ownership are described in mafat.h. */
#ifndef MAFAT_RANKS_H
#define MAFAT_RANKS_H

#include "mafat_plan.h"

#ifdef __cplusplus
extern "C" {
#endif

struct mafat_ranks_request {
  size_t size;
  int n_ranks;
  const char *search;          /* default "deeperthings"; "fdto", "layers", "best"; ignored if the
                                  dry run has a plan */
  double link_bits_per_second; /* speed of the link between any two ranks */
  double link_seconds;         /* latency per message */
  /* (n_ranks) speed of each rank, relative to the predictions for this machine, above 0; default:
   * all 1. Searches give each rank work in proportion to its speed */
  const double *speeds;
  const size_t *memory_bytes;  /* (n_ranks) budget for arena and weights; default: the dry run's
                                  budget, if its options gave one */
  double plan_seconds; /* time limit of the search "best"; default: the dry run's limit, if any */
};

struct mafat_rank_facts {
  size_t arena_bytes, weights_bytes; /* arena and kept weights of this rank */
  uint64_t sent_bytes, received_bytes;
  int messages;                      /* sent */
  double compute_ms, waiting_ms;     /* waiting_ms: waiting for data from other ranks */
};

struct mafat_shared_layer_facts {
  int layer;
  const char *type, *how; /* how: "rows", "fan-out", "fused-out", "fused-in", "whole" */
};

/* Lists and texts belong to the plan report. */
struct mafat_ranks_facts {
  size_t size;
  const char *plan, *search; /* search: NULL if the plan was given */
  int n_ranks;
  const struct mafat_rank_facts *ranks; /* (n_ranks) */
  int switch_layer;          /* first layer whose weights are divided among the ranks; -1: none */
  int n_layers;
  const struct mafat_shared_layer_facts *layers; /* (n_layers) layers with weights */
  uint64_t exchanged_bytes;
  double latency_ms;         /* until rank 0 has the output */
};

struct mafat_ranks_report;

/* Names of searches for several devices, the default first; NULL: out of range. */
MAFAT_API const char *mafat_ranks_search(int index);

/* Plans for several devices and predicts their memory and time. MAFAT_ELIMIT: a rank needs more
 * than its memory. MAFAT_EINVAL: invalid request. *out is NULL after a failure. */
MAFAT_API int mafat_dry_run_ranks(struct mafat_ranks_report **out,
                                  const struct mafat_dry_run *dry_run,
                                  const struct mafat_ranks_request *request,
                                  struct mafat_diagnostic *d);
MAFAT_API int mafat_ranks_report_describe(const struct mafat_ranks_report *report,
                                          struct mafat_ranks_facts *facts);
MAFAT_API void mafat_ranks_report_close(struct mafat_ranks_report **report);

#ifdef __cplusplus
}
#endif

#endif
