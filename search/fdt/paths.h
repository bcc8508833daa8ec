/* Finds the paths around a tensor. A path is a chain of layers that can run part by part, so that
 * the tensor never exists as a whole. Included by search/fdt/flow.h and search/fdt/published.h;
 * called by search/fdt (flow.c, fdt.c, published.c). Only mafat_sole_readers_make allocates, from
 * the caller's heap.
 *
 * A path along channels is, as a regular expression of layers,
 *   (FDTO | SPLIT) PART* (FDTI | CONCAT)
 * FDTO (fan-out) computes some output channels from all input channels. FDTI (fan-in) computes
 * partial sums over some input channels. PART computes each output channel from the same input
 * channel. A path along rows or columns is SPLIT (FFMT | PART)* CONCAT. FFMT is a layer with
 * windows; where the windows of two parts overlap, values are computed twice. SPLIT and CONCAT are
 * no layers here: parts read and write slices of whole buffers. */
#ifndef MAFAT_SEARCH_FDT_PATHS_H
#define MAFAT_SEARCH_FDT_PATHS_H

#include "base/heap.h"
#include "network/network.h"

/* How a path is split: along channels, rows, columns, or rows and columns. */
enum mafat_tiling {
  MAFAT_TILE_DEPTH, MAFAT_TILE_ROWS, MAFAT_TILE_COLS, MAFAT_TILE_BOTH,
  MAFAT_N_TILINGS
};

enum {
  MAFAT_LEAST_TILES = 2,     /* least number of parts of a path */
  MAFAT_MOST_TILES = 25,     /* greatest number of parts along one axis */
  MAFAT_MOST_TILES_BOTH = 5, /* greatest number along each axis, if both axes are divided */
  MAFAT_MOST_PATH = 128,     /* greatest number of layers of a path */
  MAFAT_MOST_PATHS = 256 /* greatest number of paths around a tensor; others are ignored */
};

/* The chains of a network: for each layer the only tensor that it reads, and for each tensor its
 * only reader. */
struct mafat_sole_readers {
  struct mafat_heap *heap;
  const struct mafat_network *network;
  int n_layers;
  int *above; /* [layer]: the tensor that the layer reads whole and as its only one; -1: none */
  int *below; /* [tensor]: the layer that is its only reader and reads no other tensor; -1: there is
                 no such layer, or the tensor is an output of the network */
};

struct mafat_path {
  enum mafat_tiling tiling;
  int n;           /* number of parts; for MAFAT_TILE_BOTH, along each axis */
  int layers[MAFAT_MOST_PATH]; /* (length) from first to last */
  int length;
  bool fan_out;    /* the first layer is FDTO; else SPLIT precedes it */
  bool fan_in;     /* the last layer is FDTI; else CONCAT follows it */
  bool of_input;   /* the path begins at an input of the network and is split along rows; each part
                      reads only its rows of the input */
};

/* Finds the chains of the first n_layers layers. The caller closes *out. Returns MAFAT_OK or
 * MAFAT_ENOMEM. */
int mafat_sole_readers_make(struct mafat_sole_readers **out, const struct mafat_network *n,
                            int n_layers, struct mafat_heap *heap);
void mafat_sole_readers_close(struct mafat_sole_readers **lines);

/* Bytes of a tensor's elements, without padding. */
uint64_t mafat_tensor_bytes(const struct mafat_network *n, int tensor);

enum { MAFAT_MOST_VERSIONS = MAFAT_MOST_PATH };
/* Lists, in ascending order, the numbers of layers that a path can have above the tensor (by = -1;
 * the layer that makes the tensor counts) or below it (by = 1). Returns the length of the list. */
int mafat_path_lengths(int lengths[MAFAT_MOST_VERSIONS], const struct mafat_sole_readers *lines,
                       int tensor, enum mafat_tiling tiling, int by);

/* Finds the paths around a tensor, each with the smallest number of parts. On each side a path ends
 * at the smallest tensor that it can reach; both must be smaller than this tensor. Writes at most
 * `capacity` paths; returns their number. */
int mafat_paths_find(struct mafat_path *paths, int capacity, const struct mafat_sole_readers *lines,
                     int tensor);
/* Finds the path below an input of the network, split along rows: it goes through layers whose
 * parts compute nothing twice, and ends at the smallest tensor. The publications do not split
 * inputs. Returns false if there is no such path. */
bool mafat_path_of_input(struct mafat_path *path, const struct mafat_sole_readers *lines,
                         int input);
/* Greatest number of parts into which a path around `tensor` can be split. If it is less than
 * MAFAT_LEAST_TILES, the path cannot be split. */
int mafat_path_most_parts(const struct mafat_sole_readers *lines, const struct mafat_path *path,
                          int tensor);

/* Part i of n parts of [0, extent). If n does not divide `extent`, the first parts are longer by
 * one. */
struct mafat_span mafat_path_part(int extent, int n, int i);

#endif
