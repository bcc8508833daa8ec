/* Winograd's F(4x4, 3x3): where it applies, where it pays, how many tiles. */
#ifndef MAFAT_PREDICTOR_WINOGRAD_H
#define MAFAT_PREDICTOR_WINOGRAD_H

#include "network/network.h"
#include "base/tuning.h"

/* 3x3, stride 1, one group. */
bool mafat_winograd_applies(const struct mafat_layer *l);
/* Is it expected to be faster than direct convolution? A function of the layer's shape
 * alone, on any machine: what a plan takes where nothing says otherwise. */
bool mafat_winograd_pays(const struct mafat_layer *l);

/* Tiles that cover n pixels of a side. */
static inline int mafat_winograd_tiles(int n)
{
  return (n + MAFAT_WINOGRAD_OUTPUTS - 1) / MAFAT_WINOGRAD_OUTPUTS;
}

#endif
