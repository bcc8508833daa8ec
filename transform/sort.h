/* In which order operators run: what lives when follows from it, and so does the most that is needed at a time. */
#ifndef MAFAT_TRANSFORM_SORT_H
#define MAFAT_TRANSFORM_SORT_H

#include "transform/sorter.h"
#include "transform/sorting.h"

enum { MAFAT_USUAL_EFFORT = 100 * 1000 * 1000 }; /* looks at operators: some seconds, where nothing is proven sooner */

/* Fills order[n_operators]: the same for the same graph and effort, on any machine. `effort` is spent by
 * MAFAT_SORT_BEST alone, and as long as the least peak is not proven. MAFAT_ENOMEM. */
int mafat_sort(struct mafat_sorter *s, enum mafat_sorting how, long long effort, int *order,
               struct mafat_sorted *sorted);

#endif
