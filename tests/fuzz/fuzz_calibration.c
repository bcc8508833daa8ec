/* libFuzzer target: reads any bytes as a calibration file. Accepted or not, the resulting prices
 * must be usable for predictions, and nearly the same after writing and reading. Build with
 * clang -fsanitize=fuzzer,address,undefined. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runner/calibrate/calibrate_file.h"
#include "tests/fuzz/bounded.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
  if (!condition) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct mafat_diagnostic d = {""};
  struct mafat_calibration c, again;
  char text[4096], *copy = malloc(size ? size : 1); /* no spare bytes, for sanitizers */
  memcpy(copy, data, size);
  bounded_begin();
  int code = mafat_calibration_parse(&c, "avx512", "fuzz", copy, size, &d);
  bounded_end(TEST_READER_CALIBRATION, size);
  free(copy);
  require(code == MAFAT_OK || (code == MAFAT_EFORMAT && d.text[0]));
  require(c.measured == (code == MAFAT_OK));
  for (int t = 0; t < MAFAT_N_TERMS; t++) require(isfinite(c.ns[t]) && c.ns[t] >= 0);
  require(c.near_bytes > 0 && c.far_bytes > 0);
  size_t n = mafat_calibration_write(&c, text, sizeof text);
  require(n < sizeof text &&
          mafat_calibration_parse(&again, "avx512", "written", text, n, &d) == MAFAT_OK);
  for (int t = 0; t < MAFAT_N_TERMS; t++) require(fabs(again.ns[t] - c.ns[t]) <= c.ns[t] * 1e-4);
  return 0;
}
