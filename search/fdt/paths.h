/* Finds the paths of fused tiling around a buffer: chains of layers that could run part by part, so
 * that the buffer never exists whole.
 *
 * The role of a layer in a path depends on how it can be split:
 *   channels (fused depthwise tiling): (FDTO or SPLIT) PART* (FDTI or CONCAT)
 *     FDTO, fan-out: all input channels to some output channels; FDTI, fan-in: partial sums over
 *     some input channels; PART: an output channel from the same input channel
 *   rows and columns of maps: SPLIT (FFMT or PART)* CONCAT; overlaps of windows are recomputed
 *
 * SPLIT and CONCAT are not layers here: parts read and write slices of whole buffers.
 *
 * Included by search/fdt/flow.h and search/fdt/published.h; called by search/fdt (flow.c, fdt.c,
 * published.c). Allocates in the caller's heap. */
#ifndef MAFAT_SEARCH_FDT_PATHS_H
#define MAFAT_SEARCH_FDT_PATHS_H

#include "base/heap.h"
#include "network/network.h"

enum mafat_tiling {
  MAFAT_TILE_DEPTH, MAFAT_TILE_ROWS, MAFAT_TILE_COLS, MAFAT_TILE_BOTH,
  MAFAT_N_TILINGS
};

enum {
  MAFAT_LEAST_TILES = 2,
  MAFAT_MOST_TILES = 25,     /* along one axis */
  MAFAT_MOST_TILES_BOTH = 5, /* along each of two axes */
  MAFAT_MOST_PATH = 128,     /* layers; longer chains are not followed */
  MAFAT_MOST_PATHS = 256 /* around a buffer, each for all numbers of parts; others are dropped */
};

/* Chains of a network: pairs of layers where one is the only reader of the other. */
struct mafat_sole_readers {
  struct mafat_heap *heap;
  const struct mafat_network *network;
  int n_layers;
  int *above; /* [layer]: its only operand if it reads all of that tensor; -1: none */
  int *below; /* [operator]: its only reader, with no other operand; -1: none, or it is an output */
};

struct mafat_path {
  enum mafat_tiling tiling;
  int n;           /* number of parts; for both rows and columns, along each */
  int layers[MAFAT_MOST_PATH]; /* (length) from first to last */
  int length;
  bool fan_out;    /* the first layer is FDTO; else SPLIT precedes it */
  bool fan_in;     /* the last layer is FDTI; else CONCAT follows it */
  bool of_input;   /* rows of the network's input, which are read as parts need them */
};

/* Finds the chains of the first n_layers. MAFAT_ENOMEM. */
int mafat_sole_readers_make(struct mafat_sole_readers **out, const struct mafat_network *n,
                            int n_layers, struct mafat_heap *heap);
void mafat_sole_readers_close(struct mafat_sole_readers **lines);

/* Bytes of a tensor's elements, without padding. */
uint64_t mafat_tensor_bytes(const struct mafat_network *n, int tensor);

/* Possible lengths of a path from the tensor upwards (by = -1, its producer first) or downwards (by
 * = 1), rising. Returns their number. */
enum { MAFAT_MOST_VERSIONS = MAFAT_MOST_PATH };
int mafat_path_lengths(int lengths[MAFAT_MOST_VERSIONS], const struct mafat_sole_readers *lines,
                       int tensor, enum mafat_tiling tiling, int by);

/* Finds the maximal paths around a tensor, with the smallest number of parts. They end at the
 * smallest buffers before and after, which are smaller than the tensor. Writes at most `capacity`;
 * returns the number. */
int mafat_paths_find(struct mafat_path *paths, int capacity, const struct mafat_sole_readers *lines,
                     int tensor);
/* Finds the path of an input of the network, which the publications do not split: its rows, through
 * layers that recompute none, to the smallest following map. False: none. */
bool mafat_path_of_input(struct mafat_path *path, const struct mafat_sole_readers *lines,
                         int input);
/* Maximum number of parts of a path; below MAFAT_LEAST_TILES: none. */
int mafat_path_most_parts(const struct mafat_sole_readers *lines, const struct mafat_path *path,
                          int tensor);

/* Part i of n of an extent; the first ones get the remainder. */
struct mafat_span mafat_path_part(int extent, int n, int i);

#endif
