/* What mafat_ranks takes beside the options of run_inference. */
#ifndef MAFAT_PROGRAM_RANKS_OPTIONS_H
#define MAFAT_PROGRAM_RANKS_OPTIONS_H

#include "include/mafat.h"

struct mafat_ranks_options {
  double timeout_seconds; /* --timeout, default 30; 0: none */
};

/* Takes its own out of the arguments, which *argc and argv are without them then. MAFAT_EINVAL: an option and what it expects. */
int mafat_ranks_options_take(struct mafat_ranks_options *o, int *argc, char **argv, struct mafat_diagnostic *d);

extern const char mafat_ranks_help[];

#endif
