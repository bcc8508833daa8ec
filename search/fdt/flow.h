/* The automatic flow of fused depthwise tiling. It picks the largest critical buffer, predicts the
 * bytes of a plan for every path around it (paths.h) and every number of parts, and applies the
 * path whose plan needs the fewest bytes; among equals, the shorter path, then the one with fewer
 * parts. If no path reduces memory, it goes on to the next critical buffer, and ends after the
 * last. Callbacks make and predict plans. Included by search/fdt/fdt.c. Allocates from
 * flow->heap. */
#ifndef MAFAT_SEARCH_FDT_FLOW_H
#define MAFAT_SEARCH_FDT_FLOW_H

#include "search/fdt/paths.h"
#include "search/common/request.h"

enum { MAFAT_MOST_APPLIED = 32 }; /* greatest number of paths in one plan */

/* Allowed tilings: along channels (FDT, fused depthwise tiling), along rows and columns (FFMT,
 * fused feature map tiling), or both. */
enum mafat_fused_tiling { MAFAT_FUSED_BOTH, MAFAT_FUSED_FDT, MAFAT_FUSED_FFMT };

/* Operations on plans. Except may_go_on, they return MAFAT_OK or an error, which ends the flow. */
struct mafat_flow_callbacks {
  /* Predicts the bytes of the plan with these n paths, which are disjoint and in the order of
   * layers; *bytes SIZE_MAX: there is no such plan. n_evaluations: number of layers times number of
   * parts of the new path; effort in addition to the plan's layers (common/effort.h). */
  int (*measure)(void *user, size_t *bytes, const struct mafat_path *paths, int n,
                 long long n_evaluations);
  int (*keep)(void *user); /* Keeps the plan measured last as the best so far. */
  int (*take)(void *user); /* Makes the kept plan the current plan. */
  /* Lists the tensors in the critical buffers of the current plan, the largest buffer first; -1 for
   * a buffer without a tensor. The list is in flow->heap; the flow frees it. */
  int (*find_critical)(void *user, int **tensors, int *n);
  bool (*may_go_on)(const void *user); /* false: the search's limit is reached */
};

struct mafat_flow {
  struct mafat_heap *heap;
  const struct mafat_sole_readers *lines; /* the network's chains */
  const struct mafat_flow_callbacks *callbacks;
  void *user; /* first argument of the callbacks */
  enum mafat_fused_tiling tiling;
  bool of_inputs; /* paths may begin at an input of the network (mafat_path_of_input) */
  struct mafat_path applied[MAFAT_MOST_APPLIED]; /* (n_applied) paths of the current plan */
  int n_applied;
  size_t bytes; /* bytes of the current plan; SIZE_MAX: there is none yet */
};

/* Number of the path's parts: n, or n * n for MAFAT_TILE_BOTH. */
int mafat_path_n_parts(const struct mafat_path *p);
/* Range of layers from the path's first to its last one. */
struct mafat_span mafat_path_layers(const struct mafat_path *p);

/* Makes the plan of these paths the current one if it needs fewer bytes than flow->bytes. Returns
 * MAFAT_OK, MAFAT_ENOMEM or an error of a callback. */
int mafat_flow_begin(struct mafat_flow *flow, const struct mafat_path *paths, int n);
/* Adds paths to the current plan as long as it then needs fewer bytes. Returns as mafat_flow_begin
 * does. */
int mafat_flow_run(struct mafat_flow *flow);

#endif
