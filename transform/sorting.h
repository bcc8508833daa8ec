/* The ways in which operators are put in order. */
#ifndef MAFAT_TRANSFORM_SORTING_H
#define MAFAT_TRANSFORM_SORTING_H

#include <stdbool.h>

enum mafat_sorting {
  MAFAT_SORT_FILE,      /* as they are numbered */
  MAFAT_SORT_POSTORDER, /* from the last ones back over what they read, in the order of operands */
  MAFAT_SORT_FORWARD,   /* from the first ones over who reads what they make: reverse post-order */
  MAFAT_SORT_SP,        /* the least peak of series-parallel graphs whose buffers have one reader each */
  MAFAT_SORT_BEST,      /* the least peak there is, or that was found */
  MAFAT_N_SORTINGS
};

/* "file", "postorder", "forward", "sp", "best". */
const char *mafat_sorting_name(enum mafat_sorting how);

#endif
