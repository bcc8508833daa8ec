/* MAFAT's own predictor: Algorithm 1 of Farley and Gerstlauer (2021), as printed.
 * It stands beside the exact model for those who repeat the paper; nothing that runs
 * is decided by it, except which plan the greedy search picks (doc/paper.md).
 *
 * For every tile of a group and every layer it counts, in floats of 4 bytes,
 *
 *   scratch = w_out * h_out * c_in * F^2 / S     the im2col matrix of a convolution
 *   output  = w_out * h_out * c_out
 *   input   = w_in * h_in * c_in
 *   scratch + output + 2 * input
 *
 * where w and h are the tile's extents at that layer, overlap included, inside the
 * map; the prediction is the largest of these and a constant. So the tiles are those
 * of a direct run that computes each layer by itself, whatever algorithm the
 * plan has and whatever it computes inside other layers.
 *
 * The paper knows chains of convolutions and maxpools, square grids, two groups. The
 * formula is applied beyond: to any number of groups and any grid, even, balanced
 * or given; to every layer that computes something. c_in counts all channels that
 * a layer reads, those that a shortcut adds too (by their own extents), and knows no groups of
 * a convolution. Only layers that Darknet computes through im2col (convolutional,
 * local) have scratch. What only renames (route, dropout, cost) counts nothing,
 * and neither does what no output of the network depends on. */
#ifndef MAFAT_PREDICTOR_COST_PAPER_H
#define MAFAT_PREDICTOR_COST_PAPER_H

#include "predictor/plan/plan.h"

/* The largest tile of a group, the first of equals. */
struct mafat_paper_group {
  size_t peak_bytes;   /* scratch + output + 2 x input, without the bias */
  size_t scratch_bytes, output_bytes, input_bytes; /* input: once */
  int peak_layer;      /* -1: no layer of the group computes anything */
  int tile_row, tile_col;
};

struct mafat_paper_prediction {
  size_t bytes;                     /* the largest group and the bias */
  int peak_group;                   /* the first of equals */
  int n_groups;
  struct mafat_paper_group *groups; /* (n_groups) */
};

/* Only grids: MAFAT_EUNSUPPORTED for groups of rows or panels. MAFAT_ENOMEM;
 * MAFAT_ELIMIT when the bytes overflow. *out is NULL after a failure. */
int mafat_paper_predict(struct mafat_paper_prediction **out, const struct mafat_network *n,
                        const struct mafat_plan *plan, size_t bias_bytes, struct mafat_diagnostic *d);
void mafat_paper_prediction_close(struct mafat_paper_prediction **p);

#endif
