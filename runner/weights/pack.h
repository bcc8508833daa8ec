/* From the orders of files into packed panels (packing.h): pure functions
 * of memory. `panels` hold packed bytes of a layer from `before` on: all of them
 * (0), or some of its panels. */
#ifndef MAFAT_RUNNER_WEIGHTS_PACK_H
#define MAFAT_RUNNER_WEIGHTS_PACK_H

#include "predictor/packing.h"

struct mafat_packed_panels {
  char *bytes;
  size_t before; /* packed bytes of the layer that are not there */
};

/* Is none of them NaN or infinite? */
bool mafat_pack_is_finite(const float *x, size_t n);

/* First filter of the panel that a filter is in. */
int mafat_pack_panel_begin(const struct mafat_layer *l, int filter);

/* Pieces of one group of a layer at most: the room that packing wants. */
int mafat_pack_pieces(const struct mafat_layer *l);
/* Some of a layer's matrix, in an order of a file's: runs of filters, or of rows (packing.h). */
struct mafat_pack_part {
  const struct mafat_constant *constant; /* its order */
  struct mafat_span filters, rows;       /* of them those by which the order is read */
  const float *weights;                  /* from the first of them on */
  const float *scale, *bias;             /* of all the layer's filters */
};

/* Any part, with its filters' scales and biases and the zeros that fill up the panel of the last of
 * them; these come with the last row where it is read by rows. */
void mafat_pack(const struct mafat_layer *l, const struct mafat_pack_part *part, struct mafat_piece *pieces,
                struct mafat_packed_panels panels);

#endif
