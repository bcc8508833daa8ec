/* Finds the group that decides how large the arena is; a search changes it to make the arena
 * smaller. Included by search/least/least.c. Pure functions. */
#ifndef MAFAT_SEARCH_COMMON_FULLEST_H
#define MAFAT_SEARCH_COMMON_FULLEST_H

#include "predictor/layout/layout.h"

struct mafat_fullest {
  int group;
  int time; /* in the layout's unit: 2 * position + phase */
};

/* The group and time with the most live bytes. */
struct mafat_fullest mafat_fullest_alive(const struct mafat_layout *layout,
                                         const struct mafat_plan *plan);

/* The group in whose time the buffer with the highest end lives. If there are several groups, the
 * one with the most live bytes. This can differ from mafat_fullest_alive, because there may be gaps
 * below that buffer. The layout must have offsets. */
struct mafat_fullest mafat_fullest_assigned(const struct mafat_layout *layout,
                                            const struct mafat_plan *plan);

#endif
