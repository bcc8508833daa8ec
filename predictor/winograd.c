#include "predictor/winograd.h"

const struct mafat_winograd *mafat_winograd_of(enum mafat_algorithm algorithm)
{
  if (algorithm == MAFAT_WINOGRAD) return mafat_winograd_find(MAFAT_WINOGRAD_4X4);
  return algorithm == MAFAT_WINOGRAD_LARGE ? mafat_winograd_find(MAFAT_WINOGRAD_6X6) : NULL;
}

bool mafat_winograd_applies(const struct mafat_layer *l)
{
  return mafat_layer_is_ungrouped(l) && mafat_window_is_plain(&l->window, 3, 1) && !mafat_layer_sums_integers(l);
}

/* In units of one product of one tile, channel and filter, as measured: what
 * transforming a tile of one channel or filter costs, and the weights of a channel
 * and filter, a point. */
static double cost_of(const struct mafat_winograd *g, const struct mafat_layer *l)
{
  static const struct {
    double tile, weights;
  } costs[MAFAT_N_WINOGRADS] = {[MAFAT_WINOGRAD_4X4] = {16, 2}, [MAFAT_WINOGRAD_6X6] = {24, 4}};
  double tiles = (double)mafat_winograd_tiles(g, l->out.h) * mafat_winograd_tiles(g, l->out.w);
  double in = l->in.c, out = l->filters;
  return g->points * (tiles * in * out + costs[g->size].tile * tiles * (in + out) + costs[g->size].weights * in * out);
}

enum mafat_algorithm mafat_winograd_fastest(const struct mafat_layer *l)
{
  enum mafat_algorithm fastest = MAFAT_DIRECT;
  if (!mafat_winograd_applies(l)) return fastest;
  double least = 9.0 * l->out.h * l->out.w * l->in.c * l->filters;
  for (int a = MAFAT_WINOGRAD; a < MAFAT_N_ALGORITHMS; a++) {
    double cost = cost_of(mafat_winograd_of((enum mafat_algorithm)a), l);
    if (cost >= least) continue;
    least = cost;
    fastest = (enum mafat_algorithm)a;
  }
  return fastest;
}
