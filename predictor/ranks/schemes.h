/* What a network costs on several equal devices, by the formulas of DeeperThings (Stahl 2024, chapter 5): early layers by maps,
 * whose tiles the devices share and whose weights each of them keeps; later ones by weights, whose maps each of them keeps. All
 * are numbers of values; what is a share of one is counted in Nths, so that nothing is rounded. */
#ifndef MAFAT_PREDICTOR_RANKS_SCHEMES_H
#define MAFAT_PREDICTOR_RANKS_SCHEMES_H

#include "base/heap.h"
#include "network/network.h"
#include "predictor/plan/spec.h"

/* How the weights of a layer are shared out. */
enum mafat_scheme {
  MAFAT_FAN_OUT,   /* FDTO: outputs and what makes them; every rank has all that is read */
  MAFAT_FAN_IN,    /* FDTI: inputs and what takes them; sums of all ranks go to the root */
  MAFAT_FUSED_OUT, /* FDT1: a fan-out whose outputs stay where they are made, */
  MAFAT_FUSED_IN,  /* FDT2: and the fan-in behind it that takes them */
  MAFAT_N_SCHEMES
};

/* A layer as these formulas see it. */
struct mafat_rank_layer {
  int layer;
  uint64_t in, out, weights, multiplications;
};

struct mafat_rank_layers {
  struct mafat_heap *heap;
  struct mafat_rank_layer *list;
  int n;
};

/* The layers with weights of the first n_layers; without those that take a map as a list (fully connected) where these are left
 * out, as the published tables do. MAFAT_ENOMEM; MAFAT_ELIMIT: sizes that overflow. */
int mafat_rank_layers_find(struct mafat_rank_layers *out, const struct mafat_network *n, int n_layers, bool connected,
                           struct mafat_heap *heap);
void mafat_rank_layers_close(struct mafat_rank_layers *layers);

const char *mafat_scheme_name(enum mafat_scheme scheme);

/* Is the output of a layer used where the ranks made it, gathered by all of them and not by the root? */
bool mafat_scheme_reuses(enum mafat_scheme scheme, enum mafat_scheme next);

/* What ranks send each other for one layer, in Nths of values; before, behind: its input, its output is reused. */
uint64_t mafat_scheme_exchange(enum mafat_scheme scheme, const struct mafat_rank_layer *l, int n_ranks, bool before, bool behind);
/* The same of a sequence. */
uint64_t mafat_schemes_exchange(const enum mafat_scheme *schemes, const struct mafat_rank_layer *list, int n, int n_ranks);

/* What each rank holds where layers from number `from` on are shared by weights, in Nths of values: all weights of those before,
 * and the widest input and output (F FULL). */
uint64_t mafat_ranks_hold(const struct mafat_rank_layer *list, int n, int from, int n_ranks);
/* What ranks hold that run the layers [begin, end) whole, in values. */
uint64_t mafat_ranks_hold_whole(const struct mafat_rank_layer *list, int begin, int end);
/* Values that cross from one device to the next where each of them has whole layers: bounds (n_ranks + 1). */
uint64_t mafat_ranks_hand_on(const struct mafat_rank_layer *list, const int *bounds, int n_ranks);

#endif
