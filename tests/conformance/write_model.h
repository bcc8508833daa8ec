/* Writes a conformance model as one file in which all inputs but one are initializers, for
 * fuzzers and other programs. Included by onnx_nodes.c and write_model.c. */
#ifndef MAFAT_TESTS_CONFORMANCE_WRITE_MODEL_H
#define MAFAT_TESTS_CONFORMANCE_WRITE_MODEL_H

#include "tests/conformance/select.h"

/* Writes FOLDER/NAME.onnx. False: failed. The diagnostic has the reason, but is empty if memory
 * ran out. */
bool write_model(const struct node_trial *t, const char *folder, struct mafat_diagnostic *d);

#endif
