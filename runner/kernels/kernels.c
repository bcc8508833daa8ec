/* Lists the float kernels of all levels and selects the best for the processor. Called by api/,
 * runner/calibrate, runner/engine/executor.c, runner/image/image.c, integer.c and
 * programs/mafat/doctor.c. Queries processor features; its tables are constant. */
#include "runner/kernels/kernels.h"

#include "runner/kernels/levels.h"
#include "runner/kernels/processor.h"

#include <string.h>

/* The portable kernels have 180 KB and no 64-bit Arm uses them, so releases leave them out
 * (packaging/release.mk). */
#if defined(__aarch64__) && defined(MAFAT_WITHOUT_PORTABLE)
#define EVERYWHERE(table) NULL
#else
#define EVERYWHERE(table) (table)
#endif

#define LEVEL(name, NAME, machine, features, ...) \
  static bool has_##name(void) { return true features; }
#include "base/levels.def"

/* All levels, slowest first; levels of other machines have no table. */
static const struct {
  const char *name;
  const struct mafat_kernels *table;
  bool (*is_supported)(void);
} levels[MAFAT_N_LEVELS] = {
#define LEVEL(name, NAME, machine, ...) {#name, machine(&mafat_kernels_##name), has_##name},
#include "base/levels.def"
};

const char *mafat_kernels_names(void)
{
  static const char names[] =
#define LEVEL(name, ...) ", " #name
#include "base/levels.def"
      ;
  return names + 2;
}

int mafat_kernels_list(const struct mafat_kernels **list, int capacity)
{
  int n = 0;
  for (int i = 0; i < MAFAT_N_LEVELS; i++) {
    if (!levels[i].table || !levels[i].is_supported()) continue;
    if (n < capacity) list[n] = levels[i].table;
    n++;
  }
  return n;
}

const struct mafat_kernels *mafat_kernels_find(const char *highest)
{
  const struct mafat_kernels *best = NULL;
  for (int i = 0; i < MAFAT_N_LEVELS; i++) {
    if (levels[i].table && levels[i].is_supported()) best = levels[i].table;
    if (highest && strcmp(highest, levels[i].name) == 0) return best;
  }
  return highest ? NULL : best;
}
