/* Shows the progress of long work on a terminal: one line of standard error, which is overwritten
 * as work goes on and erased at the end. Writes nothing if standard error is not a terminal.
 * There is one line at a time; other output must erase it first. Allocates nothing. Included by
 * programs/make_weights/numbers.c, programs/pack_weights/pack_weights.c and
 * programs/run_inference. */
#ifndef MAFAT_PROGRAMS_SHARED_PROGRESS_H
#define MAFAT_PROGRAMS_SHARED_PROGRESS_H

#include <stdbool.h>

/* Begins. what: name of the work, such as "packing"; the string must stay valid until the end.
 * quiet: nothing is shown. */
void mafat_progress_begin(const char *what, bool quiet);
/* Shows the share of the work that is done, from 0 to 1. The line changes with each percent. */
void mafat_progress_show(double share);
/* Shows item n of `all`; n counts from 1. */
void mafat_progress_count(int n, int all);
/* true if a line is shown */
extern bool mafat_progress_is_shown;
void mafat_progress_wipe(void);
/* Erases the line; the next call of mafat_progress_show draws it again. If no line is shown, as
 * in nearly every run, this calls no code of progress.c, so none of it becomes resident. */
static inline void mafat_progress_erase(void)
{
  if (mafat_progress_is_shown) mafat_progress_wipe();
}
/* Erases the line and ends the progress. */
void mafat_progress_end(void);

#endif
