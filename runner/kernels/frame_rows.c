/* Selects the video kernels of a kernel level. Called by runner/image/frame.c and image.c. Its
 * tables are constant. */
#include "runner/kernels/frame_rows.h"
#include "runner/kernels/processor.h"

#include <string.h>

#define EVERYWHERE(table) (table)

const struct mafat_frame_kernels *mafat_frame_kernels_find(const char *level)
{
  static const struct {
    const char *level;
    const struct mafat_frame_kernels *kernels;
  } rows[MAFAT_N_LEVELS] = {
#define LEVEL(name, NAME, machine, features, few, frames, ...) \
  {#name, machine(&mafat_frame_kernels_##frames)},
#include "base/levels.def"
  };
  for (int i = 0; i < MAFAT_N_LEVELS; i++)
    if (strcmp(rows[i].level, level) == 0 && rows[i].kernels) return rows[i].kernels;
  return &mafat_frame_kernels_portable;
}
