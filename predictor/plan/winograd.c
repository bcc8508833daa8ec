/* Says where Winograd applies and where it is faster. Called by predictor/, runner/engine/kinds/
 * and search/best. Pure functions. */
#include "predictor/plan/winograd.h"

#include "base/part.h"

const struct mafat_winograd *mafat_winograd_of(enum mafat_algorithm algorithm)
{
  if (algorithm == MAFAT_WINOGRAD) return mafat_winograd_find(MAFAT_WINOGRAD_4X4);
  return algorithm == MAFAT_WINOGRAD_LARGE ? mafat_winograd_find(MAFAT_WINOGRAD_6X6) : NULL;
}

/* True for 3x3 of stride 1, one group.
 *
 * Stride 2 is not supported, though it would be faster. By its four phases (even and odd rows and
 * columns), with F(4, 2) along the even ones, 4 x 4 outputs take 81 products instead of 144, with
 * 36 transformed weights as in F(4x4, 3x3). A single tap needs only the four finite ones of the
 * five points +-a, +-b and infinity, with the same weight. So all phases are summed in the same 25
 * sums of a tile. A trial (transforms, products, stores) took this share of the direct kernels'
 * time (Zen 4, one thread, blocks of 64 channels, medians of 9 in turn; avx2, avx512): 208 x 208
 * outputs of 32 channels 0.74, 0.68; 104 x 104 of 64 0.68, 0.64; 52 x 52 of 128 0.67, 0.64; 26 x 26
 * of 256 0.73, 0.74; 32 x 32 of 128 0.72, 0.65; 16 x 16 of 256 0.69, 0.69; 13 x 13 of 512 0.99,
 * 1.06; 8 x 8 of 512 0.97, 0.94. It was within 7e-6 of the direct kernels, relative to the largest
 * output. The trial had maps padded to whole tiles and panels. It would be a size of its own for
 * kernels, scratch and prices.
 *
 * Smaller tiles for the last row and column are not supported either. 13 x 13 would take 441
 * products instead of 576 for each channel and filter, 19 x 19 841 instead of 900. But each kind of
 * tile transforms the weights again: 18 points for 4 x 1 outputs and 18 for 1 x 4, besides the 36
 * that already take 57 % of the time on 13 x 13. It would also change the bits of existing
 * plans. */
MAFAT_PART(opening) bool mafat_winograd_applies(const struct mafat_layer *l)
{
  return mafat_layer_is_ungrouped(l) && mafat_window_is_plain(&l->window, 3, 1) &&
         !mafat_layer_sums_integers(l);
}

/* Measured cost, in units of one product of a tile, channel and filter. Includes the transform of a
 * tile of one channel or filter, and of the weights of a channel and filter, for each point. */
static double cost_of(const struct mafat_winograd *g, const struct mafat_layer *l)
{
  static const struct {
    double tile, weights;
  } costs[MAFAT_N_WINOGRADS] = {[MAFAT_WINOGRAD_4X4] = {16, 2}, [MAFAT_WINOGRAD_6X6] = {24, 4}};
  double tiles = (double)mafat_winograd_tiles(g, l->out.h) * mafat_winograd_tiles(g, l->out.w);
  double in = l->in.c, out = l->filters;
  return g->points * (tiles * in * out + costs[g->size].tile * tiles * (in + out) +
                      costs[g->size].weights * in * out);
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
