/* libFuzzer target: reads an array file (NumPy's format or raw) as a constant and as an input.
 * The first three bytes choose the expected type, number of dimensions, and which dimensions are
 * unknown. An accepted array must be inside the file. Build with clang
 * -fsanitize=fuzzer,address,undefined. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/graph/given.h"
#include "network/dtype.h"
#include "runner/image/npy.h"
#include "tests/fuzz/bounded.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/networks.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

enum { KNOWN = 3, MOST_DIMS = 4 };

static const long long dims[MOST_DIMS] = {1, 3, 4, 2};

/* Reads the array as a constant of a model. */
static void read_array(const uint8_t *known, const char *path)
{
  static const enum mafat_dtype types[] = {MAFAT_F32, MAFAT_I8, MAFAT_F16};
  struct mafat_diagnostic d = {""};
  struct mafat_model_file *file;
  enum mafat_dtype type = types[known[0] % (sizeof types / sizeof *types)];
  const char *name = mafat_dtypes[type].array ? mafat_dtypes[type].array : "<i8";
  struct mafat_array a = {
      .type = name, .type_bytes = (size_t)(name[2] - '0'), .rank = known[1] % (MOST_DIMS + 2) - 1};
  for (int i = 0; i < a.rank; i++) a.dims[i] = known[2] >> i & 1 ? -1 : dims[i];
  bounded_begin();
  require(mafat_model_file_open(&file, path, &d) == MAFAT_OK);
  int code = mafat_array_read(&a, file, &d);
  bounded_end(TEST_READER_ARRAY, (size_t)file->bytes);
  require(code == MAFAT_OK || (d.text[0] && !strchr(d.text, '\n')));
  if (code == MAFAT_OK) {
    uint64_t elements = 1;
    for (int i = 0; i < a.rank; i++) elements *= (uint64_t)a.dims[i];
    require(a.rank >= 0 && elements == a.n && a.at <= file->bytes &&
            a.n * a.type_bytes == file->bytes - a.at);
  }
  mafat_model_file_close(&file);
}

/* Reads the array as an input of a run. */
static void read_input(const uint8_t *known, const char *path, size_t bytes)
{
  struct mafat_diagnostic d = {""};
  struct mafat_view view;
  enum mafat_dtype type = known[0] & 4 ? MAFAT_I8 : MAFAT_F32;
  uint64_t begin;
  mafat_view_linear(&view, known[1] % (MOST_DIMS + 1), dims, MAFAT_AXIS_NUMBERS);
  int code = mafat_npy_read(path, &view, &type, &begin, &d);
  require(code == MAFAT_OK ? begin <= bytes && (type == MAFAT_F32 || known[0] & 4)
                           : d.text[0] && !strchr(d.text, '\n'));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
  static struct memory_file file;
  if (n < KNOWN) return 0;
  const char *path = memory_file_write(&file, bytes + KNOWN, n - KNOWN);
  read_array(bytes, path);
  read_input(bytes, path, n - KNOWN);
  return 0;
}
