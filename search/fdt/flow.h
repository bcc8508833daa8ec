/* The automatic flow of fused depthwise tiling, independent of how plans are measured. It picks
 * the largest critical buffer, measures every path around it with every number of parts, and
 * applies the least; ties go to the shorter path, then to fewer parts. It ends if no critical
 * buffer has a path that reduces memory. Included by search/fdt/fdt.c. Allocates in the flow's
 * heap. */
#ifndef MAFAT_SEARCH_FDT_FLOW_H
#define MAFAT_SEARCH_FDT_FLOW_H

#include "search/fdt/paths.h"
#include "search/common/request.h"

enum { MAFAT_MOST_APPLIED = 32 }; /* paths applied together */

/* Fused tiling along channels (depthwise), along rows and columns (of feature maps), or both. */
enum mafat_fused_tiling { MAFAT_FUSED_BOTH, MAFAT_FUSED_FDT, MAFAT_FUSED_FFMT };

/* Operations on plans. Paths are in the order of layers and disjoint. Errors end the flow. */
struct mafat_flow_callbacks {
  /* Measures these paths together; SIZE_MAX: impossible. n_evaluations: effort, in layers by
   * parts. */
  int (*measure)(void *user, size_t *bytes, const struct mafat_path *paths, int n,
                 long long n_evaluations);
  int (*keep)(void *user); /* Remembers the last measured plan as the best so far. */
  int (*take)(void *user); /* Makes the last remembered plan the current one. */
  /* Lists the critical tensors of the current plan, largest first; -1 for other buffers. The flow
   * frees the list. */
  int (*find_critical)(void *user, int **tensors, int *n);
  bool (*may_go_on)(const void *user);
};

struct mafat_flow {
  struct mafat_heap *heap;
  const struct mafat_sole_readers *lines;
  const struct mafat_flow_callbacks *callbacks;
  void *user;
  enum mafat_fused_tiling tiling;
  bool of_inputs; /* also split inputs */
  struct mafat_path applied[MAFAT_MOST_APPLIED]; /* current paths */
  int n_applied;
  size_t bytes; /* memory with these paths */
};

/* Number of parts; along both axes the product. */
int mafat_path_n_parts(const struct mafat_path *p);
struct mafat_span mafat_path_layers(const struct mafat_path *p);

/* Starts from these paths if they need less than flow->bytes. */
int mafat_flow_begin(struct mafat_flow *flow, const struct mafat_path *paths, int n);
/* Continues from the current paths. */
int mafat_flow_run(struct mafat_flow *flow);

#endif
