/* Packs weights from a file's order into panels (predictor/plan/packing.h) of the same type. A
 * panel is the memory of the weights of a few filters that kernels compute together. Touches only
 * its arguments. Included by runner/engine/kinds/integer/conv.c and runner/weights. */
#ifndef MAFAT_RUNNER_WEIGHTS_PACK_H
#define MAFAT_RUNNER_WEIGHTS_PACK_H

#include "predictor/plan/packing.h"

/* Memory for some or all packed panels of a layer. */
struct mafat_packed_panels {
  char *bytes;
  size_t before; /* offset in the layer's packed bytes at which `bytes` begins */
};

/* True if no value is NaN or infinite. */
bool mafat_pack_is_finite(const float *x, size_t n);

/* True if no weight of a file, of any type, is NaN or infinite. Integers never are. */
bool mafat_pack_weights_are_finite(enum mafat_dtype type, const void *weights, size_t bytes);

/* Returns the first filter of the panel that contains `filter`. */
int mafat_pack_panel_begin(const struct mafat_layer *l, int filter);

/* Returns how many elements the arrays `block_slices` need for a layer, in the functions below. */
int mafat_pack_block_slices(const struct mafat_layer *l);
/* Lists the block slices of the inputs of a filter's group, and returns their number. All inputs of
 * a flat layer are one block slice, and so is the one input of a depthwise filter. */
int mafat_pack_list(const struct mafat_layer *l, int filter,
                    struct mafat_block_slice *block_slices);

/* Part of a layer's weights in a file's order (network/constant.h): consecutive filters or, if the
 * order is not by filters, consecutive rows (packing.h). */
struct mafat_pack_part {
  const struct mafat_constant *constant; /* order and type of the weights */
  struct mafat_span filters, rows;       /* only one is used, according to the order */
  const void *weights;                   /* weights of the part, of the constant's type */
  const float *scale, *bias;             /* [filter], for all filters of the layer */
};

/* Packs a part into panels of its type, with the scales and biases of its filters. A panel's
 * filters after the last one of the layer or group are zeros. If the order is by rows, scales,
 * biases and these zeros are written with the last row. `block_slices` is temporary memory. */
void mafat_pack(const struct mafat_layer *l, const struct mafat_pack_part *part,
                struct mafat_block_slice *block_slices, struct mafat_packed_panels panels);

/* Functions that mafat_pack calls, for elements of 4, 2 and 1 bytes. */
typedef void mafat_pack_function(const struct mafat_layer *l, const struct mafat_pack_part *part,
                                 struct mafat_block_slice *block_slices,
                                 struct mafat_packed_panels panels);
mafat_pack_function mafat_pack_floats, mafat_pack_halves, mafat_pack_bytes;

#endif
