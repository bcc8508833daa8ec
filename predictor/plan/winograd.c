/* Decides which layers can use Winograd, and for which it is expected to be faster. Called by
 * predictor/, runner/engine/kinds/ and search/best/costs.c. Touches only its arguments. */
#include "predictor/plan/winograd.h"

#include "base/part.h"

const struct mafat_winograd *mafat_winograd_of(enum mafat_algorithm algorithm)
{
  if (algorithm == MAFAT_WINOGRAD) return mafat_winograd_find(MAFAT_WINOGRAD_4X4);
  return algorithm == MAFAT_WINOGRAD_LARGE ? mafat_winograd_find(MAFAT_WINOGRAD_6X6) : NULL;
}

/* Stride 2 is not supported, although a trial was faster on maps of at least 16 x 16. The trial
 * split input and kernel into four phases (even and odd rows and columns), with F(4, 2) along the
 * even ones: 81 products for 4 x 4 outputs instead of 144, and 36 transformed weights as in
 * F(4x4, 3x3). The table has the trial's time divided by that of the direct kernels (Zen 4, one
 * thread, blocks of 64 channels, medians of 9). Columns: outputs x channels, avx2, avx512.
 *   208 x 208 x 32   0.74, 0.68      32 x 32 x 128   0.72, 0.65
 *   104 x 104 x 64   0.68, 0.64      16 x 16 x 256   0.69, 0.69
 *   52 x 52 x 128    0.67, 0.64      13 x 13 x 512   0.99, 1.06
 *   26 x 26 x 256    0.73, 0.74      8 x 8 x 512     0.97, 0.94
 * Outputs differed by at most 7e-6 of the largest output. Maps were padded to whole tiles and
 * panels. Stride 2 would need its own kernels, scratch and prices.
 *
 * Smaller tiles for the last row and column are not supported either. 13 x 13 outputs would need
 * 441 products instead of 576 for each channel and filter; 19 x 19 outputs, 841 instead of 900. But
 * each kind of tile needs its own transform of the weights: 18 points for tiles of 4 x 1 outputs
 * and 18 for 1 x 4. The transform to 36 points already needs 57 % of the time on 13 x 13. Smaller
 * tiles would also change the bits of existing plans. */
MAFAT_PART(opening) bool mafat_winograd_applies(const struct mafat_layer *l)
{
  return mafat_layer_is_ungrouped(l) && mafat_window_is_plain(&l->window, 3, 1) &&
         !mafat_layer_sums_integers(l);
}

/* Cost of a layer, fitted to measurements; the unit is one product of floats. Each point of a
 * transformed tile costs one product per tile, channel and filter, `tile` products per tile for the
 * transforms of each channel and each filter, and `weights` products for the transform of the
 * weights of each pair of a channel and a filter. */
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
