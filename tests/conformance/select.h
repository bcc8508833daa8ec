/* Selects conformance models that mafat should run, and the inputs that become constants.
 * Included by this folder's files. */
#ifndef MAFAT_TESTS_CONFORMANCE_SELECT_H
#define MAFAT_TESTS_CONFORMANCE_SELECT_H

#include "tests/conformance/tensor_file.h"

enum { MAX_INPUTS = 16, MAX_OUTPUTS = 16 };

/* A model with its data. trial_close frees what is open. */
struct node_trial {
  char folder[400], path[512];
  struct mafat_model_file *file;
  struct mafat_onnx *model;
  int n_inputs, n_outputs;
  struct tensor_file inputs[MAX_INPUTS], outputs[MAX_OUTPUTS]; /* types and dimensions only */
  bool bound[MAX_INPUTS]; /* true: a constant; false: an input of the run */
  bool named[MAX_INPUTS]; /* bound by trial_bind */
};

/* Reads model and data. The files are valid, so a failure is mafat's. Call trial_close in any
 * case. */
int trial_open(struct node_trial *t, const char *folder, struct mafat_diagnostic *d);
void trial_close(struct node_trial *t);

/* NULL if mafat should run the model; else the reason, a static text or in `buffer`. */
const char *trial_excluded(const struct node_trial *t, char *buffer, size_t bytes);
/* Chooses constant inputs: those that the operator requires to be constant, and inputs of types
 * that maps do not have. */
void trial_choose(struct node_trial *t);
/* NAME=FILE: binds input NAME to the tensor in FILE. Ignored if the model has no such input. */
int trial_bind(struct node_trial *t, const char *constant, struct mafat_diagnostic *d);
/* The index of the first input that is not bound; -1: none. Other inputs have to be bound, too. */
int trial_input(const struct node_trial *t);
/* The operator if all nodes have the same one, else "(several)" or "(none)". */
const char *trial_operator(const struct node_trial *t);

#endif
