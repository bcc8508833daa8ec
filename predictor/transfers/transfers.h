/* Bytes moved between a fast memory of a given size and the rest: which layers are computed
 * together in it, and in which tiles. Tiles are copied in and out explicitly, and nothing is
 * computed twice. After Daghero et al. (2024), who fuse depthwise and 1x1 convolutions so that the
 * map between them never leaves the fast memory. Implemented by tiles.c and choose.c; used by
 * api/transfers.c and search/separable.
 *
 * A unit is a sequence of layers, each the sole reader of the one before. Its tiles are loops:
 * output channels outside, rows inside. An input tile is copied once if it stays while channels
 * advance, else once for each channel tile. Rows shared by the windows of two tiles are copied with
 * both. Weights are copied once, as is the output. The fast memory holds a tile of the input, of
 * intermediate maps and of the output, its weights, and 8 bytes for each filter's two constants. */
#ifndef MAFAT_PREDICTOR_TRANSFERS_H
#define MAFAT_PREDICTOR_TRANSFERS_H

#include "network/network.h"

enum { MAFAT_USUAL_FAST_BYTES = 64 << 10 };

struct mafat_transfers_options {
  size_t fast_bytes;  /* capacity of the fast memory */
  int element_bytes;  /* bytes of each element and weight; default 0: the network's types */
  int logit_bytes;    /* bytes of each element of the last layer's output, if sums leave
                         unquantized; default 0: as others */
};

/* How the layers of a unit are computed together. FD, the fused extent, is mafat_unit.extent. */
enum mafat_fused {
  MAFAT_FUSED_NONE,           /* one layer */
  MAFAT_FUSED_DW_PW_ROWS,     /* FD rows of the depthwise output, all channels */
  MAFAT_FUSED_PW_DW_CHANNELS, /* FD channels of the whole map */
  MAFAT_FUSED_PW_DW_ROWS,     /* a window of FD rows of the 1x1's output */
  MAFAT_FUSED_BOTTLENECK_ROWS, /* 1x1, depthwise, 1x1, and a shortcut around them: a window of FD
                                  rows of the first output */
  MAFAT_N_FUSED
};

/* "pw-dw rows": name for tables. */
const char *mafat_fused_name(enum mafat_fused how);

enum { MAFAT_UNIT_MOST = 4 };

struct mafat_unit {
  enum mafat_fused how;
  int layers[MAFAT_UNIT_MOST], n; /* in execution order */
  bool fits;            /* false: no tile fits, and each byte is counted once */
  int extent;           /* FD; for one layer, rows of its output in a tile */
  int channels;         /* channels of the output in a tile */
  int n_rows, n_channels; /* number of tiles along each */
  uint64_t input_bytes, again_bytes; /* moved in; those moved in again */
  uint64_t output_bytes, weight_bytes;
  uint64_t mid_bytes;   /* bytes of intermediate maps, at one time */
  uint64_t capacity_bytes;  /* fast memory of a tile */
};

/* Bytes of activations that a unit moves, both ways. */
static inline uint64_t mafat_unit_activations(const struct mafat_unit *u)
{
  return u->input_bytes + u->output_bytes;
}

static inline uint64_t mafat_unit_moved(const struct mafat_unit *u)
{
  return mafat_unit_activations(u) + u->weight_bytes;
}

/* Counts the unit with the given `how`, `layers` and `n`, in the tiles that move fewest bytes;
 * among equals, the largest. The layers must satisfy mafat_unit_can. */
void mafat_unit_count(struct mafat_unit *u, const struct mafat_network *n,
                      const struct mafat_transfers_options *o);
/* The same with FD = `u->extent`; false if it does not fit or is no valid FD. */
bool mafat_unit_count_at(struct mafat_unit *u, const struct mafat_network *n,
                         const struct mafat_transfers_options *o);
/* True if these layers can be computed so, by kinds and windows. The caller ensures that each is
 * the sole reader of the one before. */
bool mafat_unit_can(const struct mafat_unit *u, const struct mafat_network *n);

/* Bytes of `elements` of a tensor; of a layer's weights. */
uint64_t mafat_transfers_tensor_bytes(const struct mafat_network *n,
                                      const struct mafat_transfers_options *o, int tensor,
                                      uint64_t elements);
uint64_t mafat_transfers_weight_bytes(const struct mafat_network *n,
                                      const struct mafat_transfers_options *o, int layer);

/* ---- units of a network ---- */

struct mafat_transfers {
  struct mafat_unit *units; /* (n) in order of their last layers; owned */
  int n;
  uint64_t activation_bytes, again_bytes, weight_bytes;
};

/* Cost function for the choice of units; INFINITY: not allowed. */
struct mafat_unit_price {
  double (*of)(const void *context, const struct mafat_unit *u);
  const void *context;
};

/* Lists all possible units of several layers, with `how`, `layers` and `n`; for free().
 * MAFAT_ENOMEM. */
int mafat_transfers_candidates(struct mafat_unit **units, int *n_units,
                               const struct mafat_network *n, int n_layers);
/* Sorts by last layer. */
void mafat_units_sort(struct mafat_unit *units, int n_units);

/* Chooses the units of the first n_layers with the least total cost: dynamic programming over each
 * path of sole readers. price NULL: bytes moved. MAFAT_ENOMEM. */
int mafat_transfers_choose(struct mafat_transfers *out, const struct mafat_network *n, int n_layers,
                           const struct mafat_transfers_options *o,
                           const struct mafat_unit_price *price);
/* Each layer is a unit. */
int mafat_transfers_unfused(struct mafat_transfers *out, const struct mafat_network *n,
                            int n_layers, const struct mafat_transfers_options *o);
struct mafat_plan;
/* Finds the units that a plan computes together: depthwise layers inside 1x1s; in groups of rows,
 * pairs and bottlenecks by rows; in groups split along channels, pairs by channels. FD is the
 * plan's number of depthwise rows, if given. A unit that does not fit is counted layer by layer. */
int mafat_transfers_of_plan(struct mafat_transfers *out, const struct mafat_network *n,
                            const struct mafat_plan *plan, const struct mafat_transfers_options *o);
/* True if the plan computes the unit's layers together. */
bool mafat_transfers_runs(const struct mafat_plan *plan, const struct mafat_unit *u);
void mafat_transfers_close(struct mafat_transfers *t);

/* Fills next[n_layers]: the sole reader of each layer, whose input it is; -1: none. */
void mafat_transfers_paths(const struct mafat_network *n, int n_layers, int *next);
/* Activation bytes if each layer moves every tensor once (one_pass), and the same without the maps
 * inside the best choice of pairs, whatever the capacity (best_pairs). */
uint64_t mafat_transfers_one_pass(const struct mafat_network *n, int n_layers,
                                  const struct mafat_transfers_options *o);
int mafat_transfers_best_pairs(uint64_t *bytes, const struct mafat_network *n, int n_layers,
                               const struct mafat_transfers_options *o);

#endif
