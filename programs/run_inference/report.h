/* Writes reports of a run besides its results: --report's table, a note on memory, and whether the
 * prediction held. Allocates; prints on standard error. Included by run_inference.c and video.c. */
#ifndef MAFAT_PROGRAM_REPORT_H
#define MAFAT_PROGRAM_REPORT_H

#include "programs/run_inference/output.h"
#include "programs/run_inference/session.h"

/* On standard output, with --json on standard error. MAFAT_EIO, MAFAT_ENOMEM. */
int mafat_report_print_table(struct mafat_session *s, const struct mafat_run_report *r);
/* Prints on standard error. */
void mafat_report_print_note(const struct mafat_session *s, const struct mafat_run_report *r);
/* Warns if boxes were left out. */
void mafat_report_left_out(struct mafat_session *s, const struct mafat_run_report *r);
/* Warns if measurements contradict the prediction. */
void mafat_report_check(struct mafat_session *s, const struct mafat_run_report *r);

#endif
