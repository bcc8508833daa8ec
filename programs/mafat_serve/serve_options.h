/* What mafat_serve's command line has beside run_inference's options. */
#ifndef MAFAT_PROGRAM_SERVE_OPTIONS_H
#define MAFAT_PROGRAM_SERVE_OPTIONS_H

#include "include/mafat.h"
#include "programs/run_inference/options.h"
#include "programs/shared/sandbox/filter.h"

struct mafat_serve_options {
  const char *listen[MAFAT_SANDBOX_DOORS]; /* --listen (n_listen): ADDRESS:PORT */
  int n_listen;
  const char *token_file; /* --token-file; NULL: none */
  size_t room_bytes;      /* --room; 0: by the budget */
  double timeout_ms;      /* --timeout */
  double wait_ms;         /* --wait */
};

/* Takes its own options out of the arguments; the rest is run_inference's. MAFAT_EINVAL. */
int mafat_serve_options_take(struct mafat_serve_options *o, int *argc, char **argv, struct mafat_diagnostic *d);
/* MAFAT_EINVAL: of the rest, what makes no sense where pictures come later. */
int mafat_serve_options_check(const struct mafat_options *o, struct mafat_diagnostic *d);

extern const char mafat_serve_help[];

#endif
