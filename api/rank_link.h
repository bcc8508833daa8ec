/* A model that is one of several ranks of a plan: what of it the others have to know. Whoever passes messages fills it in
 * (programs/mafat_ranks); nothing of the library does. */
#ifndef MAFAT_API_RANK_LINK_H
#define MAFAT_API_RANK_LINK_H

#include "runner/engine/executor.h"
#include "api/rank_identity.h"

struct mafat_rank_link {
  int rank, n_ranks;
  const size_t *budgets; /* (n_ranks) what each has for its arena and weights; NULL: all of them what the model's options say */
  const double *speeds;  /* (n_ranks) beside the machine that a search goes by; NULL: all are as that one */
  double bits_per_second, seconds; /* of any two ranks, and what a message takes: what a search goes by */
  int ahead; /* pictures that rank 0 begins before it waits for what came of the first; 0: it waits for each */
  size_t late_bytes; /* what passing messages makes the process grow by, beside what it had when the model was opened */
  bool sums_apart; /* floats that ranks sum together are added on the last of them: other bits than one device's */
  /* Opening begins: on rank 0 for all of them, and all of them tell what they are. MAFAT_EINVAL on all: one differs. */
  int (*opening)(void *context, const struct mafat_rank_identity *id, struct mafat_diagnostic *d);
  /* Opening ended with that code, on this rank, with the checksum of its plan: all ranks are asked, and all get the same answer,
   * which names the rank that failed, or whose plan is another. */
  int (*opened)(void *context, int code, uint64_t plan, struct mafat_diagnostic *d);
  /* Rank 0: a run begins, in which the others take part. */
  int (*begin)(void *context, struct mafat_diagnostic *d);
  /* It ended with that code; what others have is not to be waited for where it failed. */
  void (*ended)(void *context, int code, const struct mafat_diagnostic *d);
  struct mafat_exchanger exchanger;
  void *context;
};

#endif
