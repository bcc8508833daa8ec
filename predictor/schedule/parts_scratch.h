/* Scratch of parts: its size, and which consecutive parts (runs) use one buffer, one after the
 * other. Each run's buffer is alive only during the run. Called by parts_order.c and
 * predictor/layout. */
#ifndef MAFAT_PREDICTOR_PARTS_SCRATCH_H
#define MAFAT_PREDICTOR_PARTS_SCRATCH_H

#include "predictor/plan/partition.h"
#include "predictor/plan/plan.h"
#include "predictor/schedule/scratch.h"

/* Consecutive parts that use one buffer. */
struct mafat_scratch_run {
  size_t bytes;    /* scratch of the largest part */
  int first, last; /* positions of the first and the last part, inclusive */
};

struct mafat_parts_scratch {
  struct mafat_scratch *records; /* (n_records) different records of each layer's parts */
  int n_records;
  int *record_of, *run_of;       /* [part] of plan->parts: index of its record, and of its run; -1:
                                    none */
  struct mafat_scratch_run *runs; /* (n_runs) */
  int n_runs;
};

/* Plans the scratch of one part. MAFAT_ELIMIT. */
int mafat_parts_scratch_plan(const struct mafat_plan *plan, const struct mafat_network *n,
                             const struct mafat_layer_part *part, struct mafat_scratch *s);
/* Plans the scratch of all parts, in the plan's heap. *out is NULL if the plan has no parts.
 * MAFAT_ENOMEM, MAFAT_ELIMIT; the caller closes *out even then. */
int mafat_parts_scratch_open(struct mafat_parts_scratch **out, const struct mafat_plan *plan,
                             const struct mafat_network *n);
/* Merges runs with the following ones, for fewer buffers, as long as no time needs more bytes than
 * the peak. live[n_times]: bytes of all other buffers. */
void mafat_parts_scratch_join(struct mafat_parts_scratch *s, int n_parts, const size_t *live,
                              int n_times);
void mafat_parts_scratch_close(struct mafat_heap *heap, struct mafat_parts_scratch **s);

#endif
