/* Cost tables for the search: time and memory of each layer with each cut candidate. For each
 * candidate, the plan that applies it to the whole network is evaluated. Sums of these costs
 * approximate a plan's cost; the finalists of a search are laid out. Included by
 * search/best/spans.h; called by search/best (best.c, spans.c). Allocates in the options' heap. */
#ifndef MAFAT_SEARCH_BEST_COSTS_H
#define MAFAT_SEARCH_BEST_COSTS_H

#include "search/common/request.h"

/* A cut candidate: a way to cut a group, as it affects the time and memory of its layers. */
struct mafat_cut_candidate {
  enum { MAFAT_CANDIDATE_WHOLE, MAFAT_CANDIDATE_PANELS, MAFAT_CANDIDATE_ROWS } cut;
  int rows;
  bool streamed; /* weights are read for every step; else resident: kept or loaded */
};

struct mafat_layer_cost {
  float ns; /* time of all its steps; INFINITY: the candidate does not apply to the whole network */
  float reads;         /* passes over its streamed weights per run, read from the file */
  float held_bytes;    /* bytes of its output, as held within such a group */
  float scratch_bytes;
  float live_bytes;    /* arena bytes while it runs, without weights and I/O */
  bool loaded;         /* loaded, although the candidate streams weights */
};

enum { MAFAT_MAX_CUT_CANDIDATES = 24 };

struct mafat_costs {
  struct mafat_heap *heap; /* the options' */
  const struct mafat_network *network;
  int n_layers;
  struct mafat_cut_candidate cut_candidates[MAFAT_MAX_CUT_CANDIDATES];
  int n_cut_candidates;
  /* [candidate][algorithm - MAFAT_DIRECT][layer]; fused layers count in their step's layer */
  struct mafat_layer_cost *table;
  bool choice; /* the table has all algorithms; else only [0], the options' one */
  bool *runs;                     /* [layer]: has steps of its own */
  bool *has_choice; /* [layer]: its step has a convolution with a choice of algorithms */
  int *reader;                    /* [layer]: that convolution, or the layer itself */
  float *weights_bytes;           /* [layer]: packed, with fused layers */
  bool *must_keep;                /* [layer]: weights are kept in every plan */
  float *map_bytes;               /* [operator]: whole map; 0 if it never exists whole */
  int *last_use;                  /* [tensor] */
  bool *splits;                   /* [layer]: must stay whole: cannot be split by rows */
  int *cuts;                      /* (n_blocks + 1) possible starts of groups, 0 ... n_layers */
  int n_blocks;
};

/* Makes the tables, with at most max_blocks blocks. A cut never separates layers that are fused.
 * MAFAT_ENOMEM, MAFAT_ELIMIT. */
int mafat_costs_make(struct mafat_costs **out, const struct mafat_search_request *request,
                     int max_blocks, struct mafat_diagnostic *d);
void mafat_costs_close(struct mafat_costs **costs);

enum { MAFAT_N_CHOICES = MAFAT_N_ALGORITHMS - MAFAT_DIRECT };

static inline const struct mafat_layer_cost *mafat_cost_of(const struct mafat_costs *c,
                                                           int cut_candidate,
                                                           enum mafat_algorithm algorithm,
                                                           int layer)
{
  int a = c->choice ? (int)algorithm - MAFAT_DIRECT : 0;
  return &c->table[((size_t)cut_candidate * MAFAT_N_CHOICES + (size_t)a) * (size_t)c->n_layers +
                   (size_t)layer];
}

/* The fastest of the algorithms up to `most`. */
enum mafat_algorithm mafat_cost_fastest(const struct mafat_costs *c, int cut_candidate,
                                        enum mafat_algorithm most, int layer);

#endif
