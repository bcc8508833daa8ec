/* Replaces the library Check in random_graphs and oracle_random, which are no tests but link
 * test helpers that use its assertions: a failed assertion prints a message and ends the
 * program. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void _mark_point(const char *file, int line);
void _ck_assert_failed(const char *file, int line, const char *expression, const char *format, ...)
    __attribute__((noreturn));

void _mark_point(const char *file, int line)
{
  (void)file, (void)line;
}

void _ck_assert_failed(const char *file, int line, const char *expression, const char *format, ...)
{
  fflush(stdout);
  fprintf(stderr, "FAIL %s:%d: %s: ", file, line, expression);
  if (format) {
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
  }
  fputc('\n', stderr);
  abort();
}
