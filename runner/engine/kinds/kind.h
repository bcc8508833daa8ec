/* Interface of the code that computes one kind of layer. It computes a step: sets pointers to rows
 * of the input and output tensors, and calls kernels. Each kind has a file here, often named as in
 * network/kinds and predictor/kinds, and an entry in the table in kinds.c. The functions write to
 * the arena, may read weights from files, and allocate nothing. Included by api,
 * runner/detect/detect.c and runner/engine. */
#ifndef MAFAT_RUNNER_ENGINE_KINDS_KIND_H
#define MAFAT_RUNNER_ENGINE_KINDS_KIND_H

#include "predictor/schedule/schedule.h"
#include "runner/kernels/kernels.h"
#include "runner/engine/team.h"
#include "runner/engine/tensors.h"
#include "runner/weights/weights.h"

struct mafat_integer_kernels; /* kernels/integer.h */

/* Arguments of one worker, in addition to the step. A worker is a thread of the team. */
struct mafat_worker {
  const struct mafat_tensors *tensors;
  const struct mafat_plan *plan;
  const struct mafat_kernels *kernels;
  const struct mafat_integer_kernels *integers; /* integer kernels of the same level; NULL in float
                                                   networks */
  struct mafat_team *team;             /* the workers of this step */
  struct mafat_weights *weights;
  const struct mafat_scratch *scratch; /* sizes and offsets of the step's scratch */
  char *shared_memory;                 /* scratch shared by the workers */
  int32_t *sums;                       /* integer sums that the step continues or leaves to the next
                                          part of the layer, [panel][pixel of the step][width];
                                          NULL: none */
  char *slot_memory;                   /* this worker's own scratch; NULL: the step needs none */
  int index;                           /* 0 ... layout->n_workers - 1 */
  int round;                           /* round of the step: 0 ... rounds - 1 */
};

/* How a step is divided among the workers. */
enum mafat_sharing {
  MAFAT_SHARED_BY_ROWS,  /* output rows are independent: each call of `run` computes some */
  MAFAT_SHARED_BY_UNITS, /* `run` takes units from the team (team.h) */
  MAFAT_ALONE            /* worker 0 computes the whole step, because it is small or rare */
};

struct mafat_decoding; /* decoding.h */

struct mafat_runner_kind {
  /* Prepares a step before any worker begins; called once, on the caller's thread. May be NULL. */
  void (*prepare)(const struct mafat_worker *w, const struct mafat_step *step);
  /* Returns the number of rounds of a step. In each round all workers call `run`, then wait for
   * each other, so that a round can use all results of the round before. NULL: 1. */
  int (*rounds)(const struct mafat_worker *w, const struct mafat_step *step);
  /* Computes the worker's share of a step or round. Returns MAFAT_OK, an error of reading weights,
   * or MAFAT_EINVAL if the input has values that are not allowed. */
  int (*run)(const struct mafat_worker *w, const struct mafat_step *step);
  /* After MAFAT_EINVAL, writes to `text` which input was expected and which was found. NULL: `run`
   * never returns MAFAT_EINVAL. */
  void (*explain)(const struct mafat_worker *w, const struct mafat_step *step, char *text,
                  size_t capacity);
  enum mafat_sharing sharing;
  /* After a run, reports all boxes of the layer's output (decoding.h). NULL: not a detection
   * head. */
  void (*decode)(struct mafat_decoding *d);
};

/* Entries of the table, defined in the files of this folder. */
#define KIND(CONSTANT, name, integers) extern const struct mafat_runner_kind mafat_runner_##name;
#define STEPLESS(CONSTANT, name)
#include "network/kinds.def"

/* Returns the entry of a type of layer, for float inputs. NULL: the type has no steps (an input or
 * an alias). */
const struct mafat_runner_kind *mafat_runner_kind(enum mafat_layer_type type);
/* Returns the entry of a type of layer, for quantized inputs (kinds/integer). NULL: not
 * supported. */
const struct mafat_runner_kind *mafat_runner_integer_kind(enum mafat_layer_type type);

/* Checks that the first n_layers layers can run. MAFAT_EUNSUPPORTED: a layer cannot, which the
 * diagnostic names. */
int mafat_kinds_check(const struct mafat_network *n, int n_layers, struct mafat_diagnostic *d);

/* These call `prepare`, `rounds` and `run` of the step's kind. If layers are fused, this is the
 * kind of the innermost layer, which reads the step's input and computes all of them. All workers
 * of the team call mafat_kinds_run. */
void mafat_kinds_prepare(const struct mafat_worker *w, const struct mafat_step *step);
int mafat_kinds_rounds(const struct mafat_worker *w, const struct mafat_step *step);
int mafat_kinds_run(const struct mafat_worker *w, const struct mafat_step *step);
/* Writes to `text` why a step failed; `code` is what mafat_kinds_run returned. */
void mafat_kinds_explain(const struct mafat_worker *w, const struct mafat_step *step, int code,
                         char *text, size_t capacity);

#endif
