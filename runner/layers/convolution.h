/* What the convolutions share: the tables in scratch that a kernel call reads
 * its arguments from. Internal to the executor's layers. */
#ifndef MAFAT_RUNNER_LAYERS_CONVOLUTION_H
#define MAFAT_RUNNER_LAYERS_CONVOLUTION_H

#include "runner/layers/layers.h"

/* One convolution step being run by one worker. Where the step's layer is a
 * maxpool or a shortcut, the convolution is a layer inside it; under a maxpool
 * everything here is in the convolution's rows and columns but for `out_rows`. */
struct convolution {
  const struct mafat_worker *worker;
  const struct mafat_step *step;
  const struct mafat_layer *layer; /* the convolution that reads the input */
  int index;                       /* its number: whose weights */
  int pointwise;                   /* the 1x1 that a depthwise lies inside, or -1 */
  const struct mafat_layer *shortcut; /* adds to what is stored, or NULL */
  bool pool;                       /* stores the largest of each 2 x 2 */
  struct mafat_box box;            /* of sums */
  struct mafat_span in_y;          /* input rows that may be read: the rest counts as zero */
  struct mafat_conv_piece *pieces; /* [n_pieces] */
  struct mafat_piece *references;  /* [n_pieces] */
  const float **in_rows;           /* [piece][scratch.in_rows] */
  float **out_rows;                /* [segment][scratch.rows_per_call] */
  float *zeros;
  int n_pieces;
};

/* Takes the tables from the worker's slot; clears the row of zeros. */
void convolution_open(struct convolution *c, const struct mafat_worker *w, const struct mafat_step *step);

/* Sets references and n_pieces to the pieces of input channels [channels). */
void convolution_list_pieces(struct convolution *c, struct mafat_span channels);

/* Pointers to n input rows of a piece from `first` on, at input column `x`; rows
 * that may not be read point at zeros. */
void convolution_point_at_rows(const struct convolution *c, const struct mafat_piece *piece, int first,
                               int n, int x, const float **rows);

/* Fills segments for the panel [filters) and rows [y0, y0 + n) of the step's
 * output; returns how many. */
int convolution_point_at_output(struct convolution *c, struct mafat_span filters, int y0, int n,
                                struct mafat_conv_segment segments[2]);

/* Adds the shortcut's other map, if there is one, to the finished filters of rows
 * [y0, y0 + n) where they lie. */
void convolution_add(const struct convolution *c, struct mafat_span filters, int y0, int n);

/* The panel's `unit`-th of the filters of a step, panels counted from its first. */
struct mafat_span convolution_panel(const struct convolution *c, int unit);
int convolution_n_panels(const struct convolution *c);

#endif
