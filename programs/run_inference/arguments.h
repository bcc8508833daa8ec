/* Finds arguments that stand in the wrong place: a picture where the model belongs, or weights that
 * are missing. Included by options.c and arguments.c. */
#ifndef MAFAT_PROGRAMS_RUN_INFERENCE_ARGUMENTS_H
#define MAFAT_PROGRAMS_RUN_INFERENCE_ARGUMENTS_H

#include <stdbool.h>

#include "include/mafat.h"

/* Checks that the files of the model and of its weights are no pictures, empty files or folders.
 * Opens regular files for reading and closes them. A file that cannot be opened passes: the code
 * that reads it later has a better message.
 * rest: (n) arguments after the options. alone: the first one holds both network and weights.
 * Returns MAFAT_OK or MAFAT_EINVAL: the message names the argument, what was found, and the
 * expected order. */
int mafat_arguments_check(char *const *rest, int n, bool alone, struct mafat_diagnostic *d);

#endif
