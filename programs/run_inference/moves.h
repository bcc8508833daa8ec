/* --fast-memory: a table of units, or an array of objects. */
#ifndef MAFAT_PROGRAM_MOVES_H
#define MAFAT_PROGRAM_MOVES_H

#include "include/mafat_plan.h"
#include "programs/shared/writer.h"

/* objective NULL: of the plan. */
void mafat_moves_write_text(const struct mafat_moves *m, size_t fast_bytes, const char *objective, struct mafat_writer *w);
void mafat_moves_write_json(const struct mafat_moves *m, size_t fast_bytes, const char *objective, struct mafat_writer *w);

#endif
