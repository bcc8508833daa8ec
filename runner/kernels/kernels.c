#include "runner/kernels/kernels.h"

#include "runner/kernels/levels.h"

#include <string.h>
#if defined(__arm__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

static bool always(void)
{
  return true;
}

/* Without vectors: where a sanitizer does not see what they write (check-msan). */
#if defined(__x86_64__) && !defined(MAFAT_WITHOUT_VECTORS)
static bool has_avx2(void)
{
  /* The rest of x86-64-v3 came with these on every processor. The compiler's library has looked before main(). */
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2");
}

static bool has_avx512(void)
{
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512cd");
}
#define X86(table) (table)
#else
#define has_avx2 always
#define has_avx512 always
#define X86(table) NULL
#endif

#if defined(__aarch64__)
#define has_neon always
#define ARM(table) (table)
#elif defined(__arm__)
static bool has_neon(void)
{
  return getauxval(AT_HWCAP) & HWCAP_NEON;
}
#define ARM(table) (table)
#else
#define has_neon always
#define ARM(table) NULL
#endif

/* 180 KB that no processor of 64-bit Arm asks for: a release leaves them out there (packaging/release.mk). */
#if defined(__aarch64__) && defined(MAFAT_WITHOUT_PORTABLE)
#define PORTABLE(table) NULL
#else
#define PORTABLE(table) (table)
#endif

/* Every level there is, slowest first; those of other machines have no table. */
static const struct {
  const char *name;
  const struct mafat_kernels *table;
  bool (*is_supported)(void);
} levels[] = {
    {"portable", PORTABLE(&mafat_kernels_portable), always},
    {"neon", ARM(&mafat_kernels_neon), has_neon},
    {"avx2", X86(&mafat_kernels_avx2), has_avx2},
    {"avx512", X86(&mafat_kernels_avx512), has_avx512},
};

enum { N_LEVELS = sizeof levels / sizeof *levels };

int mafat_kernels_list(const struct mafat_kernels **list, int room)
{
  int n = 0;
  for (int i = 0; i < N_LEVELS; i++) {
    if (!levels[i].table || !levels[i].is_supported()) continue;
    if (n < room) list[n] = levels[i].table;
    n++;
  }
  return n;
}

const struct mafat_kernels *mafat_kernels_find(const char *highest)
{
  const struct mafat_kernels *best = NULL;
  for (int i = 0; i < N_LEVELS; i++) {
    if (levels[i].table && levels[i].is_supported()) best = levels[i].table;
    if (highest && strcmp(highest, levels[i].name) == 0) return best;
  }
  return highest ? NULL : best;
}
