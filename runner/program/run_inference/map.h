/* --map: the arena of a plan as a picture. Buffers are boxes over the steps of a run, from left to right, and their places in
 * the arena, from bottom to top; beside them who is there at the peak. */
#ifndef MAFAT_PROGRAM_MAP_H
#define MAFAT_PROGRAM_MAP_H

#include "runner/program/run_inference/answer.h"

/* Into a file that is there when it is whole, or not at all. MAFAT_EIO: it cannot be created or written; MAFAT_ENOMEM. */
int mafat_map_write(const char *path, const struct mafat_question *q, const struct mafat_answer *a, struct mafat_diagnostic *d);

#endif
