/* The runner's floor of a kind of layer: how a step of it is computed from the tensors of its
 * sources into its own, by filling row pointers and calling kernels. Each kind has a file here,
 * of the same name as on the other floors (network/kinds, predictor/kinds), and an entry in the
 * table. Internal to the executor. */
#ifndef MAFAT_RUNNER_ENGINE_KINDS_KIND_H
#define MAFAT_RUNNER_ENGINE_KINDS_KIND_H

#include "predictor/schedule/schedule.h"
#include "runner/kernels/kernels.h"
#include "runner/engine/team.h"
#include "runner/engine/tensors.h"
#include "runner/weights/weights.h"

struct mafat_integer_kernels; /* kernels/integer.h */

/* What a step needs beside the tensors; one per worker. */
struct mafat_worker {
  const struct mafat_tensors *tensors;
  const struct mafat_plan *plan;
  const struct mafat_kernels *kernels;
  const struct mafat_integer_kernels *integers; /* of the same level; NULL in networks of floats */
  struct mafat_team *team;             /* those who run this step together */
  struct mafat_weights *weights;
  const struct mafat_scratch *scratch; /* of the step's layer */
  char *shared_memory;                 /* scratch that all workers of the step share */
  int32_t *sums;                       /* of whole numbers, from one part of the layer to the next: [panel][pixel of the step][width]; or NULL */
  char *slot_memory;                   /* this worker's own; NULL when none is needed */
  int index;                           /* 0 ... layout->n_workers - 1 */
  int round;                           /* of the step's: 0 ... rounds - 1 */
};

/* How the workers of a team share out a step. */
enum mafat_sharing {
  MAFAT_SHARED_BY_ROWS,  /* the rows of its output are independent: `run` gets some of them at a time */
  MAFAT_SHARED_BY_UNITS, /* `run` takes units of its own from the team */
  MAFAT_ALONE            /* small or rare, not worth dividing: one worker does it */
};

struct mafat_decoding; /* decoding.h */

struct mafat_runner_kind {
  /* What must be there before any worker begins; the caller does it alone. May be NULL. */
  void (*prepare)(const struct mafat_worker *w, const struct mafat_step *step);
  /* How often all workers run a step, waiting for each other in between: what one of them makes in a
   * round, all may use in the next. NULL: once. */
  int (*rounds)(const struct mafat_worker *w, const struct mafat_step *step);
  /* The worker's share of a step, or of a round of it. MAFAT_OK, or what reading weights failed with. */
  int (*run)(const struct mafat_worker *w, const struct mafat_step *step);
  enum mafat_sharing sharing;
  /* Tells of all boxes that the head's output holds. NULL: no head. */
  void (*decode)(struct mafat_decoding *d);
};

/* In files of the kinds. */
#define KIND(CONSTANT, name, integers) extern const struct mafat_runner_kind mafat_runner_##name;
#define STEPLESS(CONSTANT, name)
#include "network/kinds.def"

/* NULL: nothing of that type is computed: an input, or what renames what it reads. */
const struct mafat_runner_kind *mafat_runner_kind(enum mafat_layer_type type);
/* The same of layers that read whole numbers, in kinds/integer; NULL: that is not run. */
const struct mafat_runner_kind *mafat_runner_integer_kind(enum mafat_layer_type type);

/* Can all of the first n_layers be run? MAFAT_EUNSUPPORTED: the diagnostic names the first that cannot. */
int mafat_kinds_check(const struct mafat_network *n, int n_layers, struct mafat_diagnostic *d);

/* A step, of the kind of the layer that reads its input: what `prepare`, `rounds` and `run` above are for.
 * All workers of the team call the last. */
void mafat_kinds_prepare(const struct mafat_worker *w, const struct mafat_step *step);
int mafat_kinds_rounds(const struct mafat_worker *w, const struct mafat_step *step);
int mafat_kinds_run(const struct mafat_worker *w, const struct mafat_step *step);

#endif
