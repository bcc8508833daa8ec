/* From the order of Darknet's files into packed panels (packing.h): pure functions
 * of memory. `panels` hold packed floats of a layer from `before` on: all of them
 * (0), or some of its panels. */
#ifndef MAFAT_RUNNER_WEIGHTS_PACK_H
#define MAFAT_RUNNER_WEIGHTS_PACK_H

#include "predictor/packing.h"

struct mafat_packed_panels {
  float *floats;
  size_t before; /* packed floats of the layer that are not there */
};

/* Is none of them NaN or infinite? */
bool mafat_pack_is_finite(const float *x, size_t n);

/* First filter of the panel that a filter is in. */
int mafat_pack_panel_begin(const struct mafat_layer *l, int filter);

/* Pieces of one group of a layer at most: the room that packing wants. */
int mafat_pack_pieces(const struct mafat_layer *l);
/* Whole filters (filter, channel, ky, kx) of a convolutional or connected layer, any
 * run of them, with their scales and biases (of all the layer's filters) and the zeros
 * that fill up the panel of the last of them. */
void mafat_pack_filters(const struct mafat_layer *l, struct mafat_span filters, const float *weights,
                        const float *scale, const float *bias, struct mafat_piece *pieces,
                        struct mafat_packed_panels panels);
/* Whole inputs (input, output) of a transposed connected layer; scales, biases and
 * zeros come with the last of them. */
void mafat_pack_inputs(const struct mafat_layer *l, struct mafat_span inputs, const float *weights,
                       const float *scale, const float *bias, struct mafat_packed_panels panels);

#endif
