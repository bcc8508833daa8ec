/* Selects the conformance models that mafat should run, and the inputs that become constants.
 * Included by run_model.h and write_model.h. */
#ifndef MAFAT_TESTS_CONFORMANCE_SELECT_H
#define MAFAT_TESTS_CONFORMANCE_SELECT_H

#include "tests/conformance/tensor_file.h"

enum { MAX_INPUTS = 16, MAX_OUTPUTS = 16 };

/* A model and its test data. trial_close frees what trial_open allocates. */
struct node_trial {
  char folder[400], path[512];
  struct mafat_model_file *file;
  struct mafat_onnx *model;
  int n_inputs, n_outputs;
  struct tensor_file inputs[MAX_INPUTS], outputs[MAX_OUTPUTS]; /* types and dimensions, without
                                                                * values */
  bool bound[MAX_INPUTS]; /* true: a constant; false: an input of the run */
  bool named[MAX_INPUTS]; /* true: trial_bind made it a constant */
};

/* Reads the model, and the types and dimensions of its test data. The files are valid, so a
 * failure is a fault of mafat. Call trial_close even after a failure. */
int trial_open(struct node_trial *t, const char *folder, struct mafat_diagnostic *d);
void trial_close(struct node_trial *t);

/* Returns NULL if mafat should run the model; else the reason, which is a static text or is
 * written to `buffer`, of `bytes` bytes. */
const char *trial_excluded(const struct node_trial *t, char *buffer, size_t bytes);
/* Makes inputs constant: those that the operator requires to be constant, and those whose
 * element type a map cannot have. */
void trial_choose(struct node_trial *t);
/* Makes an input constant. `constant` is NAME=FILE, where FILE contains the value of input NAME.
 * Ignored if the model has no such input. */
int trial_bind(struct node_trial *t, const char *constant, struct mafat_diagnostic *d);
/* Returns the index of the first input that is not bound to a constant; -1: none. The caller has
 * to bind any further inputs. */
int trial_input(const struct node_trial *t);
/* Returns the operator if all nodes have the same one, else "(several)" or "(none)". */
const char *trial_operator(const struct node_trial *t);

#endif
