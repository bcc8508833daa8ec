/* Which of the conformance models are the project's affair, and how their inputs are given. */
#ifndef MAFAT_TESTS_CONFORMANCE_SELECT_H
#define MAFAT_TESTS_CONFORMANCE_SELECT_H

#include "tests/conformance/tensor_file.h"

enum { MAX_INPUTS = 16, MAX_OUTPUTS = 16 };

/* A model with its data. */
struct node_trial {
  char folder[400], path[512];
  struct mafat_model_file *file;
  struct mafat_onnx *model;
  int n_inputs, n_outputs;
  struct tensor_file inputs[MAX_INPUTS], outputs[MAX_OUTPUTS]; /* without values */
  bool bound[MAX_INPUTS]; /* given as constants; else to the run */
  bool named[MAX_INPUTS]; /* by trial_bind */
};

/* Reads model and data. A failure is the project's: these files are right. */
int trial_open(struct node_trial *t, const char *folder, struct mafat_diagnostic *d);
void trial_close(struct node_trial *t);

/* Why it is none of ours, in words that may be in the room; NULL: it is. */
const char *trial_excluded(const struct node_trial *t, char *capacity, size_t bytes);
/* Decides which inputs are bound: what the operator needs to know beforehand, and whatever is no
 * float. */
void trial_choose(struct node_trial *t);
/* Besides, NAME=FILE: the input of that name is what lies in the file, known beforehand. Inputs of
 * other models are not. */
int trial_bind(struct node_trial *t, const char *constant, struct mafat_diagnostic *d);
/* The input that the run is given, as the executor takes one: all others are bound, too. -1: there
 * is none. */
int trial_input(const struct node_trial *t);
/* The operator, where all nodes are of one. */
const char *trial_operator(const struct node_trial *t);

#endif
