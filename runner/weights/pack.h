/* Packs weights from a file's order into panels (predictor/plan/packing.h) of the same type.
 * Touches nothing but its arguments. Included by runner/engine/kinds/integer/conv.c and
 * runner/weights. */
#ifndef MAFAT_RUNNER_WEIGHTS_PACK_H
#define MAFAT_RUNNER_WEIGHTS_PACK_H

#include "predictor/plan/packing.h"

/* Memory for some or all packed panels of a layer. */
struct mafat_packed_panels {
  char *bytes;
  size_t before; /* packed bytes of the layer before the first one present */
};

/* True if no value is NaN or infinite. */
bool mafat_pack_is_finite(const float *x, size_t n);

/* The same for weights of any type in a file; integers are always finite. */
bool mafat_pack_weights_are_finite(enum mafat_dtype type, const void *weights, size_t bytes);

/* Returns the first filter of the panel that contains a filter. */
int mafat_pack_panel_begin(const struct mafat_layer *l, int filter);

/* Returns the capacity that arrays of block slices for a layer need below. */
int mafat_pack_block_slices(const struct mafat_layer *l);
/* Lists the block slices of a filter's group, and returns their number. All inputs of a flat layer,
 * and the channel of a depthwise filter, are one block slice. */
int mafat_pack_list(const struct mafat_layer *l, int filter,
                    struct mafat_block_slice *block_slices);

/* Part of a layer's matrix in a file's order: consecutive filters or rows (packing.h). */
struct mafat_pack_part {
  const struct mafat_constant *constant; /* order and type of the matrix */
  struct mafat_span filters, rows;       /* filters, or rows if the order is by rows */
  const void *weights;                   /* from the range's beginning, of the constant's type */
  const float *scale, *bias;             /* of all filters of the layer */
};

/* Packs a part into panels of its type, with its filters' scales and biases. Pads the last panel
 * with zeros. If the order is by rows, scales, biases and padding are written with the last row.
 * `block_slices` is temporary memory. */
void mafat_pack(const struct mafat_layer *l, const struct mafat_pack_part *part,
                struct mafat_block_slice *block_slices, struct mafat_packed_panels panels);

/* mafat_pack for elements of 4, 2 and 1 bytes. */
typedef void mafat_pack_function(const struct mafat_layer *l, const struct mafat_pack_part *part,
                                 struct mafat_block_slice *block_slices,
                                 struct mafat_packed_panels panels);
mafat_pack_function mafat_pack_floats, mafat_pack_halves, mafat_pack_bytes;

#endif
