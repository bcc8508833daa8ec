/* Interface of a kind of layer in the runner. A kind computes a step: it sets pointers to rows of
 * the sources' tensors and of its own, and calls kernels. Each kind has a file here, named as in
 * network/kinds and predictor/kinds, and an entry in the table in kinds.c. Kinds allocate nothing
 * in a run. Included by api, runner/detect/detect.c and runner/engine. */
#ifndef MAFAT_RUNNER_ENGINE_KINDS_KIND_H
#define MAFAT_RUNNER_ENGINE_KINDS_KIND_H

#include "predictor/schedule/schedule.h"
#include "runner/kernels/kernels.h"
#include "runner/engine/team.h"
#include "runner/engine/tensors.h"
#include "runner/weights/weights.h"

struct mafat_integer_kernels; /* kernels/integer.h */

/* One worker's arguments besides the step. */
struct mafat_worker {
  const struct mafat_tensors *tensors;
  const struct mafat_plan *plan;
  const struct mafat_kernels *kernels;
  const struct mafat_integer_kernels *integers; /* integer kernels of the same level; NULL in float
                                                   networks */
  struct mafat_team *team;             /* the workers of this step */
  struct mafat_weights *weights;
  const struct mafat_scratch *scratch; /* scratch of the step's layer */
  char *shared_memory;                 /* scratch shared by the workers */
  int32_t *sums;                       /* integer sums that the next part of the layer continues:
                                          [panel][pixel of the step][width]; NULL: none */
  char *slot_memory;                   /* this worker's scratch; NULL: none needed */
  int index;                           /* 0 ... layout->n_workers - 1 */
  int round;                           /* round of the step: 0 ... rounds - 1 */
};

/* How a step is divided among the workers. */
enum mafat_sharing {
  MAFAT_SHARED_BY_ROWS,  /* output rows are independent: each call of `run` computes some */
  MAFAT_SHARED_BY_UNITS, /* `run` takes units from the team (team.h) */
  MAFAT_ALONE            /* small or rare: worker 0 computes all of it */
};

struct mafat_decoding; /* decoding.h */

struct mafat_runner_kind {
  /* Prepares a step before any worker begins; called once, on the caller's thread. May be NULL. */
  void (*prepare)(const struct mafat_worker *w, const struct mafat_step *step);
  /* Returns the number of rounds. In each, all workers run, then wait for each other, so that a
   * round can use all results of the one before. NULL: 1. */
  int (*rounds)(const struct mafat_worker *w, const struct mafat_step *step);
  /* Computes the worker's share of a step or round. MAFAT_OK, or an error of reading weights;
   * MAFAT_EINVAL: values of the input that `explain` describes. */
  int (*run)(const struct mafat_worker *w, const struct mafat_step *step);
  /* Writes what was expected and found after MAFAT_EINVAL. NULL: `run` never returns that. */
  void (*explain)(const struct mafat_worker *w, const struct mafat_step *step, char *text,
                  size_t capacity);
  enum mafat_sharing sharing;
  /* Passes on all boxes of the head's output. NULL: not a head. */
  void (*decode)(struct mafat_decoding *d);
};

/* Defined in the files of kinds/. */
#define KIND(CONSTANT, name, integers) extern const struct mafat_runner_kind mafat_runner_##name;
#define STEPLESS(CONSTANT, name)
#include "network/kinds.def"

/* Returns NULL for a type without steps: an input or an alias. */
const struct mafat_runner_kind *mafat_runner_kind(enum mafat_layer_type type);
/* The same for layers with quantized inputs (kinds/integer); NULL: not supported. */
const struct mafat_runner_kind *mafat_runner_integer_kind(enum mafat_layer_type type);

/* Checks that the first n_layers layers can run. MAFAT_EUNSUPPORTED: the diagnostic names the first
 * one that cannot. */
int mafat_kinds_check(const struct mafat_network *n, int n_layers, struct mafat_diagnostic *d);

/* Call `prepare`, `rounds` and `run` of the step's kind. With fused layers this is the kind of the
 * innermost layer, which reads the step's input. All workers of the team call mafat_kinds_run. */
void mafat_kinds_prepare(const struct mafat_worker *w, const struct mafat_step *step);
int mafat_kinds_rounds(const struct mafat_worker *w, const struct mafat_step *step);
int mafat_kinds_run(const struct mafat_worker *w, const struct mafat_step *step);
/* Describes the failure `code` of a step. */
void mafat_kinds_explain(const struct mafat_worker *w, const struct mafat_step *step, int code,
                         char *text, size_t capacity);

#endif
