/* Writes models to memory files (memfd) and imports them. Called by suites of imported models. */
#include "tests/support/network_files.h"
#include "tests/support/imported.h"

#include "formats/onnx/import.h"
#include "formats/tflite/import.h"
#include "tests/support/failing_malloc.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct test_imported test_import(test_network_reader *read, const char *data, size_t n,
                                 struct mafat_diagnostic *d)
{
  struct test_imported m = {.fd = memfd_create("model", MFD_CLOEXEC)};
  ck_assert_int_eq(write(m.fd, data, n), (ssize_t)n);
  snprintf(m.path, sizeof m.path, "/proc/self/fd/%d", m.fd);
  d->text[0] = '\0';
  m.code = read(&m.network, m.path, NULL, d);
  ck_assert((m.code == MAFAT_OK) == (m.network != NULL) && (m.code == MAFAT_OK || d->text[0]));
  ck_assert(!strchr(d->text, '\n'));
  return m;
}

struct test_imported test_import_onnx(struct test_message model, struct mafat_diagnostic *d)
{
  struct test_imported m = test_import(test_onnx_network_read, model.data, model.n, d);
  free(model.data);
  return m;
}

struct test_imported test_import_tflite(const struct test_tflite_model *model,
                                        struct mafat_diagnostic *d)
{
  size_t n;
  char *data = test_tflite_write(model, &n);
  struct test_imported m = test_import(test_tflite_network_read, data, n, d);
  free(data);
  return m;
}

void test_imported_close(struct test_imported *m)
{
  mafat_network_close(&m->network);
  close(m->fd);
}

void test_import_without_memory(test_network_reader *read, const char *path,
                                const struct mafat_given *given, const char *name)
{
  long fail_at = -1, asked;
  do {
    struct mafat_network *n;
    struct mafat_diagnostic d;
    long unfreed;
    failing_malloc_arm(++fail_at);
    int code = read(&n, path, given, &d);
    mafat_network_close(&n);
    asked = failing_malloc_disarm(&unfreed);
    ck_assert_int_eq(unfreed, 0);
    ck_assert_msg(code == (asked > fail_at ? MAFAT_ENOMEM : MAFAT_OK), "%s, allocation %ld: %d, %s",
                  name, fail_at, code, d.text);
  } while (asked > fail_at);
}

void test_onnx_is_refused(const struct test_onnx_refusal *refusal)
{
  struct mafat_diagnostic d;
  struct test_imported m = test_import_onnx(test_onnx_operator_model(&refusal->operator), &d);
  ck_assert_msg(m.code == refusal->code && strstr(d.text, refusal->says), "%d, %s", m.code, d.text);
  test_imported_close(&m);
}
