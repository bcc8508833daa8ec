/* Numbers of --mean, --scale and --pad. In a file of their own: few runs enter it. */
#include "runner/program/run_inference/options.h"

#include <math.h>
#include <stdlib.h>

/* "127.5", or "1/127.5"; the end of it, NULL: it is no number. */
static const char *read_number(const char *text, float *value)
{
  char *end;
  *value = strtof(text, &end);
  if (end == text || !isfinite(*value)) return NULL;
  if (*end != '/') return end;
  const char *divisor = end + 1;
  *value /= strtof(divisor, &end);
  return end == divisor || !isfinite(*value) ? NULL : end;
}

bool mafat_options_numbers(const char *text, int n, float *values)
{
  int read = 0;
  for (; read < n; read++) {
    const char *end = read_number(text, &values[read]);
    if (!end || (*end && *end != ',')) return false;
    if (!*end) break;
    text = end + 1;
  }
  if (read == 0)
    for (int i = 1; i < n; i++) values[i] = values[0];
  return read == 0 || read == n - 1;
}
