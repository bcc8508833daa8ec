/* The paper's memory predictor: Algorithm 1 of Farley and Gerstlauer (2021), as printed, for
 * repeating the paper's experiments (doc/paper.md). The greedy search chooses its plan by this
 * formula; everything else uses the exact model (predict.h). Called by search/greedy and api/.
 *
 * For every tile of a group and every layer it counts these floats of 4 bytes:
 *
 *   scratch = w_out * h_out * c_in * F^2 / S     the im2col matrix of a convolution
 *   output  = w_out * h_out * c_out
 *   input   = w_in * h_in * c_in
 *   scratch + output + 2 * input
 *
 * F is the side of the filter, S its stride. w and h are the tile's width and height at that layer,
 * including overlap with other tiles, cut off at the map's edge. The prediction is the largest sum
 * plus a constant. The tiles are those of a direct run that computes each layer by itself, whatever
 * algorithms and fusions the plan has.
 *
 * The paper has chains of convolutions and maxpools, square grids and two groups. Here the formula
 * covers any number of groups, any grid (even, balanced or given) and every layer that computes
 * something. c_in is the number of all channels that a layer reads; groups of a convolution make no
 * difference. The second input of a shortcut counts too, with its own width and height. Only layers
 * that Darknet computes through im2col (convolutional, local) have scratch. Aliases (route,
 * dropout, cost) and layers that no output depends on count nothing. */
#ifndef MAFAT_PREDICTOR_COST_PAPER_H
#define MAFAT_PREDICTOR_COST_PAPER_H

#include "predictor/plan/plan.h"

/* The tile and layer of a group that need the most bytes; the first of equals. */
struct mafat_paper_group {
  size_t peak_bytes;   /* scratch + output + 2 x input, without the constant */
  /* input_bytes is counted once here, but twice in peak_bytes */
  size_t scratch_bytes, output_bytes, input_bytes;
  int peak_layer;      /* -1: no layer of the group computes anything */
  int tile_row, tile_col;
};

struct mafat_paper_prediction {
  size_t bytes;                     /* largest peak of a group, plus the constant */
  int peak_group;                   /* that group; the first of equals */
  int n_groups;
  struct mafat_paper_group *groups; /* (n_groups) */
};

/* bias_bytes: the paper's constant. Returns MAFAT_EUNSUPPORTED if a group is not a grid,
 * MAFAT_ENOMEM, or MAFAT_ELIMIT when bytes overflow. *out is NULL after a failure; the caller frees
 * it with the function below. */
int mafat_paper_predict(struct mafat_paper_prediction **out, const struct mafat_network *n,
                        const struct mafat_plan *plan, size_t bias_bytes,
                        struct mafat_diagnostic *d);
void mafat_paper_prediction_close(struct mafat_paper_prediction **p);

#endif
