/* The search "greedy": Algorithm 2 of the MAFAT paper (Farley and Gerstlauer 2021). Included by
 * api/choose.c. Allocates plans while it compares them, and frees them. */
#ifndef MAFAT_SEARCH_GREEDY_GREEDY_H
#define MAFAT_SEARCH_GREEDY_GREEDY_H

#include "predictor/cost/paper.h"
#include "search/common/search.h"

struct mafat_greedy_choice {
  struct mafat_group_spec groups[2]; /* grids: 5x5/8/2x2 */
  int n_groups;
  size_t bytes;   /* predicted by the paper's predictor */
  bool fits;      /* bytes < limit; false: no plan fits, and this is the fall-back */
};

/* For each cut, tries the plans TxT/CUT/2x2 with T = 1 ... 5 tiles per side (TxT/NoCut without a
 * cut), and chooses the first whose predicted bytes are below `limit_bytes`.
 * 1 <= n_layers <= n->n_layers. bias_bytes: constant that the paper's predictor adds.
 *
 * The paper's network is recognized by its structure, regardless of name and input size: a chain of
 * 16 convolutions and maxpools, with maxpools at 1, 3, 7 and 11. Its cuts are the paper's (none,
 * 12, 8), and if nothing fits the result is the last plan, 5x5/8/2x2.
 *
 * For other networks the cuts are none, then after every maxpool, from last to first. Their last
 * plan may need far more than others (5x5/2/2x2 of the whole yolov2: 152 MiB, 5x5/12/2x2: 44 MiB).
 * If nothing fits, the result is therefore the plan with the fewest predicted bytes. Plans with
 * more tiles than pixels are skipped. Returns MAFAT_OK, MAFAT_ENOMEM, MAFAT_ELIMIT (the bytes of
 * every plan overflow) or an error of the predictor. */
int mafat_search_greedy(struct mafat_greedy_choice *choice, const struct mafat_network *n,
                        int n_layers, size_t limit_bytes, size_t bias_bytes,
                        struct mafat_diagnostic *d);

/* The choice as a spec that points into *choice. */
static inline struct mafat_spec mafat_greedy_spec(struct mafat_greedy_choice *choice)
{
  return (struct mafat_spec){.groups = choice->groups, .n_groups = choice->n_groups};
}

extern const struct mafat_search mafat_searching_greedy;

/* The value of the word "bias" in the search's words, or its default. The words must be valid. */
size_t mafat_greedy_bias(const char *words);

#endif
