/* libFuzzer target: reads an ONNX file. If the input is no ONNX file, its first byte chooses a
 * small valid model, and every four bytes after it describe one change of the model's bytes
 * (tests/fuzz/changes.h). Build with clang -fsanitize=fuzzer,address,undefined. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/onnx/onnx.h"
#include "tests/fuzz/bounded.h"
#include "tests/fuzz/changes.h"
#include "tests/fuzz/mutate.h"
#include "tests/support/onnx_models.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void require(bool holds)
{
  if (!holds) abort();
}

static void check_tensor(const struct mafat_onnx *m, const struct mafat_onnx_tensor *t)
{
  enum { MOST = 16 };
  struct mafat_diagnostic d = {""};
  int64_t ints[MOST];
  double doubles[MOST];
  uint64_t elements = 1;
  require(t->name && t->rank >= 0 && t->rank <= MAFAT_ONNX_MAX_RANK && t->type > 0 &&
          t->type < MAFAT_ONNX_N_TYPES);
  for (int i = 0; i < t->rank; i++) elements *= (uint64_t)t->dims[i];
  require(elements == t->n && t->file >= 0 && t->file < mafat_onnx_n_files(m));
  require(t->form == MAFAT_ONNX_WIRE || t->type == MAFAT_ONNX_STRING ||
          t->bytes == t->n * mafat_onnx_type_bytes(t->type));
  require(t->bytes == 0 || t->file > 0 ||
          (t->at <= m->file->bytes && t->bytes <= m->file->bytes - t->at));
  size_t n = t->n < MOST ? (size_t)t->n : MOST;
  if (t->file > 0) return; /* the file that has its values does not exist */
  require(mafat_onnx_tensor_ints(m, t, t->n - n, n, ints, &d) == MAFAT_OK || d.text[0]);
  d.text[0] = 0;
  require(mafat_onnx_tensor_doubles(m, t, t->n - n, n, doubles, &d) == MAFAT_OK || d.text[0]);
}

static void check_node(const struct mafat_onnx *m, const struct mafat_onnx_node *n)
{
  size_t length = strlen(n->op_type) + strlen(n->name) + strlen(n->domain);
  for (int i = 0; i < n->n_inputs; i++)
    require(!n->inputs[i] || mafat_onnx_value(m, n->inputs[i]->index) == n->inputs[i]);
  for (int i = 0; i < n->n_outputs; i++) require(!n->outputs[i] || n->outputs[i]->makers > 0);
  for (int i = 0; i < n->n_attributes; i++) {
    const struct mafat_onnx_attribute *a = &n->attributes[i];
    require(mafat_onnx_attribute(n, a->name) == a &&
            strcmp(mafat_onnx_attribute_type_name(a->type), "undefined") != 0);
    if (a->type == MAFAT_ONNX_ATTRIBUTE_TENSOR) check_tensor(m, a->as.t);
    if (a->type == MAFAT_ONNX_ATTRIBUTE_STRING) length += strlen(a->as.s);
    for (int k = 0; k < a->n && a->type == MAFAT_ONNX_ATTRIBUTE_STRINGS; k++)
      length += strlen(a->as.strings[k]);
  }
  require(length <= m->file->bytes);
}

static void check_model(const struct mafat_onnx *m)
{
  for (int i = 0; i < m->n_nodes; i++) check_node(m, &m->nodes[i]);
  for (int i = 0; i < m->n_inputs; i++) require(m->inputs[i]->is_input);
  for (int i = 0; i < mafat_onnx_n_values(m); i++) {
    const struct mafat_onnx_value *v = mafat_onnx_value(m, i);
    require(v->index == i && mafat_onnx_value_of(m, v->name) == v);
    if (v->initializer) check_tensor(m, v->initializer);
    for (int k = 0; v->info && k < v->info->rank; k++) require(v->info->dims[k].n >= -1);
  }
}

static void check_file(const char *data, size_t n)
{
  struct mafat_diagnostic d = {""};
  struct mafat_model_file *file;
  struct mafat_onnx *m;
  char path[64];
  int fd = memfd_create("fuzz", MFD_CLOEXEC);
  require(fd >= 0 && write(fd, data, n) == (ssize_t)n);
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  require(mafat_model_file_open(&file, path, &d) == MAFAT_OK);
  close(fd);
  bounded_begin();
  int code = mafat_onnx_read(&m, file, &d);
  bounded_end(TEST_READER_ONNX, n);
  require((code == MAFAT_OK) == (m != NULL) &&
          (code == MAFAT_OK || (d.text[0] && !strchr(d.text, '\n'))));
  if (m) check_model(m);
  mafat_onnx_close(&m);
  mafat_model_file_close(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
  if (n >= MAFAT_ONNX_BEGINNING && mafat_onnx_begins((const char *)bytes)) {
    check_file((const char *)bytes, n);
    return 0;
  }
  if (n < 1) return 0;
  struct test_message m = test_onnx_sample(bytes[0]);
  change_message(&m, bytes + 1, n - 1);
  check_file(m.data, m.n);
  free(m.data);
  return 0;
}

/* Mutates an ONNX file field by field. An input whose first byte chooses a model is sometimes
 * replaced by that model's file. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed)
{
  if (n >= MAFAT_ONNX_BEGINNING && mafat_onnx_begins((const char *)data))
    return mutate_wire(data, n, most, seed);
  if (n == 0 || seed % 3) return LLVMFuzzerMutate(data, n, most);
  struct test_message m = test_onnx_sample(data[0]);
  size_t size = m.n <= most ? m.n : 0;
  memcpy(data, m.data, size);
  free(m.data);
  return size ? size : LLVMFuzzerMutate(data, n, most);
}
