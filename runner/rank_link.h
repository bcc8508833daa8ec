/* A model that is one of several ranks of a plan: what of it the others have to know. Whoever passes messages fills it in
 * (runner/program/mafat_ranks); nothing of the library does. */
#ifndef MAFAT_RUNNER_RANK_LINK_H
#define MAFAT_RUNNER_RANK_LINK_H

#include "runner/executor.h"

struct mafat_rank_link {
  int rank, n_ranks;
  /* Opening begins: on rank 0 for all of them. */
  void (*opening)(void *context);
  /* Opening ended with that code, on this rank: all ranks are asked, and all get the same answer. MAFAT_EINVAL where another one
   * failed: it has told why. */
  int (*opened)(void *context, int code, struct mafat_diagnostic *d);
  /* Rank 0: a run begins, in which the others take part. */
  int (*begin)(void *context, struct mafat_diagnostic *d);
  /* It ended with that code; what others have is not to be waited for where it failed. */
  void (*ended)(void *context, int code, const struct mafat_diagnostic *d);
  struct mafat_exchanger exchanger;
  void *context;
};

#endif
