/* Formats one-line reasons of failures. Called by all files of memory_limit. */
#include "programs/memory_limit/why.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"

bool why_not(struct why *why, const char *format, ...)
{
  va_list values;
  va_start(values, format);
  vsnprintf(why->text, sizeof why->text, format, values);
  va_end(values);
  mafat_utf8_keep_to_one_line(why->text);
  return false;
}
