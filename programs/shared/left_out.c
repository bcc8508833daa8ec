/* Replaces functions that libraries link into a static program and that nothing here needs.
 * Their code is a large part of the program's file (Makefile: LEFT_OUT), for which the starter's
 * memory cgroup is charged. */
#include <stdlib.h>

int mafat_scan_nothing(const char *text, const char *format, ...);
void mafat_never_called(void);

/* For sscanf: libjpeg asks JPEGMEM, a variable of the environment, by it and nothing else does, and
 * glibc's is 60 KB, with long doubles and wide characters. A budget goes by no such variable. */
int mafat_scan_nothing(const char *text, const char *format, ...)
{
  (void)text, (void)format;
  return 0;
}

/* For what libpng writes pictures with, 60 KB with zlib's compression: of the functions that read,
 * none calls these. */
void mafat_never_called(void)
{
  abort();
}
