#include "network/error.h"

#include <stdarg.h>
#include <stdio.h>

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

int mafat_fail(struct mafat_diagnostic *d, int code, const char *format, ...)
{
  if (d) {
    va_list args;
    va_start(args, format);
    vsnprintf(d->text, sizeof d->text, format, args);
    va_end(args);
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
  sink->warn(sink->context, text);
}
