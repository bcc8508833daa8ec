/* The search "greedy": Algorithm 2 of the MAFAT paper (Farley and Gerstlauer 2021). Included by
 * api/choose.c; also reached through search/searches.c. Allocates plans to compare them, and frees
 * them. */
#ifndef MAFAT_SEARCH_GREEDY_GREEDY_H
#define MAFAT_SEARCH_GREEDY_GREEDY_H

#include "predictor/cost/paper.h"
#include "search/common/search.h"

struct mafat_greedy_choice {
  struct mafat_group_spec groups[2]; /* groups with grids, as in 5x5/8/2x2 */
  int n_groups;
  size_t bytes;   /* bytes by the paper's memory formula */
  bool fits;      /* bytes < limit; false: no plan fits, and this one is chosen as told below */
};

/* Tries plans for the first n_layers layers (from 1 to n->n_layers), and chooses the first one
 * whose bytes, by the paper's memory formula, are below `limit_bytes`. The plans are TxT/NoCut with
 * T = 1 ... 5 tiles per side, then TxT/CUT/2x2 for each cut. bias_bytes: constant that the formula
 * adds.
 *
 * The paper's network is recognized by its structure, whatever its name and input size: a chain of
 * 16 convolutions and maxpools, with maxpools at 1, 3, 7 and 11. Its cuts are the paper's, 12 and
 * 8. If no plan fits, the last one, 5x5/8/2x2, is chosen.
 *
 * Other networks have a cut after every maxpool; cuts are tried from the last to the first. The
 * last plan may need far more than others (5x5/2/2x2 of the whole yolov2: 152 MiB, 5x5/12/2x2: 44
 * MiB). So, if no plan fits, the one with the fewest bytes is chosen. Plans with more tiles than
 * pixels are skipped. Returns MAFAT_OK, MAFAT_ENOMEM, MAFAT_ELIMIT (the bytes of every plan
 * overflow) or an error of mafat_paper_predict. */
int mafat_search_greedy(struct mafat_greedy_choice *choice, const struct mafat_network *n,
                        int n_layers, size_t limit_bytes, size_t bias_bytes,
                        struct mafat_diagnostic *d);

/* Returns the choice as a spec that points into *choice, so it must not be closed. */
static inline struct mafat_spec mafat_greedy_spec(struct mafat_greedy_choice *choice)
{
  return (struct mafat_spec){.groups = choice->groups, .n_groups = choice->n_groups};
}

extern const struct mafat_search mafat_searching_greedy;

/* Returns the value of the word "bias" of the search, in bytes, or its default. The words must be
 * valid. */
size_t mafat_greedy_bias(const char *words);

#endif
