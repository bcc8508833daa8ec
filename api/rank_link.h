/* Link of a model that is one of several ranks of a plan. Filled by the program that passes
 * messages (programs/mafat_ranks); the library only calls it. Included by api/model.h and
 * programs/mafat_ranks/mpi_link.h. Declares a struct of callbacks only. */
#ifndef MAFAT_API_RANK_LINK_H
#define MAFAT_API_RANK_LINK_H

#include "runner/engine/executor.h"
#include "api/rank_identity.h"

struct mafat_rank_link {
  int rank, n_ranks;
  const size_t *budgets; /* (n_ranks) each rank's budget for arena and weights; NULL: the model's
                            options for all */
  const double *speeds;  /* (n_ranks) relative to the machine that a search assumes; NULL: 1 for
                            all */
  double bits_per_second, seconds; /* link between any two ranks, and latency of a message, that a
                                      search assumes */
  int ahead; /* pictures that rank 0 begins before it waits for the first result; 0: waits for
                each */
  size_t late_bytes; /* growth of the process by passing messages, since the model was opened */
  bool sums_apart; /* float sums of several ranks are added on the last one; bits differ from a
                      single device's */
  /* Opening begins, on rank 0 for all; ranks exchange identities. MAFAT_EINVAL on all ranks if one
   * differs. */
  int (*opening)(void *context, const struct mafat_rank_identity *id, struct mafat_diagnostic *d);
  /* Opening ended on this rank with `code` and the plan's checksum. All ranks get the same answer,
   * which names a rank that failed or has another plan. */
  int (*opened)(void *context, int code, uint64_t plan, struct mafat_diagnostic *d);
  /* Rank 0: begins a run on all ranks. */
  int (*begin)(void *context, struct mafat_diagnostic *d);
  /* The run ended with `code`; after a failure, do not wait for other ranks. */
  void (*ended)(void *context, int code, const struct mafat_diagnostic *d);
  struct mafat_exchanger exchanger;
  void *context;
};

#endif
