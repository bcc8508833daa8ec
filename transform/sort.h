/* In which order operators run: what lives when follows from it, and so does the most that is needed at a time. */
#ifndef MAFAT_TRANSFORM_SORT_H
#define MAFAT_TRANSFORM_SORT_H

#include "transform/sorter.h"

enum mafat_sorting {
  MAFAT_SORT_FILE,      /* as they are numbered */
  MAFAT_SORT_POSTORDER, /* from the last ones back over what they read, in the order of operands */
  MAFAT_SORT_FORWARD,   /* from the first ones over who reads what they make: reverse post-order */
  MAFAT_SORT_SP,        /* the least peak of series-parallel graphs whose buffers have one reader each */
  MAFAT_SORT_BEST,      /* the least peak there is, or that was found */
  MAFAT_N_SORTINGS
};

enum { MAFAT_USUAL_EFFORT = 100 * 1000 * 1000 }; /* looks at operators: some seconds, where nothing is proven sooner */

/* Fills order[n_operators]: the same for the same graph and effort, on any machine. `effort` is spent by
 * MAFAT_SORT_BEST alone, and as long as the least peak is not proven. MAFAT_ENOMEM. */
int mafat_sort(struct mafat_sorter *s, enum mafat_sorting how, long long effort, int *order,
               struct mafat_sorted *sorted);

/* "file", "postorder", "forward", "sp", "best". */
const char *mafat_sorting_name(enum mafat_sorting how);

#endif
