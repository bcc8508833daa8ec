/* Operator scheduling: finds an execution order with a small memory peak. The order determines
 * which tensors live at the same time. */
#ifndef MAFAT_TRANSFORM_SORT_H
#define MAFAT_TRANSFORM_SORT_H

#include "transform/sorter.h"
#include "transform/sorting.h"

/* about some seconds, unless an optimum is proven sooner */
enum { MAFAT_USUAL_EFFORT = 100 * 1000 * 1000 };

/* Fills order[n_operators]. The result depends only on graph and effort, on any machine. `effort`
 * limits MAFAT_SORT_BEST, which ends sooner if the smallest peak is proven. MAFAT_ENOMEM. */
int mafat_sort(struct mafat_sorter *s, enum mafat_sorting how, long long effort, int *order,
               struct mafat_sorted *sorted);

#endif
