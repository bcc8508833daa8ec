/* MAFAT's own predictor: Algorithm 1 of Farley and Gerstlauer (2021), as printed.
 * It stands beside the exact model for those who repeat the paper; nothing that runs
 * is decided by it, except which plan the greedy search picks. */
#ifndef MAFAT_PREDICTOR_PAPER_H
#define MAFAT_PREDICTOR_PAPER_H

#include "predictor/plan.h"

enum { MAFAT_PAPER_BIAS = 31 << 20 }; /* on the authors' Raspberry Pi 3: weights, parameters, system */

struct mafat_paper_group {
  size_t peak_bytes; /* largest tile: scratch + output + 2 x input, without the bias */
  int peak_layer;
  int tile_row, tile_col;
};

struct mafat_paper_prediction {
  size_t bytes;                     /* the largest group and the bias */
  int peak_group;
  struct mafat_paper_group *groups; /* (plan->n_groups) */
};

/* Only plans the paper knows: grids. MAFAT_EUNSUPPORTED for groups of rows or
 * panels, or layers its formula says nothing about; MAFAT_ENOMEM; MAFAT_ELIMIT. */
int mafat_paper_predict(struct mafat_paper_prediction **out, const struct mafat_network *n,
                        const struct mafat_plan *plan, size_t bias_bytes, struct mafat_diagnostic *d);
void mafat_paper_prediction_close(struct mafat_paper_prediction **p);

#endif
