/* Replaces functions that the linker would copy from libraries into a static program, although the
 * program needs none of them (Makefile: LEFT_OUT). Their code would be a large part of the
 * program's file, and the memory cgroup in which the program starts is charged for that file's
 * pages. Allocates nothing. */
#include <stdlib.h>

int mafat_scan_nothing(const char *text, const char *format, ...);
void mafat_never_called(void);

/* Replaces sscanf, which is 60 KB in glibc. Only libjpeg calls it, to parse the environment
 * variable JPEGMEM, so that variable has no effect. */
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
