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

/* Of a character of UTF-8 that is no control character, and of no other bytes: 0. The controls from U+0080 to U+009F are as good as ESC
 * to some terminals, and their second bytes by themselves to others. */
static size_t harmless_bytes(const unsigned char *u)
{
  if (u[0] < 0x80) return u[0] >= ' ' && u[0] != 127;
  if (u[0] < 0xc2 || u[0] > 0xf4) return 0;
  size_t n = u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3 : 4;
  if (u[1] < (u[0] == 0xc2 || u[0] == 0xe0 ? 0xa0 : u[0] == 0xf0 ? 0x90 : 0x80)) return 0; /* E0 and F0: written longer than need be */
  for (size_t i = 1; i < n; i++)
    if ((u[i] & 0xc0) != 0x80) return 0; /* a NUL, too, ends here */
  return n;
}

/* Paths, plans and labels may hold anything; a message stays one line, and does nothing to a terminal. */
static void keep_to_one_line(char *text)
{
  for (size_t n; *text; text += n ? n : 1)
    if (!(n = harmless_bytes((const unsigned char *)text))) *text = '?';
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
