/* Progress of long work, for terminals: one line of standard error, overwritten as work goes on and
 * erased at the end. Nothing is written if standard error is no terminal. Only one at a time: any
 * other output erases it first. Allocates nothing. Included by programs/make_weights/numbers.c,
 * programs/pack_weights/pack_weights.c and programs/run_inference. */
#ifndef MAFAT_PROGRAMS_SHARED_PROGRESS_H
#define MAFAT_PROGRAMS_SHARED_PROGRESS_H

#include <stdbool.h>

/* what: "packing", stays the caller's until it is erased. quiet: nothing is shown. */
void mafat_progress_begin(const char *what, bool quiet);
/* share: 0 to 1. What is shown changes with each percent. */
void mafat_progress_show(double share);
/* n of them, of a number that is known; n counts from 1. */
void mafat_progress_count(int n, int all);
/* Is a line there? */
extern bool mafat_progress_is_shown;
void mafat_progress_wipe(void);
/* The line goes, to come again with the next share. Where there is none, as in nearly every run, no
 * code of progress.c is entered, which would be resident then. */
static inline void mafat_progress_erase(void)
{
  if (mafat_progress_is_shown) mafat_progress_wipe();
}
/* The line goes, and comes no more. */
void mafat_progress_end(void);

#endif
