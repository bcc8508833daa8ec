/* Formats error messages into diagnostics, and warnings for a sink. Called by all folders for every
 * failure. Allocates nothing and prints nothing; mafat_warn calls the sink. */
#include "base/error.h"

#include "base/utf8.h"

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
  case MAFAT_ECANCELED: return "canceled";
  default: return "unknown error";
  }
}

int mafat_fail(struct mafat_diagnostic *d, int code, const char *format, ...)
{
  if (d) {
    va_list args;
    /* A message longer than d->text loses its middle: its end matters most. */
    char whole[8192];
    enum { HEAD = 150, TAIL = sizeof d->text - HEAD - sizeof "..." };
    va_start(args, format);
    vsnprintf(whole, sizeof whole, format, args);
    va_end(args);
    size_t length = strlen(whole);
    if (length < sizeof d->text) memcpy(d->text, whole, length + 1);
    else snprintf(d->text, sizeof d->text, "%.*s...%s", HEAD, whole, whole + length - TAIL);
    /* paths, plans and labels may contain control characters */
    mafat_utf8_keep_to_one_line(d->text);
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
  mafat_utf8_keep_to_one_line(text);
  sink->warn(sink->context, text);
}
