/* Converts panels of floats to panels of narrow weights (predictor/plan/packing.h). Pure functions.
 *
 * Each filter's weights are multiplied by a factor, and its scale (of y = sum * scale + bias) is
 * divided by it. Kernels read the file's contents unchanged.
 *
 *   float16  power of two that brings the largest magnitude into [1, 2): neither large nor small
 *            weights are lost, and scales stay exact; rounded to even
 *   int8     127 / largest magnitude; rounded to even, -127 ... 127. The scale is rounded once
 *   int4     like float16; then each group of rows has a half-precision scale, of 12 candidates the
 *            one with the least squared error. Weights are -7 ... 7 times this scale
 *
 * For float16 and int8, the rounding error of a weight is added to the next one before rounding,
 * unless that is 0. The sum of a filter's weights then stays the same. This matters because inputs
 * are mostly similar, above all after a rectifier (Yolo-Fastest 1.1 in int8: the last layer's error
 * is 3.4 % instead of 6.8 %). With the few values of int4 it increases the error. Included by
 * packer.c. */
#ifndef MAFAT_RUNNER_WEIGHTS_NARROW_H
#define MAFAT_RUNNER_WEIGHTS_NARROW_H

#include "predictor/plan/packing.h"

/* Narrows a panel of a layer. `from` has floats [block][ky][kx][channel][width], scales, biases.
 * The caller has zeroed `to`. False: a scale exceeds the range of floats. */
bool mafat_narrow_panel(const struct mafat_layer *l, int width, const float *from, char *to);

/* Widens a panel of float16 or int8 to floats. */
void mafat_widen_panel(const struct mafat_layer *l, int width, const char *from, float *to);

/* Returns the nearest half-precision value, ties to even. |x| < 65520. */
uint16_t mafat_narrow_half(float x);

#endif
