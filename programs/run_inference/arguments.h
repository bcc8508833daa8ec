/* Finds arguments that stand in the wrong place: a picture where the model belongs, or weights that
 * are missing. Included by options.c and arguments.c. */
#ifndef MAFAT_PROGRAMS_RUN_INFERENCE_ARGUMENTS_H
#define MAFAT_PROGRAMS_RUN_INFERENCE_ARGUMENTS_H

#include <stdbool.h>

#include "include/mafat.h"

/* Checks what the first bytes of the model's and the weights' files show. Opens regular files for
 * reading and closes them; passes what it cannot open, for the readers have better messages.
 * rest: (n) arguments after the options. alone: the first one holds network and weights.
 * MAFAT_EINVAL: names the argument, what it is, and the expected order. */
int mafat_arguments_check(char *const *rest, int n, bool alone, struct mafat_diagnostic *d);

#endif
