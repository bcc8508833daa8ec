/* Memory and operations of a path as the publications count them, to reproduce their tables. They
 * count the elements of tensors only, without padding and scratch. Each layer is one step, in file
 * order, with the parts one after the other. The search uses real layouts instead
 * (predictor/layout/layout.h). Included by search/fdt/published.c and by tests. Temporary memory is
 * in lines->heap. */
#ifndef MAFAT_SEARCH_FDT_PUBLISHED_H
#define MAFAT_SEARCH_FDT_PUBLISHED_H

#include "search/fdt/paths.h"

struct mafat_published {
  uint64_t bytes; /* peak over steps: the step's output, and all tensors that are still read */
  uint64_t macs;  /* including recomputed ones */
};

/* Counts a network with one path split; NULL: none. The partial sums of a fan-in are added to the
 * same tensor. Returns MAFAT_OK or MAFAT_ENOMEM. */
int mafat_published_find(struct mafat_published *out, const struct mafat_sole_readers *lines,
                         const struct mafat_path *path);

/* Rows (axis_y) or columns of layer `at` of the path that part `part` computes: 1/n of the last
 * layer, and what these need of the layers before it. */
struct mafat_span mafat_path_span(const struct mafat_sole_readers *lines,
                                  const struct mafat_path *path, int at, bool axis_y, int part);

#endif
