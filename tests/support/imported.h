/* Models in memory files, and the networks that a format's reader makes of them. Included by
 * suites of ONNX and TFLite files. */
#ifndef MAFAT_TESTS_SUPPORT_IMPORTED_H
#define MAFAT_TESTS_SUPPORT_IMPORTED_H

#include "formats/graph/given.h"
#include "network/network.h"
#include "tests/support/onnx_operators.h"
#include "tests/support/tflite_writer.h"

typedef int test_network_reader(struct mafat_network **out, const char *path,
                                const struct mafat_given *given, struct mafat_diagnostic *d);

struct test_imported {
  char path[64];
  int fd, code;
  struct mafat_network *network; /* NULL: refused; the diagnostic has one line */
};

struct test_imported test_import(test_network_reader *read, const char *data, size_t n,
                                 struct mafat_diagnostic *d);
struct test_imported test_import_onnx(struct test_message model,
                                      struct mafat_diagnostic *d); /* frees the model */
struct test_imported test_import_tflite(const struct test_tflite_model *model,
                                        struct mafat_diagnostic *d);
void test_imported_close(struct test_imported *m);

/* A model that must be refused, with the expected code and a part of the message. */
struct test_onnx_refusal {
  struct test_onnx_operator operator;
  int code;
  const char *says;
};
void test_onnx_is_refused(const struct test_onnx_refusal *refusal);

/* Fails each allocation during reading in turn. Every failure must be reported and all memory
 * freed. */
void test_import_without_memory(test_network_reader *read, const char *path,
                                const struct mafat_given *given, const char *name);

#endif
