/* Panels of floats to panels of narrow weights (predictor/plan/packing.h): pure functions of memory.
 *
 * Each filter's weights are multiplied by a number of their own, by which its scale, that of y = sum * scale + bias, is
 * divided: what lies in the file is read by the kernels as it is.
 *
 *   float16  a power of two, so that the largest magnitude is in [1, 2): neither large nor small weights are lost, and
 *            scales stay exact; rounded to even
 *   int8     127 / the largest magnitude; rounded to even, -127 ... 127. The scale is rounded once. Of both, what a
 *            weight loses is added to the next one before it is rounded, unless that is 0: a filter's sum stays what it was, for
 *            inputs are alike more than not, behind a rectifier above all (Yolo-Fastest 1.1 in int8: the last layer is off by
 *            3.4 % instead of 6.8 %). Of int4, where numbers are too few for that, it does harm
 *   int4     as float16; then each group of rows has a scale, a half, of some that the one with the least sum of squared
 *            errors: -7 ... 7 of it */
#ifndef MAFAT_RUNNER_WEIGHTS_NARROW_H
#define MAFAT_RUNNER_WEIGHTS_NARROW_H

#include "predictor/plan/packing.h"

/* A panel of a layer, whose type is narrow: `from` as floats, [piece][ky][kx][channel][width], scales, biases; `to` is
 * zeros. False: a scale, times what weights were divided by, is larger than floats can be. */
bool mafat_narrow_panel(const struct mafat_layer *l, int width, const float *from, char *to);

/* A panel of the layer's type, which is narrow and not scaled, as floats. */
void mafat_widen_panel(const struct mafat_layer *l, int width, const char *from, float *to);

/* The half next to x, the even one of two. |x| < 65520. */
uint16_t mafat_narrow_half(float x);

#endif
