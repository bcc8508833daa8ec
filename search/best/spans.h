/* Candidate groups with their costs: for every span of blocks (costs.h) as a group split by
 * rows, the options on the Pareto front. Included by search/best/best.c. Allocates in the
 * options' heap. */
#ifndef MAFAT_SEARCH_BEST_SPANS_H
#define MAFAT_SEARCH_BEST_SPANS_H

#include "search/best/costs.h"

enum mafat_placement_rule {
  MAFAT_PLACE_KEPT,
  MAFAT_PLACE_LOADED,
  MAFAT_PLACE_SMALL_LOADED, /* loaded if the layer has at most loaded_kb; else streamed */
  MAFAT_PLACE_STREAMED
};

struct mafat_span_option {
  float bytes;      /* arena bytes, without I/O buffers */
  float kept_bytes;
  float ns;
  short rows;
  short loaded_kb;
  unsigned char placement_rule;
  /* enum mafat_algorithm: each layer uses the fastest algorithm up to this one */
  unsigned char most;
};

struct mafat_spans {
  struct mafat_heap *heap; /* the options' */
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
/* Placement of a layer's weights in a group of rows, see predictor/plan/plan.h. */
enum mafat_weight_placement mafat_spans_weight_placement(const struct mafat_costs *costs,
                                                         const struct mafat_span_option *option,
                                                         int layer);

/* Time of computing and reading that overlap: the longer one, plus 8 % of the shorter one. */
static inline double mafat_spans_overlap(double compute_ns, double reading_ns)
{
  double longer = compute_ns > reading_ns ? compute_ns : reading_ns;
  return longer + 0.08 * (compute_ns + reading_ns - longer);
}

#endif
