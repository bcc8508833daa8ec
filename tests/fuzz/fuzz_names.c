/* libFuzzer target: reads any bytes as a list of labels. Build with clang
 * -fsanitize=fuzzer,address,undefined. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "programs/run_inference/names.h"
#include "tests/fuzz/bounded.h"
#include "tests/fuzz/memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
  if (!holds) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct mafat_diagnostic d = {""};
  struct mafat_names *names = NULL;
  char capacity[MAFAT_NAMES_ROOM];
  static struct memory_file file;
  const char *path = memory_file_write(&file, data, size);
  bounded_begin();
  int code = mafat_names_read(&names, path, &d);
  bounded_end(TEST_READER_LABELS, size);
  require((code == MAFAT_OK) == (names != NULL) && (code == MAFAT_OK || d.text[0]));
  size_t length = 0;
  for (int i = -1; i <= mafat_names_count(names); i++) {
    const char *label = mafat_names_label(names, i, capacity);
    require(*label && !strchr(label, '\n'));
    if (label != capacity) length += strlen(label);
  }
  require(length <= size);
  mafat_names_close(&names);
  return 0;
}
