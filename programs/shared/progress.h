/* How far something is that takes a while, for who looks at a terminal: one line of standard error,
 * written over as it goes on and erased at the end, so that nothing of it stays. Where standard
 * error is no terminal nothing is written. One at a time: whatever else is about to be printed
 * erases it first. */
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
