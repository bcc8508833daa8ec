/* Which operators around a buffer are tiled together: paths of blocks, along a single line of operators. */
#ifndef MAFAT_SEARCH_FDT_PATHS_H
#define MAFAT_SEARCH_FDT_PATHS_H

#include "search/fdt/tiling.h"

#include <stdint.h>

/* What an operator may be in a path. */
enum mafat_fdt_role {
  MAFAT_FDT_FAN_OUT = 1,  /* depth: makes channels of all that it reads */
  MAFAT_FDT_PART = 2,     /* depth: has them channel by channel */
  MAFAT_FDT_FAN_IN = 4,   /* depth: sums them up */
  MAFAT_FDT_MAPS = 8      /* rows and columns: goes on tile by tile, with what its window asks for */
};

struct mafat_fdt_operator {
  int roles;
  int kernel_h, kernel_w, stride_h, stride_w; /* of its window; 1: none */
  int h, w, c;                                /* of its output */
  uint64_t in_bytes, out_bytes;
};

/* From operator `first` to `last` of the line. Else than by fan-out it begins with a split, else than by fan-in it ends
 * with a join. */
struct mafat_fdt_path {
  int first, last;
  bool fans_out, fans_in;
};

/* Around the output of operator `at` of a line of n. Fills reaches[at + 1] with the first operators, nearest first, that
 * versions of the way up go to, before they are cut at the least buffer. Returns how many. */
int mafat_fdt_reach_up(const struct mafat_fdt_operator *line, int at, struct mafat_fdt_tiling tiling, int *reaches);
/* The same down: fills reaches[n - at]. */
int mafat_fdt_reach_down(const struct mafat_fdt_operator *line, int n, int at, struct mafat_fdt_tiling tiling, int *reaches);

/* All that are possible, none twice, by the first operator, nearest first, then by the last: at most (at + 1) * (n - at) of
 * them, of which the first `most` are filled in. Returns how many these are. */
int mafat_fdt_paths(const struct mafat_fdt_operator *line, int n, int at, struct mafat_fdt_tiling tiling,
                    struct mafat_fdt_path *list, int most);

#endif
