/* Lists the integer kernels and selects the best for the processor. Called by
 * runner/engine/executor.c, runner/calibrate/calibrate_file.c and api/footprint.c. Queries
 * processor features; its tables are constant. */
#include "runner/kernels/integer.h"

#include "runner/kernels/integer_levels.h"
#include "runner/kernels/kernels.h"
#include "runner/kernels/processor.h"

#include <string.h>

/* No 64-bit Arm uses the portable kernels, so releases leave them out (packaging/release.mk). */
#if defined(__aarch64__) && defined(MAFAT_WITHOUT_PORTABLE)
#define EVERYWHERE(table) NULL
#else
#define EVERYWHERE(table) (table)
#endif

#define INTEGERS(name, level, machine, features) \
  static bool has_##name(void) { return true features; }
#include "base/levels.def"

/* Each row belongs to a float level; the best row of a level is the last one that the processor
 * supports. */
static const struct {
  const char *level;
  const struct mafat_integer_kernels *table;
  bool (*is_supported)(void);
} rows[MAFAT_N_INTEGER_LEVELS] = {
#define INTEGERS(name, level, machine, ...) {#level, machine(&mafat_integer_##name), has_##name},
#include "base/levels.def"
};

int mafat_integer_kernels_list(const struct mafat_integer_kernels **list, int capacity)
{
  const struct mafat_kernels *levels[MAFAT_N_LEVELS];
  int n_levels = mafat_kernels_list(levels, MAFAT_N_LEVELS), n = 0;
  for (int i = 0; i < n_levels; i++)
    for (int r = 0; r < MAFAT_N_INTEGER_LEVELS; r++) {
      if (strcmp(rows[r].level, levels[i]->name) != 0 || !rows[r].table || !rows[r].is_supported())
        continue;
      if (n < capacity) list[n] = rows[r].table;
      n++;
    }
  return n;
}

const struct mafat_integer_kernels *mafat_integer_kernels_find(const struct mafat_kernels *level)
{
  const struct mafat_integer_kernels *best = NULL; /* each level has a row without requirements */
  for (int r = 0; r < MAFAT_N_INTEGER_LEVELS; r++)
    if (strcmp(rows[r].level, level->name) == 0 && rows[r].table && rows[r].is_supported())
      best = rows[r].table;
  return best;
}
