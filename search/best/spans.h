/* Table of possible groups by rows. A span is a sequence of neighboring blocks (costs.h) that run
 * as one group. A span has options: ways to run it that differ in rows, algorithms and weight
 * placement. The table has those on the Pareto front of arena bytes, kept bytes and time. Included
 * by search/best/proposer.h. Allocates from request->options->heap. */
#ifndef MAFAT_SEARCH_BEST_SPANS_H
#define MAFAT_SEARCH_BEST_SPANS_H

#include "search/best/costs.h"

/* Weight placement of a group's layers. If a layer cannot stream its weights, they are loaded
 * instead. */
enum mafat_placement_rule {
  MAFAT_PLACE_KEPT,
  MAFAT_PLACE_LOADED,
  MAFAT_PLACE_SMALL_LOADED, /* loaded for layers with at most loaded_kb KiB of weights, streamed for
                               others */
  MAFAT_PLACE_STREAMED
};

/* One way to run a span. The types are small because there are many options. */
struct mafat_span_option {
  float bytes;      /* arena bytes, without I/O buffers */
  float kept_bytes; /* bytes of kept weights, outside the arena */
  float ns;
  short rows;       /* least rows per step */
  short loaded_kb;  /* KiB, for MAFAT_PLACE_SMALL_LOADED */
  unsigned char placement_rule; /* enum mafat_placement_rule */
  /* enum mafat_algorithm: each layer uses the fastest algorithm from MAFAT_DIRECT to `most` */
  unsigned char most;
};

struct mafat_spans {
  struct mafat_heap *heap; /* request->options->heap, which owns the table */
  int n_blocks;
  struct mafat_span_option *options;
  /* The options of the span of blocks begin ... end - 1 have the indices from at[i] up to, but not
   * including, at[i + 1], where i = begin * (n_blocks + 1) + end. */
  int *at;
};

/* Makes the table for all spans. MAFAT_ENOMEM. */
int mafat_spans_make(struct mafat_spans **out, const struct mafat_costs *costs,
                     const struct mafat_search_request *r);
void mafat_spans_close(struct mafat_spans **spans);

/* Index of the cut candidate (search/best/costs.h) with this number of rows and these weights. */
int mafat_spans_cut_candidate(const struct mafat_costs *costs, int rows, bool streamed);
/* Placement of a layer's weights in a group that runs as `option` says. */
enum mafat_weight_placement mafat_spans_weight_placement(const struct mafat_costs *costs,
                                                         const struct mafat_span_option *option,
                                                         int layer);

/* Estimated ns if computing and reading overlap: the longer of the two, plus 8 % of the shorter. */
static inline double mafat_spans_overlap(double compute_ns, double reading_ns)
{
  double longer = compute_ns > reading_ns ? compute_ns : reading_ns;
  return longer + 0.08 * (compute_ns + reading_ns - longer);
}

#endif
