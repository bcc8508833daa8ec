/* Replaces functions that libraries link into a static program and that nothing here needs.
 * Their code is a large part of the program's file (Makefile: LEFT_OUT), for which the starter's
 * memory cgroup is charged. */
#include <stdlib.h>

int mafat_scan_nothing(const char *text, const char *format, ...);
void mafat_never_called(void);

/* Replaces sscanf, which is 60 KB in glibc. Only libjpeg calls it, to parse the environment
 * variable JPEGMEM, which is thus ignored. */
int mafat_scan_nothing(const char *text, const char *format, ...)
{
  (void)text, (void)format;
  return 0;
}

/* Replaces functions that reading a picture does not call: those with which libpng writes pictures,
 * 60 KB with zlib's compression; those with which libjpeg reduces a picture to 256 colours or
 * upsamples it without smoothing, 23 KB. */
void mafat_never_called(void)
{
  abort();
}
