/* A conformance model run by the project, from its file to its outputs. */
#ifndef MAFAT_TESTS_CONFORMANCE_RUN_MODEL_H
#define MAFAT_TESTS_CONFORMANCE_RUN_MODEL_H

#include "tests/conformance/select.h"

enum model_outcome { PASSED, EXCLUDED, REFUSED, FAILED, N_OUTCOMES };

/* Runs it by several plans, which must put out the same bits, and compares with what it should put
 * out. The diagnostic says why it was refused or failed. */
enum model_outcome run_model(struct node_trial *t, struct mafat_diagnostic *d);

#endif
