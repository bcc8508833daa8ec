#include "runner/kernels.h"

#include "runner/kernels/levels.h"

#include <string.h>

/* Each ladder runs from old to new and ends at the first missing feature. */
int mafat_kernels_list(const struct mafat_kernels **list, int room)
{
  int n = 0;
  if (n < room) list[n] = &mafat_kernels_portable;
  n++;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return n;
  if (n < room) list[n] = &mafat_kernels_avx2;
  n++;
#endif
  return n;
}

const struct mafat_kernels *mafat_kernels_find(const char *highest)
{
  static const char *const known[] = {"portable", "avx2"};
  const struct mafat_kernels *list[8];
  int n = mafat_kernels_list(list, 8);
  if (!highest) return list[n - 1];
  for (int k = 0; k < (int)(sizeof known / sizeof *known); k++)
    if (strcmp(highest, known[k]) == 0) return list[k < n ? k : n - 1];
  return NULL;
}
