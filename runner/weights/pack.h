/* From the orders of files into packed panels (packing.h), of the same type: pure functions
 * of memory. `panels` hold packed bytes of a layer from `before` on: all of them
 * (0), or some of its panels. */
#ifndef MAFAT_RUNNER_WEIGHTS_PACK_H
#define MAFAT_RUNNER_WEIGHTS_PACK_H

#include "predictor/plan/packing.h"

struct mafat_packed_panels {
  char *bytes;
  size_t before; /* packed bytes of the layer that are not there */
};

/* Is none of them NaN or infinite? */
bool mafat_pack_is_finite(const float *x, size_t n);

/* The same of weights as files have them: whole numbers always are. */
bool mafat_pack_weights_are_finite(enum mafat_dtype type, const void *weights, size_t bytes);

/* First filter of the panel that a filter is in. */
int mafat_pack_panel_begin(const struct mafat_layer *l, int filter);

/* Pieces of one group of a layer at most: the room that packing wants. */
int mafat_pack_pieces(const struct mafat_layer *l);
/* Those of the group that a filter is of; a flat layer's inputs, and a depthwise filter's channel, are one. */
int mafat_pack_list(const struct mafat_layer *l, int filter, struct mafat_piece *pieces);

/* Some of a layer's matrix, in an order of a file's: runs of filters, or of rows (packing.h). */
struct mafat_pack_part {
  const struct mafat_constant *constant; /* its order */
  struct mafat_span filters, rows;       /* of them those by which the order is read */
  const void *weights;                   /* from the first of them on, of the constant's type */
  const float *scale, *bias;             /* of all the layer's filters */
};

/* Any part, into panels of its type, with its filters' scales and biases and the zeros that fill up the panel of the last of
 * them; these come with the last row where it is read by rows. */
void mafat_pack(const struct mafat_layer *l, const struct mafat_pack_part *part, struct mafat_piece *pieces,
                struct mafat_packed_panels panels);

/* By the type. */
typedef void mafat_pack_function(const struct mafat_layer *l, const struct mafat_pack_part *part, struct mafat_piece *pieces,
                                 struct mafat_packed_panels panels);
mafat_pack_function mafat_pack_floats, mafat_pack_halves, mafat_pack_bytes;

#endif
