/* The automatic flow of fused depthwise tiling. It picks the largest critical buffer, predicts the
 * bytes of every path around it (paths.h) with every number of parts, and applies the smallest;
 * ties go to the shorter path, then to fewer parts. It ends if no path around a critical buffer
 * reduces memory. Callbacks make and predict plans. Included by search/fdt/fdt.c. Allocates in
 * flow->heap. */
#ifndef MAFAT_SEARCH_FDT_FLOW_H
#define MAFAT_SEARCH_FDT_FLOW_H

#include "search/fdt/paths.h"
#include "search/common/request.h"

enum { MAFAT_MOST_APPLIED = 32 }; /* limit of paths in one plan */

/* Allowed tilings: along channels (FDT, fused depthwise tiling), along rows and columns (FFMT,
 * fused feature map tiling), or both. */
enum mafat_fused_tiling { MAFAT_FUSED_BOTH, MAFAT_FUSED_FDT, MAFAT_FUSED_FFMT };

/* Operations on plans. Paths are in the order of layers and disjoint. They return MAFAT_OK or an
 * error, which ends the flow. */
struct mafat_flow_callbacks {
  /* Predicts the plan with these paths; *bytes SIZE_MAX: impossible. n_evaluations: effort that
   * this costs in addition to the plan's layers: layers times parts of the new path. */
  int (*measure)(void *user, size_t *bytes, const struct mafat_path *paths, int n,
                 long long n_evaluations);
  int (*keep)(void *user); /* Remembers the plan measured last as the best so far. */
  int (*take)(void *user); /* Makes the remembered plan the current one. */
  /* Lists the tensors in the critical buffers of the current plan, the largest buffer first; -1 for
   * buffers without a tensor. The list is in flow->heap; the flow frees it. */
  int (*find_critical)(void *user, int **tensors, int *n);
  bool (*may_go_on)(const void *user); /* false: the search's limit is reached */
};

struct mafat_flow {
  struct mafat_heap *heap;
  const struct mafat_sole_readers *lines; /* the network's chains */
  const struct mafat_flow_callbacks *callbacks;
  void *user; /* first argument of the callbacks */
  enum mafat_fused_tiling tiling;
  bool of_inputs; /* also split the network's inputs */
  struct mafat_path applied[MAFAT_MOST_APPLIED]; /* current paths */
  int n_applied;
  size_t bytes; /* memory with these paths */
};

/* Number of parts: n, or n * n for MAFAT_TILE_BOTH. */
int mafat_path_n_parts(const struct mafat_path *p);
/* From the path's first to its last layer. */
struct mafat_span mafat_path_layers(const struct mafat_path *p);

/* Makes these paths the current ones if they need fewer bytes than flow->bytes. Both functions
 * return MAFAT_OK, MAFAT_ENOMEM or an error of a callback. */
int mafat_flow_begin(struct mafat_flow *flow, const struct mafat_path *paths, int n);
/* Adds paths to the current ones as long as the bytes get fewer. */
int mafat_flow_run(struct mafat_flow *flow);

#endif
