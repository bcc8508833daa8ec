/* Where an arena is fullest: which group has to change for it to become smaller. */
#ifndef MAFAT_SEARCH_COMMON_FULLEST_H
#define MAFAT_SEARCH_COMMON_FULLEST_H

#include "predictor/layout/layout.h"

struct mafat_fullest {
  int group;
  int time; /* of the layout's */
};

/* Where most lives at one time. */
struct mafat_fullest mafat_fullest_alive(const struct mafat_layout *layout, const struct mafat_plan *plan);

/* Where what is arranged reaches highest, and of such groups the one in which most lives: holes may lie below it, so that it need
 * not be where most is alive. Of a layout that has offsets. */
struct mafat_fullest mafat_fullest_assigned(const struct mafat_layout *layout, const struct mafat_plan *plan);

#endif
