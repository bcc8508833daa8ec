/* Reads and writes decimal numbers independently of the locale. Called by the cfg reader
 * (formats/darknet/cfg.c) and the calibration file (runner/calibrate/calibrate_file.c). Reads the
 * locale and does not change it. */
#include "base/number.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>

/* Returns the locale's decimal point: mostly ".", often ",", sometimes longer than one byte. */
static const char *locale_point(void)
{
  const char *point = nl_langinfo(RADIXCHAR);
  return *point ? point : ".";
}

float mafat_number_read(const char *text, const char **end)
{
  const char *point = locale_point();
  char copy[256], *stop;
  if (strcmp(point, ".") == 0) {
    float v = strtof(text, &stop);
    *end = stop;
    return v;
  }
  size_t n = strcspn(text, ",;"), before = strcspn(text, "."), length = strlen(point);
  *end = text;
  if (n + length >= sizeof copy) return 0; /* too long for a number */
  if (before > n) before = n;
  memcpy(copy, text, before);
  copy[before] = '\0';
  /* The text uses '.', as in the C locale: the locale's own decimal point ends the number. */
  char *foreign = strstr(copy, point);
  if (foreign) *foreign = '\0';
  else if (before < n) {
    memcpy(copy + before, point, length);
    memcpy(copy + before + length, text + before + 1, n - before - 1);
    copy[length + n - 1] = '\0';
  }
  float v = strtof(copy, &stop);
  size_t used = (size_t)(stop - copy);
  /* After a replaced point, the copy is length - 1 bytes longer than the text. */
  *end = text + (!foreign && used >= before + length ? used - length + 1 : used);
  return v;
}

void mafat_number_point(char *text)
{
  const char *point = locale_point();
  size_t length = strlen(point);
  char *at = strcmp(point, ".") == 0 ? NULL : strstr(text, point);
  if (!at) return;
  *at = '.';
  memmove(at + 1, at + length, strlen(at + length) + 1);
}
