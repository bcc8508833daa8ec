/* Options that a program has beside those of run_inference, which it takes as well: they are taken out of the arguments. */
#ifndef MAFAT_PROGRAM_OWN_OPTIONS_H
#define MAFAT_PROGRAM_OWN_OPTIONS_H

#include <stdbool.h>

#include "include/mafat.h"

struct mafat_own_option {
  const char *name;    /* "--timeout" */
  const char *expects; /* a value; NULL: none */
  bool (*read)(void *options, const char *value); /* false: it is none that is expected; value NULL where there is none */
};

/* Each of n rows as often as it is given, in order, with its value behind it or behind a =; what is left of the arguments is ended by
 * NULL. MAFAT_EINVAL. */
int mafat_own_options_take(void *options, const struct mafat_own_option *rows, int n, int *argc, char **argv, struct mafat_diagnostic *d);

#endif
