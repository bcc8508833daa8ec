#include "experiments/memory_limit/why.h"

#include <stdarg.h>
#include <stdio.h>

bool why_not(struct why *why, const char *format, ...)
{
  va_list values;
  va_start(values, format);
  vsnprintf(why->text, sizeof why->text, format, values);
  va_end(values);
  return false;
}
