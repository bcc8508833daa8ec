#include "predictor/winograd.h"

bool mafat_winograd_applies(const struct mafat_layer *l)
{
  return l->type == MAFAT_CONVOLUTIONAL && l->size == 3 && l->stride == 1 && l->groups == 1;
}

/* In units of one multiply-add of a vector of filters with a vector of pixels:
 * a product costs 1, transforming a tile of one channel or one filter about four
 * products a point (measured), transforming the weights about two a point for
 * each block of rows, of which there are few. */
bool mafat_winograd_pays(const struct mafat_layer *l)
{
  if (!mafat_winograd_applies(l)) return false;
  double tiles = (double)mafat_winograd_tiles(l->out.h) * mafat_winograd_tiles(l->out.w);
  double in = l->in.c, out = l->filters, pixels = (double)l->out.h * l->out.w;
  double direct = 9 * pixels * in * out;
  double winograd = MAFAT_WINOGRAD_PRODUCTS * (tiles * in * out + 4 * 16 * tiles * (in + out) / 16 * 4 + 2 * in * out);
  return winograd < direct;
}
