/* The automatic flow of fused depthwise tiling, whatever plans are made of: take a critical buffer of what stands, the largest
 * first; measure every path around it with every number of parts; let the least stand, of equals the shorter path, then fewer
 * parts; begin anew. It ends where no critical buffer has a path that makes it less. */
#ifndef MAFAT_SEARCH_FDT_FLOW_H
#define MAFAT_SEARCH_FDT_FLOW_H

#include "search/fdt/paths.h"
#include "search/common/request.h"

enum { MAFAT_MOST_APPLIED = 32 }; /* paths at a time */

/* Fused tiling along channels (depthwise), along rows and columns (of feature maps), or along any. */
enum mafat_fused_tiling { MAFAT_FUSED_BOTH, MAFAT_FUSED_FDT, MAFAT_FUSED_FFMT };

/* What it is about. Paths are in the order of layers, and none meets another one. Errors end it. */
struct mafat_flow_ways {
  /* What these paths need together; SIZE_MAX: they cannot be had. n_looks: in so many layers, by their parts. */
  int (*measure)(void *user, size_t *bytes, const struct mafat_path *paths, int n, long long n_looks);
  int (*keep)(void *user); /* what was measured last: it is the best so far, and may come to stand */
  int (*take)(void *user); /* what was kept last: it stands now */
  /* Tensors that are critical in what stands, the largest first; -1 for what is none. The list is the flow's to free. */
  int (*find_critical)(void *user, int **tensors, int *n);
  bool (*may_go_on)(const void *user);
};

struct mafat_flow {
  struct mafat_heap *heap;
  const struct mafat_lines *lines;
  const struct mafat_flow_ways *ways;
  void *user;
  enum mafat_fused_tiling tiling;
  bool of_inputs; /* are inputs cut, too? */
  struct mafat_path applied[MAFAT_MOST_APPLIED]; /* that stand */
  int n_applied;
  size_t bytes; /* that they need */
};

/* Of parts along both axes all. */
int mafat_path_n_parts(const struct mafat_path *p);
struct mafat_span mafat_path_layers(const struct mafat_path *p);

/* Begins with these paths, where they need less than flow->bytes: then they stand. */
int mafat_flow_begin(struct mafat_flow *flow, const struct mafat_path *paths, int n);
/* From what stands. */
int mafat_flow_run(struct mafat_flow *flow);

#endif
