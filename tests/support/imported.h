/* Models in memory files (memfd), and the networks that a format's reader makes from them. Included
 * by suites of imported models. */
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
  struct mafat_network *network; /* NULL: the model was refused; the diagnostic has one line */
};

struct test_imported test_import(test_network_reader *read, const char *data, size_t n,
                                 struct mafat_diagnostic *d);
struct test_imported test_import_onnx(struct test_message model,
                                      struct mafat_diagnostic *d); /* frees the model's message */
struct test_imported test_import_tflite(const struct test_tflite_model *model,
                                        struct mafat_diagnostic *d);
void test_imported_close(struct test_imported *m);

/* An ONNX operator whose model must be refused, the expected code, and a part of the message. */
struct test_onnx_refusal {
  struct test_onnx_operator operator;
  int code;
  const char *says;
};
void test_onnx_is_refused(const struct test_onnx_refusal *refusal);

/* Reads the model again and again; in each attempt a later allocation fails, until none fails.
 * Each failure must be reported as MAFAT_ENOMEM, and all memory must be freed. `name` is for
 * messages. */
void test_import_without_memory(test_network_reader *read, const char *path,
                                const struct mafat_given *given, const char *name);

#endif
