/* The paths of fused tiling around a buffer: which layers could run part by part so that it never is whole.
 *
 * A path follows a single line of layers. What a layer may be in it follows from along what it can be cut:
 *   channels (fused depthwise tiling): (FDTO or SPLIT) PART* (FDTI or CONCAT)
 *     FDTO, fan-out: all channels of the input for some of the output; FDTI, fan-in: some of the input are summed;
 *     PART: a channel of the output from that one of the input
 *   rows and columns of maps: SPLIT (FFMT or PART)* CONCAT, where windows that overlap are computed again
 * SPLIT and CONCAT are no layers here: parts read of a whole buffer what is theirs, and put it where it belongs. */
#ifndef MAFAT_SEARCH_FDT_PATHS_H
#define MAFAT_SEARCH_FDT_PATHS_H

#include "base/heap.h"
#include "network/network.h"

enum mafat_tiling { MAFAT_TILE_DEPTH, MAFAT_TILE_ROWS, MAFAT_TILE_COLS, MAFAT_TILE_BOTH, MAFAT_N_TILINGS };

enum {
  MAFAT_LEAST_TILES = 2,
  MAFAT_MOST_TILES = 25,     /* along one axis */
  MAFAT_MOST_TILES_BOTH = 5, /* along each of two */
  MAFAT_MOST_PATH = 128,     /* layers; what is longer is not followed further */
  MAFAT_MOST_PATHS = 256     /* around a buffer, each for all numbers of parts; what is beyond is left out */
};

/* The lines of a network: who alone reads whom. */
struct mafat_lines {
  struct mafat_heap *heap;
  const struct mafat_network *network;
  int n_layers;
  int *above; /* [layer]: the tensor that is its only map, all of it; -1: there is none */
  int *below; /* [operator]: the layer that alone reads it, as its only map; -1: there is none, or it is put out */
};

struct mafat_path {
  enum mafat_tiling tiling;
  int n;           /* parts; of both rows and columns: along each */
  int layers[MAFAT_MOST_PATH]; /* (length), from the first to the last */
  int length;
  bool fan_out;    /* the first layer is FDTO; else SPLIT is before it */
  bool fan_in;     /* the last layer is FDTI; else CONCAT is behind it */
  bool of_input;   /* rows of the network's input, which come as parts ask for them */
};

/* MAFAT_ENOMEM. */
int mafat_lines_make(struct mafat_lines **out, const struct mafat_network *n, int n_layers, struct mafat_heap *heap);
void mafat_lines_close(struct mafat_lines **lines);

/* Bytes of a whole tensor, as its elements count: no padding. */
uint64_t mafat_tensor_bytes(const struct mafat_network *n, int tensor);

/* How many layers from the tensor upwards (by = -1: its own first) or downwards (by = 1) a path may take: one length for
 * each version, rising. Returns how many there are. */
enum { MAFAT_MOST_VERSIONS = MAFAT_MOST_PATH };
int mafat_path_lengths(int lengths[MAFAT_MOST_VERSIONS], const struct mafat_lines *lines, int tensor, enum mafat_tiling tiling, int by);

/* The paths around a tensor that are no part of others, with the least number of parts: ends are where the buffers before
 * and behind are least, and less than the tensor. At most `room`; returns how many. */
int mafat_paths_find(struct mafat_path *paths, int room, const struct mafat_lines *lines, int tensor);
/* The path around an input of the network, which no publication cuts: its rows, through layers that compute none of them twice,
 * to the least map behind them. Returns whether there is one. */
bool mafat_path_of_input(struct mafat_path *path, const struct mafat_lines *lines, int input);
/* How many parts such a path may have at most; below MAFAT_LEAST_TILES: none. */
int mafat_path_most_parts(const struct mafat_lines *lines, const struct mafat_path *path, int tensor);

/* Part i of n of an extent: the first ones are larger by one where it does not come out even. */
struct mafat_span mafat_path_part(int extent, int n, int i);

#endif
