/* Memory and operations of a path by the accounting of the publications, for their examples and
 * tables. They count a tensor's elements only, without padding and scratch; each layer is one
 * step, in file order, with the parts one after the other. The search itself uses real layouts
 * (predictor/layout/layout.h). Included by search/fdt/published.c and by tests. Allocates in the
 * lines' heap. */
#ifndef MAFAT_SEARCH_FDT_PUBLISHED_H
#define MAFAT_SEARCH_FDT_PUBLISHED_H

#include "search/fdt/paths.h"

struct mafat_published {
  uint64_t bytes; /* peak of a step: its output, and all tensors read by this or later steps */
  uint64_t macs;  /* including recomputed ones */
};

/* Accounts for a network with one path in parts; NULL: without. Chains of whole sums are merged in
 * place. MAFAT_ENOMEM. */
int mafat_published_find(struct mafat_published *out, const struct mafat_sole_readers *lines,
                         const struct mafat_path *path);

/* Rows (axis_y) or columns that layer `at` of the path makes for part `part` along that axis: its
 * share for the last layer, and what that share needs for the others. */
struct mafat_span mafat_path_span(const struct mafat_sole_readers *lines,
                                  const struct mafat_path *path, int at, bool axis_y, int part);

#endif
