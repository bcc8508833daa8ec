/* Link from a model that is one of several ranks to the other ranks: properties and callbacks. The
 * program that passes messages (programs/mafat_ranks) fills it; the library calls it. Included by
 * api/model.h and programs/mafat_ranks/mpi_link.h. Declares a struct only. */
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
  double bits_per_second, seconds; /* speed of the link between any two ranks, and latency of a
                                      message, which a search assumes */
  int ahead; /* pictures that rank 0 begins before it waits for the first result; 0: it waits for
                each */
  size_t late_bytes; /* bytes by which passing messages makes the process grow after opening */
  bool sums_apart; /* float sums of several ranks are added on the last one; the bits differ from
                      those of a single device */
  /* Called when opening begins. Exchanges identities. MAFAT_EINVAL on all ranks if one differs. */
  int (*opening)(void *context, const struct mafat_rank_identity *id, struct mafat_diagnostic *d);
  /* Called when opening has ended on this rank, with its error code and the plan's checksum.
   * Returns the same code on all ranks; the diagnostic names a rank that failed or has another
   * plan. */
  int (*opened)(void *context, int code, uint64_t plan, struct mafat_diagnostic *d);
  /* Called when a run begins; rank 0 begins it on all ranks. */
  int (*begin)(void *context, struct mafat_diagnostic *d);
  /* Called when the run has ended with `code`; after a failure, it must not wait for other
   * ranks. */
  void (*ended)(void *context, int code, const struct mafat_diagnostic *d);
  struct mafat_exchanger exchanger;
  void *context;
};

#endif
