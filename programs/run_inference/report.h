/* Writes reports of a run besides its results: the table of --report, a note on memory, and
 * warnings. Allocates; prints on standard output and standard error. Included by run_inference.c
 * and video.c. */
#ifndef MAFAT_PROGRAM_REPORT_H
#define MAFAT_PROGRAM_REPORT_H

#include "programs/run_inference/output.h"
#include "programs/run_inference/session.h"

/* Prints the table of --report on standard output, or, if --json is given, on standard error.
 * Returns MAFAT_OK, MAFAT_EIO or MAFAT_ENOMEM. */
int mafat_report_print_table(struct mafat_session *s, const struct mafat_run_report *r);
/* Prints the note on memory on standard error. */
void mafat_report_print_note(const struct mafat_session *s, const struct mafat_run_report *r);
/* Warns if a picture had more boxes above the threshold than max_boxes, so that some were
 * dropped. */
void mafat_report_left_out(struct mafat_session *s, const struct mafat_run_report *r);
/* Warns if measured memory contradicts the prediction. */
void mafat_report_check(struct mafat_session *s, const struct mafat_run_report *r);

#endif
