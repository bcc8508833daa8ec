/* The paper's configurations, from coarse to fine, judged by the exact model:
 * what run_inference uses when no plan is given. */
#ifndef MAFAT_SEARCH_COARSE_H
#define MAFAT_SEARCH_COARSE_H

#include "predictor/predict.h"

/* For each cut (none, then after each layer that shrinks its map, from the last
 * to the first) and each top tiling 1x1 ... 5x5 with 2x2 below the cut: the
 * first plan whose predicted charge is at most `budget`. Where none fits,
 * *fits is false and the plan is the one that needs least.
 * Errors: MAFAT_ENOMEM, MAFAT_ELIMIT. */
int mafat_search_coarse(struct mafat_plan **plan, struct mafat_layout **layout, bool *fits,
                        const struct mafat_network *n, int n_layers,
                        const struct mafat_plan_options *options,
                        const struct mafat_surroundings *around, size_t budget,
                        struct mafat_diagnostic *d);

#endif
