/* Winograd convolutions F(n x n, 3x3) (Lavin and Gray, 2016): the tile sizes that kernels,
 * predictions and the executor share. A tile of n x n outputs needs window x window inputs, and as
 * many products for each channel. Tiles form a grid that begins at the map's origin. Included by
 * predictor/cost/predict.h, predictor/plan/winograd.h and runner/kernels/kernels.h; called by
 * predictor/ and runner/engine. Constant data and pure functions. */
#ifndef MAFAT_BASE_WINOGRAD_H
#define MAFAT_BASE_WINOGRAD_H

enum mafat_winograd_size { MAFAT_WINOGRAD_4X4, MAFAT_WINOGRAD_6X6, MAFAT_N_WINOGRADS };

struct mafat_winograd {
  enum mafat_winograd_size size;
  int outputs; /* outputs along a tile's side: the n of F(n x n, 3x3) */
  int window;  /* inputs along a tile's side: outputs + 2 */
  /* products per tile, channel and filter: window * window; direct convolution has 9 * outputs *
   * outputs */
  int points;
  /* channels of a partial sum: each full block of them is summed separately; 0: one sum over all */
  int block;
};

const struct mafat_winograd *mafat_winograd_find(enum mafat_winograd_size size);

/* Returns the number of tiles that cover n pixels along a side. */
static inline int mafat_winograd_tiles(const struct mafat_winograd *g, int n)
{
  return (n + g->outputs - 1) / g->outputs;
}

#endif
