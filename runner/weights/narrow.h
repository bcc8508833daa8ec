/* Converts panels of floats to panels of narrow weights (predictor/plan/packing.h). Touches only
 * its arguments. Included by packer.c.
 *
 * Each filter's weights are multiplied by a factor and rounded. Its scale (of y = sum * scale +
 * bias) is divided by the factor, so kernels use the stored values as they are. The factors:
 *
 *   float16  a power of two that brings the largest magnitude into [1, 2): neither large nor small
 *            weights are lost, and scales stay exact. Weights are rounded to nearest, ties to even
 *   int8     127 / largest magnitude. Weights are rounded to integers, -127 ... 127, ties to even;
 *            the scale is rounded once
 *   int4     the factor of float16. Then each group of rows gets a half-precision scale: the one of
 *            12 candidates with the least squared error. Weights are -7 ... 7 times this scale
 *
 * For float16 and int8, the rounding error of a weight is added to the filter's next weight before
 * that is rounded, unless it is 0. The sum of a filter's weights then stays nearly the same. This
 * matters because neighboring inputs are mostly similar, above all after a rectifier (Yolo-Fastest
 * 1.1 in int8: the last layer's error is 3.4 % instead of 6.8 %). For int4, with its few values, it
 * would increase the error. */
#ifndef MAFAT_RUNNER_WEIGHTS_NARROW_H
#define MAFAT_RUNNER_WEIGHTS_NARROW_H

#include "predictor/plan/packing.h"

/* Converts a panel of a layer to the type l->weights_type. `from` has floats, [block][ky][kx]
 * [channel][width], then the filters' scales, then their biases. The caller has zeroed `to`. False:
 * a scale exceeds the range of floats. */
bool mafat_narrow_panel(const struct mafat_layer *l, int width, const float *from, char *to);

/* Converts a panel of float16 or int8 weights to floats. */
void mafat_widen_panel(const struct mafat_layer *l, int width, const char *from, float *to);

/* Returns the nearest half-precision value, ties to even. |x| < 65520. */
uint16_t mafat_narrow_half(float x);

#endif
