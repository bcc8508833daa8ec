/* libFuzzer target: reads any bytes as a plan's text, without a network. Build with clang
 * -fsanitize=fuzzer,address,undefined. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/plan/spec.h"
#include "tests/fuzz/bounded.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/networks.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* Reads a plan's text as a spec, which does not depend on a network. Writing and reading it
 * again must give the same text. */
static void check_spec(const char *text)
{
  static char written[1 << 17], twice[1 << 17];
  struct mafat_diagnostic d = {""};
  struct mafat_spec *spec = NULL, *again = NULL;
  bounded_begin();
  int code = mafat_spec_read(&spec, text, &d);
  bounded_end(TEST_READER_PLAN, strlen(text));
  require((code == MAFAT_OK) == (spec != NULL) && (code == MAFAT_OK || d.text[0]));
  if (!spec) return;
  size_t length = mafat_spec_write(spec, written, sizeof written);
  require(length < sizeof written && strlen(written) == length);
  if (length < 1 << 16) {
    require(mafat_spec_read(&again, written, NULL) == MAFAT_OK);
    mafat_spec_write(again, twice, sizeof twice);
    require(!strcmp(written, twice));
  }
  mafat_spec_close(&spec);
  mafat_spec_close(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
  char *text = malloc(n + 1);
  require(text != NULL);
  if (n) memcpy(text, bytes, n);
  text[n] = '\0';
  check_spec(text);
  free(text);
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed)
{
  return mutate_plan(data, n, most, seed);
}
