/* Runs a conformance model, from its file to its outputs. Included by onnx_nodes.c and
 * run_model.c. */
#ifndef MAFAT_TESTS_CONFORMANCE_RUN_MODEL_H
#define MAFAT_TESTS_CONFORMANCE_RUN_MODEL_H

#include "tests/conformance/select.h"

enum model_outcome { PASSED, EXCLUDED, REFUSED, FAILED, N_OUTCOMES };

/* Runs the model by several plans, which must give the same bits, and compares with the expected
 * outputs. The diagnostic says why it was refused or failed. */
enum model_outcome run_model(struct node_trial *t, struct mafat_diagnostic *d);

#endif
