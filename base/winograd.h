/* Winograd's convolutions F(n x n, 3x3) (Lavin and Gray, 2016), in the sizes that there are: what kernels,
 * predictions and executors go by together. A tile of n x n outputs is made from window x window inputs, with as many
 * products a channel. Tiles lie on a grid that begins at the map's origin. */
#ifndef MAFAT_BASE_WINOGRAD_H
#define MAFAT_BASE_WINOGRAD_H

enum mafat_winograd_size { MAFAT_WINOGRAD_4X4, MAFAT_WINOGRAD_6X6, MAFAT_N_WINOGRADS };

struct mafat_winograd {
  enum mafat_winograd_size size;
  int outputs; /* pixels of a tile's side */
  int window;  /* inputs of a side: two more */
  int points;  /* products per tile, channel and filter: window * window; direct: 9 * outputs * outputs */
  int block;   /* channels that are summed by themselves, as many pieces as have so many; 0: one sum of all */
};

const struct mafat_winograd *mafat_winograd_find(enum mafat_winograd_size size);

/* Tiles that cover n pixels of a side. */
static inline int mafat_winograd_tiles(const struct mafat_winograd *g, int n)
{
  return (n + g->outputs - 1) / g->outputs;
}

#endif
