/* Packs integer weights from a file's order into panels of quads (predictor/plan/packing.h). Pure
 * functions. Included by packer.c and weights.c. */
#ifndef MAFAT_RUNNER_WEIGHTS_PACK_INTEGERS_H
#define MAFAT_RUNNER_WEIGHTS_PACK_INTEGERS_H

#include "runner/weights/pack.h"

/* Like mafat_pack for a layer that sums integers. Weights are bytes, biases int32 (part->bias
 * points to them), and scales those of the weights. A panel's biases, multipliers and shifts are
 * written with its last weights. */
void mafat_pack_integers(const struct mafat_network *n, int layer,
                         const struct mafat_pack_part *part, struct mafat_block_slice *block_slices,
                         struct mafat_packed_panels panels);

/* Packs the panel that begins at `filter` from a panel that mafat_narrow_panel made int8, with its
 * scales and biases. A sloped rectifier becomes a factor of negative sums. If a bias is too large
 * for its filter's scale, the scale becomes larger. Capacity of block_slices:
 * mafat_pack_block_slices. */
void mafat_pack_integers_narrowed(const struct mafat_network *n, int layer, int filter,
                                  const char *narrow, struct mafat_block_slice *block_slices,
                                  char *to);

/* A value in packed weights that packing never writes. */
struct mafat_integer_fault {
  const char *what; /* NULL: no fault; otherwise "multiplier", ... */
  int filter;
  double found;     /* the value; may be NaN */
};

/* Finds the first fault in some packed bytes of a layer, from offset `into` on. Checks that shifts,
 * multipliers and zero points are within the kernels' bounds, and that padding of a block's quads
 * is 0. The bytes begin and end at a 32-bit word. */
struct mafat_integer_fault mafat_pack_integers_find_fault(const struct mafat_layer *l, size_t into,
                                                          const char *data, size_t bytes);

#endif
