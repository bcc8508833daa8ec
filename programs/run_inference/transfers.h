/* Writes the transfers of --fast-memory: as text, a table with a row for each unit of work; as
 * JSON, an array with an object for each unit. Touches only the writer. Included by
 * programs/run_inference. */
#ifndef MAFAT_PROGRAM_TRANSFERS_H
#define MAFAT_PROGRAM_TRANSFERS_H

#include "include/mafat_plan.h"
#include "programs/shared/writer.h"

/* objective: as in mafat_plan_report_transfers. */
void mafat_transfer_report_write_text(const struct mafat_transfer_report *m, size_t fast_bytes,
                                      const char *objective, struct mafat_writer *w);
void mafat_transfer_report_write_json(const struct mafat_transfer_report *m, size_t fast_bytes,
                                      const char *objective, struct mafat_writer *w);

#endif
