#include "runner/kernels/integer.h"

#include "runner/kernels/integer_levels.h"
#include "runner/kernels/kernels.h"

#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

static bool always(void)
{
  return true;
}

#if defined(__x86_64__)
static bool has_avx512vnni(void)
{
  return __builtin_cpu_supports("avx512vnni");
}

/* Compilers have no name for it yet: leaf 7, sub-leaf 1. */
static bool has_avxvnni(void)
{
  enum { AVX_VNNI = 1 << 4 };
  unsigned a, b, c, d;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & AVX_VNNI);
}
#define X86(table) (table)
#else
#define has_avx512vnni always
#define has_avxvnni always
#define X86(table) NULL
#endif

#if defined(__aarch64__)
static bool has_dot(void)
{
  return getauxval(AT_HWCAP) & HWCAP_ASIMDDP;
}
#define ARM_DOT(table) (table)
#else
#define has_dot always
#define ARM_DOT(table) NULL
#endif
#if defined(__aarch64__) || defined(__arm__)
#define ARM(table) (table)
#else
#define ARM(table) NULL
#endif

/* By the level of floats that the processor has to have, and what it has to have beside: of each level the best last. */
static const struct {
  const char *level;
  const struct mafat_integer_kernels *table;
  bool (*is_supported)(void);
} rows[] = {
    {"portable", &mafat_integer_portable, always},
    {"neon", ARM(&mafat_integer_neon), always},
    {"neon", ARM_DOT(&mafat_integer_neondot), has_dot},
    {"avx2", X86(&mafat_integer_avx2), always},
    {"avx2", X86(&mafat_integer_avxvnni), has_avxvnni},
    {"avx512", X86(&mafat_integer_avx512), always},
    {"avx512", X86(&mafat_integer_avx512vnni), has_avx512vnni},
};

enum { N_ROWS = sizeof rows / sizeof *rows, MAX_LEVELS = 8 };

int mafat_integer_kernels_list(const struct mafat_integer_kernels **list, int room)
{
  const struct mafat_kernels *levels[MAX_LEVELS];
  int n_levels = mafat_kernels_list(levels, MAX_LEVELS), n = 0;
  for (int i = 0; i < n_levels; i++)
    for (int r = 0; r < N_ROWS; r++) {
      if (strcmp(rows[r].level, levels[i]->name) != 0 || !rows[r].table || !rows[r].is_supported()) continue;
      if (n < room) list[n] = rows[r].table;
      n++;
    }
  return n;
}

const struct mafat_integer_kernels *mafat_integer_kernels_find(const struct mafat_kernels *level)
{
  const struct mafat_integer_kernels *best = &mafat_integer_portable;
  for (int r = 0; r < N_ROWS; r++)
    if (strcmp(rows[r].level, level->name) == 0 && rows[r].table && rows[r].is_supported()) best = rows[r].table;
  return best;
}
