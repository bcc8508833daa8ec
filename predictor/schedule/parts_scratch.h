/* Scratch of the parts into which a plan may split layers (plan/partition.h): its size, and which
 * parts use the same buffer. Consecutive parts that use the same buffer are a run. The buffer
 * exists only during the run. Called by parts_order.c and predictor/layout. Allocates from the
 * plan's heap. */
#ifndef MAFAT_PREDICTOR_PARTS_SCRATCH_H
#define MAFAT_PREDICTOR_PARTS_SCRATCH_H

#include "predictor/plan/partition.h"
#include "predictor/plan/plan.h"
#include "predictor/schedule/scratch.h"

struct mafat_scratch_run {
  size_t bytes;    /* bytes of the buffer: the most that one of the parts needs */
  int first, last; /* positions in the execution order of the first and of the last part */
};

struct mafat_parts_scratch {
  struct mafat_scratch *records; /* (n_records) a layer's parts with equal scratch share a record */
  int n_records;
  int *record_of, *run_of;       /* [part in plan->parts]: index of its record; index of its run;
                                    -1: none */
  struct mafat_scratch_run *runs; /* (n_runs) */
  int n_runs;
};

/* Plans the scratch of one part. MAFAT_ELIMIT: its bytes overflow. */
int mafat_parts_scratch_plan(const struct mafat_plan *plan, const struct mafat_network *n,
                             const struct mafat_layer_part *part, struct mafat_scratch *s);
/* Plans the scratch of all parts, in the plan's heap. *out is NULL if the plan has no parts.
 * MAFAT_ENOMEM, MAFAT_ELIMIT; the caller closes *out even then. */
int mafat_parts_scratch_open(struct mafat_parts_scratch **out, const struct mafat_plan *plan,
                             const struct mafat_network *n);
/* Merges neighboring runs, so that there are fewer buffers, if that does not raise the peak: the
 * greatest number of bytes in use at any time. live[n_times]: bytes of all other buffers in use at
 * each time (layout/layout.h: mafat_buffer). */
void mafat_parts_scratch_join(struct mafat_parts_scratch *s, int n_parts, const size_t *live,
                              int n_times);
void mafat_parts_scratch_close(struct mafat_heap *heap, struct mafat_parts_scratch **s);

#endif
