/* Transfers: bytes copied between a small fast memory and the slow memory that holds all maps and
 * weights. Predicts these bytes, and chooses which layers are computed together in the fast memory,
 * and in which tiles. After Daghero et al. (2024), who fuse depthwise and 1x1 convolutions so that
 * the map between them never leaves the fast memory. Implemented by tiles.c and choose.c; used by
 * api/transfers.c, search/separable and predictor/transfers. Allocates lists, which the caller
 * frees.
 *
 * A unit is a sequence of layers that are computed together in tiles; each layer is the only reader
 * of the layer before. The outer loop is over tiles of output channels, the inner loop over tiles
 * of rows. If all rows are one tile, or each channel tile reads other channels, the input is copied
 * once, else once for each channel tile. Rows that the windows of two tiles share are copied for
 * both. Weights and outputs are copied once, and nothing is computed twice. The fast memory holds a
 * tile of the input, of the maps between the layers and of the output, its weights, and 8 bytes for
 * each filter's two constants. */
#ifndef MAFAT_PREDICTOR_TRANSFERS_H
#define MAFAT_PREDICTOR_TRANSFERS_H

#include "network/network.h"

enum { MAFAT_USUAL_FAST_BYTES = 64 << 10 }; /* default capacity of the fast memory */

struct mafat_transfers_options {
  size_t fast_bytes;  /* capacity of the fast memory */
  int element_bytes;  /* bytes of each element and weight; default 0: as in the network */
  int logit_bytes;    /* bytes of each element of the last layer's output, if it differs because
                         its sums are not quantized; default 0: as other elements */
};

/* How the layers of a unit are computed together, and what its extent (mafat_unit.extent; FD in the
 * paper) counts. DW: depthwise; PW: 1x1 convolution. */
enum mafat_fused {
  MAFAT_FUSED_NONE,           /* one layer; extent: rows of its output in a tile */
  MAFAT_FUSED_DW_PW_ROWS,     /* extent: rows of the depthwise output at a time, all channels */
  MAFAT_FUSED_PW_DW_CHANNELS, /* extent: channels at a time, whole maps */
  MAFAT_FUSED_PW_DW_ROWS,     /* extent: rows of the 1x1's output that exist at once */
  MAFAT_FUSED_BOTTLENECK_ROWS, /* 1x1, depthwise, 1x1, perhaps a shortcut around them; extent: rows
                                  of the first 1x1's output that exist at once */
  MAFAT_N_FUSED
};

/* Returns a name for tables, such as "pw-dw rows". */
const char *mafat_fused_name(enum mafat_fused how);

enum { MAFAT_UNIT_MOST = 4 }; /* greatest number of layers of a unit */

struct mafat_unit {
  enum mafat_fused how;
  int layers[MAFAT_UNIT_MOST], n; /* (n) in execution order */
  bool fits;            /* a tile fits the fast memory; false: it does not, and the other fields are
                           for an unlimited fast memory */
  int extent;           /* see enum mafat_fused */
  int channels;         /* channels of the output in a tile */
  int n_rows, n_channels; /* numbers of tiles along rows and channels */
  uint64_t input_bytes, again_bytes; /* bytes of input that are copied; those of them that were
                                        copied before */
  uint64_t output_bytes, weight_bytes; /* bytes of outputs and of weights that are copied */
  uint64_t mid_bytes;   /* bytes of maps between the layers in the fast memory at one time */
  uint64_t capacity_bytes;  /* bytes of fast memory that a tile needs */
};

/* Bytes of inputs and outputs that a unit copies. */
static inline uint64_t mafat_unit_activations(const struct mafat_unit *u)
{
  return u->input_bytes + u->output_bytes;
}

/* All bytes that a unit copies. */
static inline uint64_t mafat_unit_moved(const struct mafat_unit *u)
{
  return mafat_unit_activations(u) + u->weight_bytes;
}

/* Fills in a unit whose `how`, `layers` and `n` are set, for the tiles with which it copies the
 * fewest bytes; if several tiles copy equally few, for the largest. mafat_unit_can must be true. */
void mafat_unit_count(struct mafat_unit *u, const struct mafat_network *n,
                      const struct mafat_transfers_options *o);
/* Fills in a unit for the extent u->extent. False if a tile does not fit, or the extent is out of
 * range. */
bool mafat_unit_count_at(struct mafat_unit *u, const struct mafat_network *n,
                         const struct mafat_transfers_options *o);
/* True if the kinds and windows of these layers allow u->how. The caller ensures that each layer is
 * the sole reader of the one before. */
bool mafat_unit_can(const struct mafat_unit *u, const struct mafat_network *n);

/* Bytes of `elements` elements of a tensor, and bytes of a layer's weights, with o->element_bytes
 * and o->logit_bytes. */
uint64_t mafat_transfers_tensor_bytes(const struct mafat_network *n,
                                      const struct mafat_transfers_options *o, int tensor,
                                      uint64_t elements);
uint64_t mafat_transfers_weight_bytes(const struct mafat_network *n,
                                      const struct mafat_transfers_options *o, int layer);

/* ---- units of a network ---- */

/* The units of a network. Each layer that computes something is in one of them. */
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

/* Lists all possible units of several layers. Only `how`, `layers` and `n` are set. The caller
 * frees *units with free(). MAFAT_ENOMEM. */
int mafat_transfers_candidates(struct mafat_unit **units, int *n_units,
                               const struct mafat_network *n, int n_layers);
/* Sorts units by the number of their last layer. */
void mafat_units_sort(struct mafat_unit *units, int n_units);

/* Chooses the units of the first n_layers layers with the least total price. price NULL: bytes
 * copied. MAFAT_ENOMEM. The caller frees *out by mafat_transfers_close. */
int mafat_transfers_choose(struct mafat_transfers *out, const struct mafat_network *n, int n_layers,
                           const struct mafat_transfers_options *o,
                           const struct mafat_unit_price *price);
/* Makes each layer a unit of its own. Otherwise as mafat_transfers_choose. */
int mafat_transfers_unfused(struct mafat_transfers *out, const struct mafat_network *n,
                            int n_layers, const struct mafat_transfers_options *o);
struct mafat_plan;
/* Finds the units that a plan computes. These are depthwise layers that the plan fuses into 1x1
 * convolutions; units by rows of layers in a group that is computed by rows; and pairs by channels
 * of layers in a group that is split along channels. If the plan sets a number of rows for a fused
 * depthwise layer, that is the extent of its unit. If a unit does not fit the fast memory, each of
 * its layers becomes a unit. MAFAT_ENOMEM. The caller frees *out by mafat_transfers_close. */
int mafat_transfers_of_plan(struct mafat_transfers *out, const struct mafat_network *n,
                            const struct mafat_plan *plan, const struct mafat_transfers_options *o);
/* True if the plan computes the unit's layers together. */
bool mafat_transfers_runs(const struct mafat_plan *plan, const struct mafat_unit *u);
void mafat_transfers_close(struct mafat_transfers *t);

/* Fills next[n_layers]: for each layer the next layer on its path, which is its only reader; -1:
 * none. A layer that is the only reader of several layers continues the path of one of them. */
void mafat_transfers_paths(const struct mafat_network *n, int n_layers, int *next);
/* Lower bounds of the bytes of inputs and outputs that a network copies, for an unlimited fast
 * memory. mafat_transfers_one_pass: each layer is a unit. mafat_transfers_best_pairs: with the best
 * choice of units of at most two layers; MAFAT_ENOMEM. */
uint64_t mafat_transfers_one_pass(const struct mafat_network *n, int n_layers,
                                  const struct mafat_transfers_options *o);
int mafat_transfers_best_pairs(uint64_t *bytes, const struct mafat_network *n, int n_layers,
                               const struct mafat_transfers_options *o);

#endif
