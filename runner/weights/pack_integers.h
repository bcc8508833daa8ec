/* Packs integer weights from a file's order into panels of quads (predictor/plan/packing.h). Pure
 * functions. Included by packer.c and weights.c. */
#ifndef MAFAT_RUNNER_WEIGHTS_PACK_INTEGERS_H
#define MAFAT_RUNNER_WEIGHTS_PACK_INTEGERS_H

#include "runner/weights/pack.h"

/* Like mafat_pack for a layer that sums integers: weights are bytes, biases int32, scales those of
 * the weights. A panel's biases, multipliers and shifts are written with its last weights. */
void mafat_pack_integers(const struct mafat_network *n, int layer,
                         const struct mafat_pack_part *part, struct mafat_block_slice *block_slices,
                         struct mafat_packed_panels panels);

/* Packs the panel that begins at `filter` from float weights that mafat_narrow_panel made int8,
 * with their scales and biases. A sloped rectifier becomes a factor of negative sums. If a bias is
 * too large for its filter's scale, the weights become coarser. block slices: capacity
 * mafat_pack_block_slices. */
void mafat_pack_integers_narrowed(const struct mafat_network *n, int layer, int filter,
                                  const char *narrow, struct mafat_block_slice *block_slices,
                                  char *to);

/* Finds the first value in packed bytes, from offset `into` of the layer on, that packing never
 * writes. Checked: shifts, multipliers and zero points are within the kernels' bounds, and padding
 * of a block's quads is 0. The range begins and ends at a word. */
struct mafat_integer_fault {
  const char *what; /* NULL: no fault; otherwise "multiplier", ... */
  int filter;
  double found;     /* may be NaN */
};
struct mafat_integer_fault mafat_pack_integers_find_fault(const struct mafat_layer *l, size_t into,
                                                          const char *data, size_t bytes);

#endif
