#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *mafat_error_name(int code)
{
  switch (code) {
  case MAFAT_OK: return "success";
  case MAFAT_ENOMEM: return "out of memory";
  case MAFAT_EIO: return "input or output failed";
  case MAFAT_EFORMAT: return "bad file";
  case MAFAT_EUNSUPPORTED: return "not supported";
  case MAFAT_ELIMIT: return "does not fit";
  case MAFAT_EINVAL: return "bad argument";
  default: return "unknown error";
  }
}

/* Bytes of a character of UTF-8 that is more than one; 0: none begins here. */
static int bytes_of(const char *text)
{
  unsigned char first = (unsigned char)*text;
  int n = first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 0;
  for (int i = 1; i < n; i++)
    if (((unsigned char)text[i] & 0xc0) != 0x80) return 0;
  return n;
}

/* Paths, names and labels may hold anything; a message stays one line, and tells a terminal nothing: neither by a control character
 * of ASCII nor by one of those from 128 on, as a byte of its own or in UTF-8. */
static void keep_to_one_line(char *text)
{
  for (; *text; text++) {
    int n = bytes_of(text);
    unsigned char last = (unsigned char)text[n ? n - 1 : 0];
    if (n > 2 || (n == 2 && (unsigned char)*text > 0xc2) || (n == 2 && last >= 0xa0)) text += n - 1;
    else if (n == 2) *text++ = '?', *text = '?';
    else if (last < ' ' || (last >= 127 && last < 0xa0)) *text = '?';
  }
}

int mafat_fail(struct mafat_diagnostic *d, int code, const char *format, ...)
{
  if (d) {
    va_list args;
    char whole[8192]; /* paths may be long, and what matters stands behind them */
    enum { HEAD = 150, TAIL = sizeof d->text - HEAD - sizeof "..." };
    va_start(args, format);
    vsnprintf(whole, sizeof whole, format, args);
    va_end(args);
    size_t length = strlen(whole);
    if (length < sizeof d->text) memcpy(d->text, whole, length + 1);
    else snprintf(d->text, sizeof d->text, "%.*s...%s", HEAD, whole, whole + length - TAIL);
    keep_to_one_line(d->text);
  }
  return code;
}

void mafat_warn(const struct mafat_warning_sink *sink, const char *format, ...)
{
  if (!sink || !sink->warn) return;
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  keep_to_one_line(text);
  sink->warn(sink->context, text);
}
