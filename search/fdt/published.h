/* Counts memory and operations of a network as the publications on fused depthwise tiling (FDT)
 * count them, to reproduce their tables. They only count the elements of tensors, without padding
 * and scratch. Each layer is one step, in the order of the file. A path is a chain of layers that
 * run part by part (paths.h); its parts run one after the other. The search uses real layouts
 * instead (predictor/layout/layout.h). Included by search/fdt/published.c and by tests. Temporary
 * memory is in lines->heap. */
#ifndef MAFAT_SEARCH_FDT_PUBLISHED_H
#define MAFAT_SEARCH_FDT_PUBLISHED_H

#include "search/fdt/paths.h"

struct mafat_published {
  uint64_t bytes; /* greatest sum, over all steps, of the bytes of the step's output and of all
                     tensors that this or a later step reads */
  uint64_t macs;  /* multiply-adds; those computed again in another part are counted again */
};

/* Counts a network in which the layers of `path` run part by part; NULL: no path. At the end of a
 * path along channels (fan-in), the parts add their partial sums to one tensor. Returns MAFAT_OK or
 * MAFAT_ENOMEM. */
int mafat_published_find(struct mafat_published *out, const struct mafat_sole_readers *lines,
                         const struct mafat_path *path);

/* Returns the rows (axis_y) or columns that part number `part` computes of the path's layer number
 * `at`. Of the path's last layer it computes 1/n, where n is the number of parts; of the layers
 * before, the rows or columns that this needs. */
struct mafat_span mafat_path_span(const struct mafat_sole_readers *lines,
                                  const struct mafat_path *path, int at, bool axis_y, int part);

#endif
