/* Progress of long work, for terminals: one line of standard error, overwritten as work goes on and
 * erased at the end. Nothing is written if standard error is no terminal. Only one at a time: any
 * other output erases it first. Allocates nothing. Included by programs/make_weights/numbers.c,
 * programs/pack_weights/pack_weights.c and programs/run_inference. */
#ifndef MAFAT_PROGRAMS_SHARED_PROGRESS_H
#define MAFAT_PROGRAMS_SHARED_PROGRESS_H

#include <stdbool.h>

/* what: name of the work, such as "packing"; must be valid until the end. quiet: shows nothing. */
void mafat_progress_begin(const char *what, bool quiet);
/* share: 0 to 1. The line changes with each percent. */
void mafat_progress_show(double share);
/* Shows item n of `all`; n counts from 1. */
void mafat_progress_count(int n, int all);
/* true if a line is shown */
extern bool mafat_progress_is_shown;
void mafat_progress_wipe(void);
/* Erases the line until the next share. If none is shown, as in nearly every run, no code of
 * progress.c is called, so none of it becomes resident. */
static inline void mafat_progress_erase(void)
{
  if (mafat_progress_is_shown) mafat_progress_wipe();
}
/* Erases the line and ends the progress. */
void mafat_progress_end(void);

#endif
