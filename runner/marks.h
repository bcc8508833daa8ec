/* When each layer ran: `run_inference --marks`. A line for each run of steps of
 * one layer: its index, its type, start and end in nanoseconds of
 * CLOCK_MONOTONIC; rows of the picture are "-1 image". Written through a small
 * buffer while the layers run, without an allocation. */
#ifndef MAFAT_RUNNER_MARKS_H
#define MAFAT_RUNNER_MARKS_H

#include "network/network.h"
#include "predictor/schedule.h"
#include "runner/writer.h"

struct mafat_marks {
  const struct mafat_network *network;
  struct mafat_writer out;
  bool open; /* the line below has begun */
  int layer;
  double from_ms, to_ms;
};

/* Network and descriptor stay the caller's. */
void mafat_marks_begin(struct mafat_marks *m, const struct mafat_network *n, int fd);
/* For mafat_executor_set_watch(); the context is the marks. */
void mafat_marks_step(void *context, const struct mafat_step *step, double from_ms, double to_ms);
/* The last line too. MAFAT_EIO with the reason. */
int mafat_marks_end(struct mafat_marks *m, struct mafat_diagnostic *d);

#endif
