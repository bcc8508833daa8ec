/* libFuzzer target: reads and imports a .tflite file. If the input is no such file, its first
 * byte chooses a small valid model (floats, or a random integer one), and every three bytes
 * after it describe a change of the model's file: position (2 bytes), value.
 * tests/fuzz/imported.h checks the resulting network. Build with clang
 * -fsanitize=fuzzer,address,undefined. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/tflite/import.h"
#include "formats/tflite/tflite.h"
#include "formats/tflite/values.h"
#include "tests/fuzz/bounded.h"
#include "tests/fuzz/imported.h"
#include "tests/fuzz/mutate.h"
#include "tests/support/integer_graph.h"
#include "tests/support/tflite_models.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static void check_tensor(const struct mafat_tflite *m, struct mafat_model_file *file, int tensor)
{
  struct mafat_diagnostic d = {""};
  const struct mafat_tflite_tensor *t = &m->tensors[tensor];
  int64_t ints[16];
  float floats[16];
  int count;
  require(t->name && t->rank >= 0 && t->rank <= MAFAT_TFLITE_MAX_RANK &&
          mafat_tflite_type_name((int)t->type));
  require(t->at <= file->bytes && t->bytes <= file->bytes - t->at);
  int code = mafat_tflite_ints(m, file, tensor, 16, ints, &count, &d);
  require(code == MAFAT_OK || d.text[0]);
  code = mafat_tflite_floats(m, file, tensor, 16, floats, &count, &d);
  require(code == MAFAT_OK || d.text[0]);
}

static void check_operator(const struct mafat_tflite *m, struct mafat_model_file *file,
                           const struct mafat_tflite_operator *o)
{
  struct mafat_diagnostic d = {""};
  struct mafat_tflite_detection found;
  for (int i = 0; i < o->n_inputs; i++) require(o->inputs[i] >= -1 && o->inputs[i] < m->n_tensors);
  for (int i = 0; i < o->n_outputs; i++)
    require(o->outputs[i] >= 0 && o->outputs[i] < m->n_tensors);
  int code = mafat_tflite_detection_read(&found, m, file, o, &d);
  require(code == MAFAT_OK ? found.max_detections > 0 && found.num_classes > 0 : d.text[0] != 0);
}

/* Imports the file and checks the network. */
static void check_model(const struct mafat_tflite *m, struct mafat_model_file *file,
                        const struct way_file *f)
{
  struct mafat_diagnostic d = {""};
  struct mafat_network *n;
  bounded_begin();
  int code = mafat_tflite_network(&n, m, file, &d);
  bounded_end(TEST_READER_TFLITE, (size_t)file->bytes);
  require((code == MAFAT_OK) == (n != NULL) && (code == MAFAT_OK || d.text[0]));
  if (n) check_imported(n, f);
  if (way_is_in_turn(f->n)) check_ways(f, n, "1x1/NoCut");
  mafat_network_close(&n);
}

static void check_file(const char *data, size_t n)
{
  struct mafat_diagnostic d = {""};
  struct mafat_model_file *file;
  struct mafat_tflite *m;
  char path[64];
  int fd = memfd_create("fuzz", MFD_CLOEXEC);
  require(fd >= 0 && write(fd, data, n) == (ssize_t)n);
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  require(mafat_model_file_open(&file, path, &d) == MAFAT_OK);
  bounded_begin();
  int code = mafat_tflite_read(&m, file, &d);
  bounded_end(TEST_READER_TFLITE, n);
  require((code == MAFAT_OK) == (m != NULL) && (code == MAFAT_OK || d.text[0]));
  struct way_file f = way_file_make(path, fd);
  if (m) check_model(m, file, &f);
  else if (way_is_in_turn(n)) way_check_networks(&f);
  way_file_free(&f);
  for (int i = 0; m && i < m->n_tensors; i++) check_tensor(m, file, i);
  for (int i = 0; m && i < m->n_operators; i++) check_operator(m, file, &m->operators[i]);
  mafat_tflite_close(&m);
  mafat_model_file_close(&file);
  close(fd);
}

/* Makes a float model or a random integer model; the caller frees it. */
static char *make_model(unsigned number, size_t *n)
{
  enum { FIRST_INTEGER = 128 };
  return number >= FIRST_INTEGER ? test_integer_graph_write(number, n)
                              : test_tflite_write(test_tflite_model(number), n);
}

static bool is_file(const uint8_t *bytes, size_t n)
{
  return n >= 8 && memcmp(bytes + 4, "TFL3", 4) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
  if (is_file(bytes, n)) {
    check_file((const char *)bytes, n);
    return 0;
  }
  if (n < 1) return 0;
  size_t n_data;
  char *data = make_model(bytes[0], &n_data);
  for (size_t i = 1; i + 3 <= n; i += 3)
    data[(bytes[i] + 256 * (size_t)bytes[i + 1]) % n_data] = (char)bytes[i + 2];
  check_file(data, n_data);
  free(data);
  return 0;
}

/* Mutates a .tflite file by its structure. An input whose first byte chooses a model is
 * sometimes replaced by that model's file. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed)
{
  if (is_file(data, n)) return mutate_flat(data, n, most, seed);
  if (n == 0 || seed % 3) return LLVMFuzzerMutate(data, n, most);
  size_t size;
  char *model = make_model(data[0], &size);
  if (size > most) size = 0;
  memcpy(data, model, size);
  free(model);
  return size ? size : LLVMFuzzerMutate(data, n, most);
}
