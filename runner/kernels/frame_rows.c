#include "runner/kernels/frame_rows.h"

#include <string.h>

const struct mafat_frame_kernels *mafat_frame_kernels_find(const char *level)
{
#ifdef __x86_64__
  if (strcmp(level, "portable") != 0) return &mafat_frame_kernels_avx2;
#endif
  (void)level; /* plain C is made of NEON where a machine has it */
  return &mafat_frame_kernels_portable;
}
