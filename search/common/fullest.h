/* Finds the group at an arena's peak: only changes to it can make the arena smaller. Included by
 * search/least/least.c. Pure functions. */
#ifndef MAFAT_SEARCH_COMMON_FULLEST_H
#define MAFAT_SEARCH_COMMON_FULLEST_H

#include "predictor/layout/layout.h"

struct mafat_fullest {
  int group;
  int time; /* in the layout */
};

/* The group and time with the most live bytes. */
struct mafat_fullest mafat_fullest_alive(const struct mafat_layout *layout,
                                         const struct mafat_plan *plan);

/* The group with the buffer of the highest offset; of several the one with the most live bytes.
 * Gaps may be below that buffer, so live bytes need not be at their peak. The layout must have
 * offsets. */
struct mafat_fullest mafat_fullest_assigned(const struct mafat_layout *layout,
                                            const struct mafat_plan *plan);

#endif
