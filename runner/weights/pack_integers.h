/* Packs integer weights from a file's order into panels of quads (predictor/plan/packing.h).
 * Touches only its arguments. Included by packer.c and weights.c. */
#ifndef MAFAT_RUNNER_WEIGHTS_PACK_INTEGERS_H
#define MAFAT_RUNNER_WEIGHTS_PACK_INTEGERS_H

#include "runner/weights/pack.h"

/* Does what mafat_pack (pack.h) does, for a layer that sums integers. Weights are bytes; part->bias
 * points to int32 numbers instead of floats; part->scale is the scale of each filter's weights.
 * When a panel's last weights are packed, its biases, multipliers and shifts are written too. */
void mafat_pack_integers(const struct mafat_network *n, int layer,
                         const struct mafat_pack_part *part, struct mafat_block_slice *block_slices,
                         struct mafat_packed_panels panels);

/* Packs the panel that begins at `filter` to `to`. `narrow` is the same panel as mafat_narrow_panel
 * has converted it to int8, with its scales and biases. A sloped rectifier becomes a second factor,
 * for negative sums. If a bias is too large for its filter's scale, the scale is increased.
 * `block_slices` is temporary memory for mafat_pack_block_slices elements. */
void mafat_pack_integers_narrowed(const struct mafat_network *n, int layer, int filter,
                                  const char *narrow, struct mafat_block_slice *block_slices,
                                  char *to);

/* A value in packed weights that the functions above never write. */
struct mafat_integer_fault {
  const char *what; /* kind of value, for messages: "multiplier" and so on. NULL: no fault */
  int filter;       /* filter in the layer */
  double found;     /* the value; may be NaN */
};

/* Finds the first fault in `data`, which are `bytes` of a layer's packed bytes, from offset `into`
 * on. Checks that shifts, multipliers and zero points are within the kernels' bounds, and that the
 * weights that fill up the last quad of a block slice are 0. `into` and `bytes` are multiples of
 * 4. */
struct mafat_integer_fault mafat_pack_integers_find_fault(const struct mafat_layer *l, size_t into,
                                                          const char *data, size_t bytes);

#endif
