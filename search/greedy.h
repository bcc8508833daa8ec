/* MAFAT's own search: Algorithm 2 of Farley and Gerstlauer (2021). */
#ifndef MAFAT_SEARCH_GREEDY_H
#define MAFAT_SEARCH_GREEDY_H

#include "predictor/paper.h"

struct mafat_greedy_choice {
  char text[32];  /* "5x5/8/2x2" */
  size_t bytes;   /* what the paper's predictor says of it */
  bool fits;      /* below the limit, by that predictor; false: the fall-back */
};

/* Walks from the highest predicted memory down and takes the first plan below
 * `limit_bytes`; if there is none, the last one, as the paper does. Cuts: for
 * YOLOv2's first 16 layers the paper's (none, 12, 8); for other networks none, then
 * after every maxpool from the back to the front. MAFAT_EUNSUPPORTED, MAFAT_ENOMEM. */
int mafat_search_greedy(struct mafat_greedy_choice *choice, const struct mafat_network *n, int n_layers,
                        size_t limit_bytes, size_t bias_bytes, struct mafat_diagnostic *d);

#endif
