#include "predictor/winograd.h"

bool mafat_winograd_applies(const struct mafat_layer *l)
{
  return mafat_layer_is_ungrouped(l) && mafat_window_is_plain(&l->window, 3, 1);
}

/* Costs in units of one product of one tile, channel and filter, as measured:
 * transforming a tile of one channel or filter costs as much as 16 products a
 * point, the weights of a channel and filter as much as 2 a point. */
bool mafat_winograd_pays(const struct mafat_layer *l)
{
  if (!mafat_winograd_applies(l)) return false;
  enum { TILE_COST = 16, WEIGHTS_COST = 2 };
  double tiles = (double)mafat_winograd_tiles(l->out.h) * mafat_winograd_tiles(l->out.w);
  double in = l->in.c, out = l->filters, pixels = (double)l->out.h * l->out.w;
  double direct = 9 * pixels * in * out;
  double winograd = MAFAT_WINOGRAD_PRODUCTS * (tiles * in * out + TILE_COST * tiles * (in + out) + WEIGHTS_COST * in * out);
  return winograd < direct;
}
