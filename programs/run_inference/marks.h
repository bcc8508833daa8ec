/* Implements --marks: writes the times of each layer. Consecutive steps of one layer are one line,
 * with its index, type, start and end in nanoseconds of CLOCK_MONOTONIC; reading rows of the
 * picture is "-1 image". Lines are written through a small buffer while layers run. Allocates
 * nothing. Included by session.h. */
#ifndef MAFAT_PROGRAM_MARKS_H
#define MAFAT_PROGRAM_MARKS_H

#include "include/mafat_plan.h"
#include "programs/shared/writer.h"

struct mafat_marks {
  const struct mafat_model *model;
  struct mafat_writer out;
  bool open; /* the line of the layer below is not written yet: its end is not known */
  int layer;
  double from_ms, to_ms;
};

/* Begins to write to fd. The caller owns model and fd. */
void mafat_marks_begin(struct mafat_marks *m, const struct mafat_model *model, int fd);
/* Callback for mafat_model_set_watch(); context: the struct mafat_marks. */
void mafat_marks_step(void *context, const struct mafat_step_facts *step);
/* Writes the last line. Returns MAFAT_OK, or MAFAT_EIO with the reason of the first failure. */
int mafat_marks_end(struct mafat_marks *m, struct mafat_diagnostic *d);

#endif
