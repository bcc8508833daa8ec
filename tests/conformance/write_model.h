/* A conformance model as one file, whose further inputs are initializers in it: for fuzzers, and
 * for other programs. */
#ifndef MAFAT_TESTS_CONFORMANCE_WRITE_MODEL_H
#define MAFAT_TESTS_CONFORMANCE_WRITE_MODEL_H

#include "tests/conformance/select.h"

/* To FOLDER/NAME.onnx. False: the diagnostic says why not. */
bool write_model(const struct node_trial *t, const char *folder, struct mafat_diagnostic *d);

#endif
