/* What mafat_ranks takes beside the options of run_inference. */
#ifndef MAFAT_PROGRAM_RANKS_OPTIONS_H
#define MAFAT_PROGRAM_RANKS_OPTIONS_H

#include "include/mafat.h"
#include "predictor/plan/spec.h"

#include <stdbool.h>

struct mafat_ranks_options {
  double timeout_seconds; /* --timeout, default 60; 0: none */
  size_t budgets[MAFAT_MOST_RANKS]; /* --memory (n_budgets) */
  bool pipeline;          /* --pipeline */
  bool reduce_fast;       /* --reduce fast */
  double link_bits, link_seconds; /* --link, default 1G:0.1ms */
  int n_budgets;          /* 0: no bounds; 1: the same for all */
  double speeds[MAFAT_MOST_RANKS]; /* --speed (n_speeds) */
  int n_speeds;           /* 0: all are equal */
};

/* Takes its own out of the arguments, which *argc and argv are without them then. MAFAT_EINVAL: an option and what it expects. */
int mafat_ranks_options_take(struct mafat_ranks_options *o, int *argc, char **argv, struct mafat_diagnostic *d);

/* Once it is known how many ranks there are: each has its budget. MAFAT_EINVAL: there are not as many budgets, or speeds. */
int mafat_ranks_options_know(struct mafat_ranks_options *o, int n_ranks, struct mafat_diagnostic *d);

extern const char mafat_ranks_help[];

#endif
