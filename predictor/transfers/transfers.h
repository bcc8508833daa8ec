/* Transfers: bytes copied between a small fast memory and the slow memory that holds all maps and
 * weights. Predicts them, and chooses which layers are computed together in the fast memory, and in
 * which tiles. After Daghero et al. (2024), who fuse depthwise and 1x1 convolutions so that the map
 * between them never leaves the fast memory. Implemented by tiles.c and choose.c; used by
 * api/transfers.c and search/separable.
 *
 * A unit is a sequence of layers, each the sole reader of the one before, computed in tiles. The
 * outer loop is over tiles of output channels, the inner one over tiles of rows. An input tile is
 * copied once if it stays while channels advance, else once for each channel tile. Rows that the
 * windows of two tiles share are copied for both. Weights and outputs are copied once, and nothing
 * is computed twice. The fast memory holds a tile of the input, of intermediate maps and of the
 * output, its weights, and 8 bytes for each filter's two constants. */
#ifndef MAFAT_PREDICTOR_TRANSFERS_H
#define MAFAT_PREDICTOR_TRANSFERS_H

#include "network/network.h"

enum { MAFAT_USUAL_FAST_BYTES = 64 << 10 };

struct mafat_transfers_options {
  size_t fast_bytes;  /* capacity of the fast memory */
  int element_bytes;  /* bytes of each element and weight; default 0: as in the network */
  int logit_bytes;    /* bytes of each element of the last layer's output, if it differs because
                         its sums are not quantized; default 0: as other elements */
};

/* How the layers of a unit are computed together; dw: depthwise, pw: 1x1 convolution. The extent
 * (FD in the paper) is mafat_unit.extent. */
enum mafat_fused {
  MAFAT_FUSED_NONE,           /* one layer */
  MAFAT_FUSED_DW_PW_ROWS,     /* extent: rows of the depthwise output at a time, all channels */
  MAFAT_FUSED_PW_DW_CHANNELS, /* extent: channels at a time, whole maps */
  MAFAT_FUSED_PW_DW_ROWS,     /* extent: rows of the window on the 1x1's output */
  MAFAT_FUSED_BOTTLENECK_ROWS, /* 1x1, depthwise, 1x1, perhaps a shortcut around them; extent: rows
                                  of the window on the first output */
  MAFAT_N_FUSED
};

/* Returns a name for tables, such as "pw-dw rows". */
const char *mafat_fused_name(enum mafat_fused how);

enum { MAFAT_UNIT_MOST = 4 }; /* most layers of a unit */

struct mafat_unit {
  enum mafat_fused how;
  int layers[MAFAT_UNIT_MOST], n; /* in execution order */
  bool fits;            /* a tile fits the fast memory; false: counted as if it were unlimited */
  int extent;           /* see enum mafat_fused; for one layer, rows of its output in a tile */
  int channels;         /* channels of the output in a tile */
  int n_rows, n_channels; /* numbers of tiles along rows and channels */
  uint64_t input_bytes, again_bytes; /* input bytes copied in; part of them copied before */
  uint64_t output_bytes, weight_bytes; /* bytes copied out; bytes of weights copied in */
  uint64_t mid_bytes;   /* bytes of intermediate maps in the fast memory at one time */
  uint64_t capacity_bytes;  /* bytes of fast memory that a tile needs */
};

/* Bytes of activations that a unit copies in and out. */
static inline uint64_t mafat_unit_activations(const struct mafat_unit *u)
{
  return u->input_bytes + u->output_bytes;
}

/* All bytes that a unit copies. */
static inline uint64_t mafat_unit_moved(const struct mafat_unit *u)
{
  return mafat_unit_activations(u) + u->weight_bytes;
}

/* Fills in a unit whose `how`, `layers` and `n` are set, with the tiles that copy the fewest bytes;
 * among equals, the largest tiles. The layers must satisfy mafat_unit_can. */
void mafat_unit_count(struct mafat_unit *u, const struct mafat_network *n,
                      const struct mafat_transfers_options *o);
/* The same with the extent u->extent; false if a tile does not fit or the extent is invalid. */
bool mafat_unit_count_at(struct mafat_unit *u, const struct mafat_network *n,
                         const struct mafat_transfers_options *o);
/* True if the kinds and windows of these layers allow u->how. The caller ensures that each layer is
 * the sole reader of the one before. */
bool mafat_unit_can(const struct mafat_unit *u, const struct mafat_network *n);

/* Bytes of `elements` elements of a tensor; bytes of a layer's weights. */
uint64_t mafat_transfers_tensor_bytes(const struct mafat_network *n,
                                      const struct mafat_transfers_options *o, int tensor,
                                      uint64_t elements);
uint64_t mafat_transfers_weight_bytes(const struct mafat_network *n,
                                      const struct mafat_transfers_options *o, int layer);

/* ---- units of a network ---- */

/* The units of a network, each layer that computes something in one of them. */
struct mafat_transfers {
  struct mafat_unit *units; /* (n) in order of their last layers; owned */
  int n;
  uint64_t activation_bytes, again_bytes, weight_bytes; /* sums over the units */
};

/* Cost function for the choice of units; it returns INFINITY for a unit that is not allowed. */
struct mafat_unit_price {
  double (*of)(const void *context, const struct mafat_unit *u);
  const void *context;
};

/* Lists all possible units of several layers, with `how`, `layers` and `n` set. The caller frees
 * *units with free(). MAFAT_ENOMEM. */
int mafat_transfers_candidates(struct mafat_unit **units, int *n_units,
                               const struct mafat_network *n, int n_layers);
/* Sorts by last layer. */
void mafat_units_sort(struct mafat_unit *units, int n_units);

/* Chooses the units of the first n_layers with the least total price. price NULL: bytes copied.
 * MAFAT_ENOMEM. The caller closes *out, as below. */
int mafat_transfers_choose(struct mafat_transfers *out, const struct mafat_network *n, int n_layers,
                           const struct mafat_transfers_options *o,
                           const struct mafat_unit_price *price);
/* The same with each layer as a unit of its own. */
int mafat_transfers_unfused(struct mafat_transfers *out, const struct mafat_network *n,
                            int n_layers, const struct mafat_transfers_options *o);
struct mafat_plan;
/* Finds the units that a plan computes together: depthwise layers inside 1x1s; in groups by rows,
 * pairs and bottlenecks by rows; in groups split along channels, pairs by channels. The extent is
 * the plan's number of depthwise rows, if given. The layers of a unit that does not fit are counted
 * one by one. */
int mafat_transfers_of_plan(struct mafat_transfers *out, const struct mafat_network *n,
                            const struct mafat_plan *plan, const struct mafat_transfers_options *o);
/* True if the plan computes the unit's layers together. */
bool mafat_transfers_runs(const struct mafat_plan *plan, const struct mafat_unit *u);
void mafat_transfers_close(struct mafat_transfers *t);

/* Fills next[n_layers]: the next layer on each layer's path, which is its sole reader; -1: none. If
 * it also reads other such layers, only one of them continues the path. */
void mafat_transfers_paths(const struct mafat_network *n, int n_layers, int *next);
/* Lower bounds of activation bytes, for an unlimited fast memory: if each layer by itself copies
 * each tensor once (one_pass); with the best choice of units of two layers (best_pairs). */
uint64_t mafat_transfers_one_pass(const struct mafat_network *n, int n_layers,
                                  const struct mafat_transfers_options *o);
int mafat_transfers_best_pairs(uint64_t *bytes, const struct mafat_network *n, int n_layers,
                               const struct mafat_transfers_options *o);

#endif
