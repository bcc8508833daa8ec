/* Memory and operations of a network as the publications count them, to reproduce their tables.
 * They only count the elements of tensors, without padding and scratch. Each layer is one step, in
 * the order of the file; the parts of a path run one after the other. The search uses real layouts
 * instead (predictor/layout/layout.h). Included by search/fdt/published.c and by tests. Temporary
 * memory is in lines->heap. */
#ifndef MAFAT_SEARCH_FDT_PUBLISHED_H
#define MAFAT_SEARCH_FDT_PUBLISHED_H

#include "search/fdt/paths.h"

struct mafat_published {
  uint64_t bytes; /* greatest sum, over all steps, of the bytes of the step's output and of all
                     tensors that this or a later step reads */
  uint64_t macs;  /* multiply-adds, including those that are computed twice */
};

/* Counts a network in which the layers of `path` run part by part; NULL: no path. The partial sums
 * of a fan-in are added to the same tensor. Returns MAFAT_OK or MAFAT_ENOMEM. */
int mafat_published_find(struct mafat_published *out, const struct mafat_sole_readers *lines,
                         const struct mafat_path *path);

/* Rows (axis_y) or columns of the path's layer number `at` that part number `part` computes: 1/n of
 * those of the last layer; of the layers before, as many as these need. */
struct mafat_span mafat_path_span(const struct mafat_sole_readers *lines,
                                  const struct mafat_path *path, int at, bool axis_y, int part);

#endif
