/* Times of each layer: `run_inference --marks`. One line for each run of steps of a layer has its
 * index, type, start and end in nanoseconds of CLOCK_MONOTONIC; rows of the picture are "-1 image".
 * Lines are written through a small buffer while layers run. Allocates nothing. Included by
 * session.h. */
#ifndef MAFAT_PROGRAM_MARKS_H
#define MAFAT_PROGRAM_MARKS_H

#include "include/mafat_plan.h"
#include "programs/shared/writer.h"

struct mafat_marks {
  const struct mafat_model *model;
  struct mafat_writer out;
  bool open; /* the line below has begun */
  int layer;
  double from_ms, to_ms;
};

/* Model and descriptor stay the caller's. */
void mafat_marks_begin(struct mafat_marks *m, const struct mafat_model *model, int fd);
/* For mafat_model_set_watch(); the context is the marks. */
void mafat_marks_step(void *context, const struct mafat_step_facts *step);
/* The last line too. MAFAT_EIO with the reason. */
int mafat_marks_end(struct mafat_marks *m, struct mafat_diagnostic *d);

#endif
