#include "predictor/winograd.h"

const struct mafat_winograd *mafat_winograd_of(enum mafat_algorithm algorithm)
{
  if (algorithm == MAFAT_WINOGRAD) return mafat_winograd_find(MAFAT_WINOGRAD_4X4);
  return algorithm == MAFAT_WINOGRAD_LARGE ? mafat_winograd_find(MAFAT_WINOGRAD_6X6) : NULL;
}

bool mafat_winograd_applies(const struct mafat_layer *l)
{
  return mafat_layer_is_ungrouped(l) && mafat_window_is_plain(&l->window, 3, 1);
}

/* In units of one product of one tile, channel and filter, as measured: transforming
 * a tile of one channel or filter costs as much as 16 products a point, the weights
 * of a channel and filter as much as 2 a point. */
static double cost_of(const struct mafat_winograd *g, const struct mafat_layer *l)
{
  enum { TILE_COST = 16, WEIGHTS_COST = 2 };
  double tiles = (double)mafat_winograd_tiles(g, l->out.h) * mafat_winograd_tiles(g, l->out.w);
  double in = l->in.c, out = l->filters;
  return g->points * (tiles * in * out + TILE_COST * tiles * (in + out) + WEIGHTS_COST * in * out);
}

bool mafat_winograd_pays(const struct mafat_layer *l)
{
  if (!mafat_winograd_applies(l)) return false;
  double direct = 9.0 * l->out.h * l->out.w * l->in.c * l->filters;
  return cost_of(mafat_winograd_find(MAFAT_WINOGRAD_4X4), l) < direct;
}
