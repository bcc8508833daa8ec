/* Runs a conformance model, from its file to its outputs. Included by onnx_nodes.c and
 * run_model.c. */
#ifndef MAFAT_TESTS_CONFORMANCE_RUN_MODEL_H
#define MAFAT_TESTS_CONFORMANCE_RUN_MODEL_H

#include "tests/conformance/select.h"

enum model_outcome { PASSED, EXCLUDED, REFUSED, FAILED, N_OUTCOMES };

/* Runs the model by several plans, whose outputs must have the same bits, and compares these
 * outputs with the expected ones. If the model is refused or fails, the diagnostic says why. */
enum model_outcome run_model(struct node_trial *t, struct mafat_diagnostic *d);

#endif
