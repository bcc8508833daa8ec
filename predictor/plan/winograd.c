#include "predictor/plan/winograd.h"

#include "base/part.h"

const struct mafat_winograd *mafat_winograd_of(enum mafat_algorithm algorithm)
{
  if (algorithm == MAFAT_WINOGRAD) return mafat_winograd_find(MAFAT_WINOGRAD_4X4);
  return algorithm == MAFAT_WINOGRAD_LARGE ? mafat_winograd_find(MAFAT_WINOGRAD_6X6) : NULL;
}

/* Not yet 3x3 of stride 2, though it would pay. By its four phases, even and odd rows and columns, F(4, 2) along the
 * even ones, 4 x 4 outputs take 81 products of 144, of 36 kinds of weights as F(4x4, 3x3)'s. Of the five points +-a, +-b
 * and infinity a single tap needs the four finite ones, by the same weight: so all phases are summed in the same 25
 * sums of a tile, and no more are stored and made outputs. A trial of that, transforms, products and stores, took of the
 * direct kernels' time (Zen 4, one thread, blocks of 64 channels, medians of 9 in turn; avx2, avx512) on 208 x 208
 * outputs of 32 channels 0.74, 0.68; 104 x 104 of 64 0.68, 0.64; 52 x 52 of 128 0.67, 0.64; 26 x 26 of 256 0.73, 0.74;
 * 32 x 32 of 128 0.72, 0.65; 16 x 16 of 256 0.69, 0.69; but on 13 x 13 of 512 0.99, 1.06 and on 8 x 8 of 512 0.97, 0.94.
 * It was within 7e-6 of the direct kernels, relative to the largest output. The trial had maps that were filled up to
 * whole tiles and whole panels. It is a size of its own for kernels, scratch and prices.
 * Nor tiles of fewer outputs for the last row and column: 13 x 13 would take 441 products of 576 a channel and
 * filter, 19 x 19 841 of 900, but each kind of tile transforms the weights once more (18 points for 4 x 1 outputs,
 * as many for 1 x 4, beside 36 that on 13 x 13 are 57 % of the layer's time already), and what lies there would
 * change the bits of written plans. */
MAFAT_PART(opening) bool mafat_winograd_applies(const struct mafat_layer *l)
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

MAFAT_PART(opening) enum mafat_algorithm mafat_winograd_fastest(const struct mafat_layer *l)
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
