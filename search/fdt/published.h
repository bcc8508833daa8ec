/* What a path would need by the accounting of the publications: a tensor's elements and nothing else, no padding, nothing to
 * work in, each layer a step of its own in the order of the file, and parts one behind the other. A real plan differs
 * (predictor/layout/layout.h), and goes by that; this is for their examples and tables. */
#ifndef MAFAT_SEARCH_FDT_PUBLISHED_H
#define MAFAT_SEARCH_FDT_PUBLISHED_H

#include "search/fdt/paths.h"

struct mafat_published {
  uint64_t bytes; /* the most that is alive at a step: its output, and what some step from it on reads */
  uint64_t macs;  /* with what is computed again */
};

/* Of a network with one path in parts; NULL: with none. Chains of whole sums are merged in one place. MAFAT_ENOMEM. */
int mafat_published_find(struct mafat_published *out, const struct mafat_lines *lines, const struct mafat_path *path);

/* Rows (axis_y) or columns that the path's layer number `at` makes of its output for part `part` along that axis: of the last
 * one its share, of the others what that is made from. */
struct mafat_span mafat_path_span(const struct mafat_lines *lines, const struct mafat_path *path, int at, bool axis_y, int part);

#endif
