#define COLOURS_NAME mafat_colours_portable
#include "runner/kernels/colours_body.h"

mafat_colours *mafat_colours_find(const char *level)
{
#ifdef __x86_64__
  if (strcmp(level, "portable") != 0) return mafat_colours_avx2;
#endif
  (void)level; /* plain C is made of NEON where a machine has it */
  return mafat_colours_portable;
}
