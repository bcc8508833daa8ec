/* Finds the group that decides how large the arena is. A search changes this group to make the
 * arena smaller. Included by search/least/least.c. Touches only its arguments. */
#ifndef MAFAT_SEARCH_COMMON_FULLEST_H
#define MAFAT_SEARCH_COMMON_FULLEST_H

#include "predictor/layout/layout.h"

struct mafat_fullest {
  int group;
  int time; /* as in struct mafat_buffer (layout/layout.h) */
};

/* Returns the group and the time with the most live bytes: bytes of buffers that are in use. */
struct mafat_fullest mafat_fullest_alive(const struct mafat_layout *layout,
                                         const struct mafat_plan *plan);

/* Returns the group that runs while the buffer that ends at the end of the arena is in use. If
 * there are several such groups, returns the one with the most live bytes. It can be another group
 * than that of mafat_fullest_alive, because there may be gaps below that buffer. The layout must
 * have offsets. */
struct mafat_fullest mafat_fullest_assigned(const struct mafat_layout *layout,
                                            const struct mafat_plan *plan);

#endif
