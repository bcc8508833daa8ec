/* Bytes moved between a fast memory of some size and the rest, in two levels: which layers are computed together there, and
 * in which tiles. Tiles are copied in and out explicitly, and nothing is computed twice. After Daghero et al. (2024), who
 * fuse depthwise and 1x1 convolutions so that what lies between never leaves the fast memory.
 *
 * A unit is a run of layers, each the sole reader of the one before. Its tiles are loops: output channels outside, rows
 * inside. An input tile is copied once where it stays while channels go on, and else again for each of them; rows that
 * windows of two tiles share are copied with both. Weights come once, an output goes once. In the fast memory lie a tile of
 * the input, of what lies between, of the output, its weights, and 8 bytes for each filter's two constants. */
#ifndef MAFAT_PREDICTOR_TRANSFERS_H
#define MAFAT_PREDICTOR_TRANSFERS_H

#include "network/network.h"

enum { MAFAT_USUAL_FAST_BYTES = 64 << 10 };

struct mafat_transfers_options {
  size_t fast_bytes;  /* of the fast memory */
  int element_bytes;  /* of each element and weight; default 0: as the network has them */
  int logit_bytes;    /* of each element of the last layer's output, where sums leave as they are; default 0: as others */
};

/* How layers of a unit are computed together. FD, the fused extent, is mafat_unit.extent. */
enum mafat_fused {
  MAFAT_FUSED_NONE,           /* one layer */
  MAFAT_FUSED_DW_PW_ROWS,     /* FD rows of the depthwise output, all channels */
  MAFAT_FUSED_PW_DW_CHANNELS, /* FD channels of the whole map */
  MAFAT_FUSED_PW_DW_ROWS,     /* a window of FD rows of the 1x1's output */
  MAFAT_FUSED_BOTTLENECK_ROWS, /* 1x1, depthwise, 1x1, and a shortcut around them: a window of FD rows of the first output */
  MAFAT_N_FUSED
};

/* "pw-dw rows"; what a table says of it. */
const char *mafat_fused_name(enum mafat_fused how);

enum { MAFAT_UNIT_MOST = 4 };

struct mafat_unit {
  enum mafat_fused how;
  int layers[MAFAT_UNIT_MOST], n; /* as they are computed */
  bool fits;            /* else each byte is counted once, though no tile has room */
  int extent;           /* FD; of one layer rows of its output in a tile */
  int channels;         /* of the output in a tile */
  int n_rows, n_channels; /* tiles along them */
  uint64_t input_bytes, again_bytes; /* moved in; of them: not for the first time */
  uint64_t output_bytes, weight_bytes;
  uint64_t mid_bytes;   /* of what lies between, at one time */
  uint64_t room_bytes;  /* that a tile takes */
};

/* Activations that a unit moves, both ways. */
static inline uint64_t mafat_unit_activations(const struct mafat_unit *u)
{
  return u->input_bytes + u->output_bytes;
}

static inline uint64_t mafat_unit_moved(const struct mafat_unit *u)
{
  return mafat_unit_activations(u) + u->weight_bytes;
}

/* Counts the unit whose `how`, `layers` and `n` are given, in the tiles that move fewest bytes, and of these in the largest.
 * Its layers must be such as mafat_unit_can says. */
void mafat_unit_count(struct mafat_unit *u, const struct mafat_network *n, const struct mafat_transfers_options *o);
/* The same with FD as `u->extent` has it; false: it has no room, or is no FD of it. */
bool mafat_unit_count_at(struct mafat_unit *u, const struct mafat_network *n, const struct mafat_transfers_options *o);
/* Can these layers be computed so, by their kinds and windows? That each reads the one before alone is the caller's affair. */
bool mafat_unit_can(const struct mafat_unit *u, const struct mafat_network *n);

/* Bytes of an element of a tensor; of a layer's weights. */
uint64_t mafat_transfers_tensor_bytes(const struct mafat_network *n, const struct mafat_transfers_options *o, int tensor,
                                      uint64_t elements);
uint64_t mafat_transfers_weight_bytes(const struct mafat_network *n, const struct mafat_transfers_options *o, int layer);

/* ---- a network's units ---- */

struct mafat_transfers {
  struct mafat_unit *units; /* (n) in the order of their last layers; owned */
  int n;
  uint64_t activation_bytes, again_bytes, weight_bytes;
};

/* What the choice goes by: what a unit costs; INFINITY: it must not be. */
struct mafat_unit_price {
  double (*of)(const void *context, const struct mafat_unit *u);
  const void *context;
};

/* All units of several layers that can be, each with `how`, `layers` and `n`; for free(). MAFAT_ENOMEM. */
int mafat_transfers_candidates(struct mafat_unit **units, int *n_units, const struct mafat_network *n, int n_layers);
/* By their last layers. */
void mafat_units_sort(struct mafat_unit *units, int n_units);

/* The units of the first n_layers that cost least together: dynamic programming over each path of sole readers. price NULL:
 * bytes moved. MAFAT_ENOMEM. */
int mafat_transfers_choose(struct mafat_transfers *out, const struct mafat_network *n, int n_layers,
                           const struct mafat_transfers_options *o, const struct mafat_unit_price *price);
/* Each layer by itself. */
int mafat_transfers_unfused(struct mafat_transfers *out, const struct mafat_network *n, int n_layers,
                            const struct mafat_transfers_options *o);
struct mafat_plan;
/* What a plan computes together, of what units can be: depthwise layers inside 1x1s; in groups of rows, pairs and bottlenecks
 * by rows; in groups that are split along channels, pairs by channels. Where its text says how many rows of a depthwise layer,
 * FD is that. What of it has no room is counted layer by layer. */
int mafat_transfers_of_plan(struct mafat_transfers *out, const struct mafat_network *n, const struct mafat_plan *plan,
                            const struct mafat_transfers_options *o);
/* Does the plan compute the unit's layers together? */
bool mafat_transfers_runs(const struct mafat_plan *plan, const struct mafat_unit *u);
void mafat_transfers_close(struct mafat_transfers *t);

/* For each layer, the one that reads it alone, whose input it is; -1: there is none. (n_layers) */
void mafat_transfers_paths(const struct mafat_network *n, int n_layers, int *next);
/* Activations were every tensor moved once by each layer; and the same where what lies between a unit's layers is not,
 * whatever the room, in the best of pairs. */
uint64_t mafat_transfers_one_pass(const struct mafat_network *n, int n_layers, const struct mafat_transfers_options *o);
int mafat_transfers_best_pairs(uint64_t *bytes, const struct mafat_network *n, int n_layers,
                               const struct mafat_transfers_options *o);

#endif
