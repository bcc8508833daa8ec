/* Groups that a plan can be made of, with what they cost: for every span of blocks
 * (costs.h) as a group of rows, those ways of doing it of which none is beaten. */
#ifndef MAFAT_SEARCH_BEST_SPANS_H
#define MAFAT_SEARCH_BEST_SPANS_H

#include "search/best/costs.h"

enum mafat_placement_rule {
  MAFAT_PLACE_KEPT,
  MAFAT_PLACE_LOADED,
  MAFAT_PLACE_SMALL_LOADED, /* loaded, where a layer has at most loaded_kb; else streamed */
  MAFAT_PLACE_STREAMED
};

struct mafat_span_option {
  float bytes;      /* of the arena, without what I/O needs */
  float kept_bytes;
  float ns;
  short rows;
  short loaded_kb;
  unsigned char placement_rule;
  unsigned char most; /* enum mafat_algorithm: each layer by the fastest of those up to it */
};

struct mafat_spans {
  struct mafat_heap *heap; /* the options' */
  int n_blocks;
  struct mafat_span_option *options;
  int *at; /* [begin * (n_blocks + 1) + end]: options[at] ... options[next at]; by begin, then end */
};

/* MAFAT_ENOMEM. */
int mafat_spans_make(struct mafat_spans **out, const struct mafat_costs *costs, const struct mafat_search_request *r);
void mafat_spans_close(struct mafat_spans **spans);

/* The way of rows (costs.h) with so many rows. */
int mafat_spans_way(const struct mafat_costs *costs, int rows, bool streamed);
/* Where a layer's weights are in a group of rows: as plan.h has it. */
enum mafat_weight_placement mafat_spans_weight_placement(const struct mafat_costs *costs, const struct mafat_span_option *option,
                                        int layer);

/* Processor and disk side by side: about as long as the longer of both. */
static inline double mafat_spans_overlap(double compute_ns, double reading_ns)
{
  double longer = compute_ns > reading_ns ? compute_ns : reading_ns;
  return longer + 0.08 * (compute_ns + reading_ns - longer);
}

#endif
