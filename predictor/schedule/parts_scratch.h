/* Scratch of the parts of split groups: sizes, and which parts share a buffer, one after the other.
 * No scratch outlives its step, so the peak counts each buffer at its own time. Called by
 * parts_order.c and predictor/layout. */
#ifndef MAFAT_PREDICTOR_PARTS_SCRATCH_H
#define MAFAT_PREDICTOR_PARTS_SCRATCH_H

#include "predictor/plan/partition.h"
#include "predictor/plan/plan.h"
#include "predictor/schedule/scratch.h"

/* Consecutive parts with scratch of the same size. */
struct mafat_scratch_run {
  size_t bytes;
  int first, last; /* positions */
};

struct mafat_parts_scratch {
  struct mafat_scratch *records; /* (n_records) one for each size of a layer's parts */
  int n_records;
  int *record_of, *run_of;       /* [part] as in plan->parts; -1: an input's part, without
                                    scratch */
  struct mafat_scratch_run *runs; /* (n_runs) */
  int n_runs;
};

/* Plans the scratch of one part. MAFAT_ELIMIT. */
int mafat_parts_scratch_plan(const struct mafat_plan *plan, const struct mafat_network *n,
                             const struct mafat_layer_part *part, struct mafat_scratch *s);
/* *out is NULL if no group is split. Allocates from the plan's heap. MAFAT_ENOMEM, MAFAT_ELIMIT;
 * close it even then. */
int mafat_parts_scratch_open(struct mafat_parts_scratch **out, const struct mafat_plan *plan,
                             const struct mafat_network *n);
/* Merges runs with following ones, for fewer buffers, as long as no time needs more than the peak.
 * live[n_times]: bytes of everything else. */
void mafat_parts_scratch_join(struct mafat_parts_scratch *s, int n_parts, const size_t *live,
                              int n_times);
void mafat_parts_scratch_close(struct mafat_heap *heap, struct mafat_parts_scratch **s);

#endif
