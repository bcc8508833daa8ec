/* Table of candidate groups of rows. A span is a sequence of neighbouring blocks (costs.h) that run
 * as one group. For each span, the table has the options on the Pareto front of arena bytes, kept
 * bytes and time. Included by search/best/proposer.h. Allocates in request->options->heap. */
#ifndef MAFAT_SEARCH_BEST_SPANS_H
#define MAFAT_SEARCH_BEST_SPANS_H

#include "search/best/costs.h"

/* Weight placement of a group's layers. A layer that cannot stream its weights loads them. */
enum mafat_placement_rule {
  MAFAT_PLACE_KEPT,
  MAFAT_PLACE_LOADED,
  MAFAT_PLACE_SMALL_LOADED, /* loaded if a layer's weights have at most loaded_kb; else streamed */
  MAFAT_PLACE_STREAMED
};

/* One way to run a span. Small types, because there are many. */
struct mafat_span_option {
  float bytes;      /* arena bytes, without I/O buffers */
  float kept_bytes; /* bytes of kept weights, outside the arena */
  float ns;
  short rows;       /* rows per step */
  short loaded_kb;  /* KiB, for MAFAT_PLACE_SMALL_LOADED */
  unsigned char placement_rule; /* enum mafat_placement_rule */
  /* enum mafat_algorithm: each layer uses the fastest of MAFAT_DIRECT ... most */
  unsigned char most;
};

struct mafat_spans {
  struct mafat_heap *heap; /* request->options->heap, which owns the table */
  int n_blocks;
  struct mafat_span_option *options;
  /* [begin * (n_blocks + 1) + end]: index of the span's first option; the next entry is its end */
  int *at;
};

/* Builds the options of all spans. MAFAT_ENOMEM. */
int mafat_spans_make(struct mafat_spans **out, const struct mafat_costs *costs,
                     const struct mafat_search_request *r);
void mafat_spans_close(struct mafat_spans **spans);

/* Index of the cut candidate (search/best/costs.h) with this number of rows. */
int mafat_spans_cut_candidate(const struct mafat_costs *costs, int rows, bool streamed);
/* Placement of a layer's weights in a group that runs as `option` says. */
enum mafat_weight_placement mafat_spans_weight_placement(const struct mafat_costs *costs,
                                                         const struct mafat_span_option *option,
                                                         int layer);

/* Estimated ns of computing while reading: the longer of both, plus 8 % of the shorter. */
static inline double mafat_spans_overlap(double compute_ns, double reading_ns)
{
  double longer = compute_ns > reading_ns ? compute_ns : reading_ns;
  return longer + 0.08 * (compute_ns + reading_ns - longer);
}

#endif
