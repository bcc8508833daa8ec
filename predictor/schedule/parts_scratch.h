/* Scratch of the parts of split groups: what each part works in, and which of them share a buffer of it, one behind the
 * other. No scratch outlives its step, so a peak counts it where it is used. */
#ifndef MAFAT_PREDICTOR_PARTS_SCRATCH_H
#define MAFAT_PREDICTOR_PARTS_SCRATCH_H

#include "predictor/plan/partition.h"
#include "predictor/plan/plan.h"
#include "predictor/schedule/scratch.h"

/* Parts that run one behind the other and work in as much. */
struct mafat_scratch_run {
  size_t bytes;
  int first, last; /* positions */
};

struct mafat_parts_scratch {
  struct mafat_scratch *records; /* (n_records) of a layer's parts of one size there is one */
  int n_records;
  int *record_of, *run_of;       /* [part]: as plan->parts has them; -1: it is of an input, it works in none */
  struct mafat_scratch_run *runs; /* (n_runs) */
  int n_runs;
};

/* Of one part of a layer. MAFAT_ELIMIT. */
int mafat_parts_scratch_plan(const struct mafat_plan *plan, const struct mafat_network *n,
                             const struct mafat_layer_part *part, struct mafat_scratch *s);
/* NULL, where no group is split. Of the plan's heap. MAFAT_ENOMEM, MAFAT_ELIMIT; closed even then. */
int mafat_parts_scratch_open(struct mafat_parts_scratch **out, const struct mafat_plan *plan, const struct mafat_network *n);
/* Runs become one with those behind them, as long as no time needs more than the peak for it: fewer buffers. live[n_times]:
 * bytes of all else. */
void mafat_parts_scratch_join(struct mafat_parts_scratch *s, int n_parts, const size_t *live, int n_times);
void mafat_parts_scratch_close(struct mafat_heap *heap, struct mafat_parts_scratch **s);

#endif
