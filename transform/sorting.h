/* Methods of operator scheduling. */
#ifndef MAFAT_TRANSFORM_SORTING_H
#define MAFAT_TRANSFORM_SORTING_H

#include <stdbool.h>

enum mafat_sorting {
  MAFAT_SORT_FILE,      /* in the file's order */
  MAFAT_SORT_POSTORDER, /* depth-first from the outputs over operands, in post-order */
  MAFAT_SORT_FORWARD,   /* depth-first from the inputs over readers, in reverse post-order */
  MAFAT_SORT_SP, /* minimal peak for series-parallel graphs whose buffers have one reader each */
  MAFAT_SORT_BEST,      /* minimal peak, or the best found within the effort */
  MAFAT_N_SORTINGS
};

/* "file", "postorder", "forward", "sp", "best". */
const char *mafat_sorting_name(enum mafat_sorting how);

#endif
