/* Finds the group that decides how large the arena is. Called by search/least/least.c. Touches only
 * its arguments. */
#include "search/common/fullest.h"

struct mafat_fullest mafat_fullest_alive(const struct mafat_layout *layout,
                                         const struct mafat_plan *plan)
{
  struct mafat_fullest f = {0, layout->peak_time};
  for (int g = 0; g < plan->n_groups; g++)
    if (layout->groups[g].peak_bytes > layout->groups[f.group].peak_bytes) f.group = g;
  return f;
}


/* Returns the index of the group that runs at `time`. */
static int group_at(const struct mafat_plan *plan, int time)
{
  int g = 0;
  while (time / 2 >= plan->groups[g].positions.end) g++;
  return g;
}

struct mafat_fullest mafat_fullest_assigned(const struct mafat_layout *layout,
                                            const struct mafat_plan *plan)
{
  struct mafat_fullest alive = mafat_fullest_alive(layout, plan), found = alive;
  size_t top = 0;
  for (int b = 0; b < layout->n_buffers; b++) {
    const struct mafat_buffer *buffer = &layout->buffers[b];
    if (buffer->first > buffer->last || buffer->offset + buffer->bytes < top) continue;
    bool higher = buffer->offset + buffer->bytes > top;
    top = buffer->offset + buffer->bytes;
    for (int g = group_at(plan, buffer->first); g <= group_at(plan, buffer->last); g++) {
      bool fuller = layout->groups[g].peak_bytes > layout->groups[found.group].peak_bytes;
      if (higher || fuller)
        found = (struct mafat_fullest){g, mafat_max(buffer->first,
                                                    2 * plan->groups[g].positions.begin)};
      higher = false;
    }
  }
  return found.group == alive.group ? alive : found;
}
