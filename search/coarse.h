/* Rows, then the paper's configurations from coarse to fine, judged by the exact
 * model: what run_inference uses when no plan is given. */
#ifndef MAFAT_SEARCH_COARSE_H
#define MAFAT_SEARCH_COARSE_H

#include "predictor/predict.h"

/* First what computes nothing twice and keeps its weights: whole maps, or rows down
 * to a cut and whole maps from there on, for each cut (after a layer that shrinks
 * its map): the one that needs least, for they are about equally fast. If that is
 * more than `budget`, the same with panels below the cut and weights that are read
 * in every run: of those that fit, the one with the least to compute and to read.
 * Tiles come last. Where nothing fits, the plan is the one that needs least of all.
 * Errors: MAFAT_ENOMEM, MAFAT_ELIMIT. */
int mafat_search_coarse(struct mafat_plan **plan, struct mafat_layout **layout,
                        const struct mafat_network *n, int n_layers,
                        const struct mafat_plan_options *options,
                        const struct mafat_surroundings *around, size_t budget,
                        struct mafat_diagnostic *d);

#endif
