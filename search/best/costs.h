/* Cost tables of the search "best": time and memory of each layer for each cut candidate, taken
 * from a plan that cuts the whole network in that way. The cost of any other plan is approximated
 * by sums of these costs. Included by search/best/spans.h; called by search/best (proposer.c,
 * spans.c). Allocates in request->options->heap. */
#ifndef MAFAT_SEARCH_BEST_COSTS_H
#define MAFAT_SEARCH_BEST_COSTS_H

#include "search/common/request.h"

/* A cut candidate: a way to cut a group, as it affects the time and memory of its layers. */
struct mafat_cut_candidate {
  enum { MAFAT_CANDIDATE_WHOLE, MAFAT_CANDIDATE_PANELS, MAFAT_CANDIDATE_ROWS } cut;
  int rows;
  bool streamed; /* true: weights are streamed; false: kept or loaded */
};

struct mafat_layer_cost {
  float ns; /* time of all its steps; INFINITY: the candidate is impossible for the whole network */
  float reads;      /* times that its weights are read from the file per run, if streamed */
  float held_bytes; /* bytes of its output maps in such a group: a ring of rows, or whole maps */
  float scratch_bytes;
  float live_bytes; /* arena bytes while it runs, without weights and I/O buffers */
  bool loaded;      /* its weights are loaded, although the candidate streams weights */
};

enum { MAFAT_MAX_CUT_CANDIDATES = 24 };

struct mafat_costs {
  struct mafat_heap *heap; /* request->options->heap, which owns all tables */
  const struct mafat_network *network;
  int n_layers;
  struct mafat_cut_candidate cut_candidates[MAFAT_MAX_CUT_CANDIDATES];
  int n_cut_candidates;
  /* [candidate][algorithm - MAFAT_DIRECT][layer]; a fused layer's cost is counted at the layer that
   * has the step */
  struct mafat_layer_cost *table;
  bool choice;          /* the table has all algorithms; false: only [0], the options' */
  bool *runs;           /* [layer]: has steps of its own */
  bool *has_choice;     /* [layer]: its step has a convolution with a choice of algorithms */
  int *reader;          /* [layer]: that convolution, or the layer itself */
  float *weights_bytes; /* [layer]: packed, with fused layers */
  bool *must_keep;      /* [layer]: weights are kept in every plan */
  float *map_bytes;     /* [tensor]: bytes of the whole map; 0: it never exists whole */
  int *last_use;        /* [tensor]: last layer that reads it */
  bool *indivisible;    /* [layer]: cannot be split by rows, so it runs whole */
  int *cuts;            /* (n_blocks + 1) possible starts of groups, 0 ... n_layers */
  int n_blocks;         /* blocks: the layers between two neighbouring cuts */
};

/* Candidates of a table: fewer take less time. */
struct mafat_cost_scope {
  int max_blocks;
  const int *rows; /* (n_rows) numbers of rows, rising */
  int n_rows;
  bool reads; /* weights may be loaded and streamed; else all are kept */
};

/* Makes the tables. A cut never separates layers that are fused. MAFAT_ENOMEM, MAFAT_ELIMIT. */
int mafat_costs_make(struct mafat_costs **out, const struct mafat_search_request *request,
                     const struct mafat_cost_scope *scope, struct mafat_diagnostic *d);
void mafat_costs_close(struct mafat_costs **costs);

enum { MAFAT_N_CHOICES = MAFAT_N_ALGORITHMS - MAFAT_DIRECT };

/* Number of algorithms in the table. */
static inline size_t mafat_costs_choices(const struct mafat_costs *c)
{
  return c->choice ? MAFAT_N_CHOICES : 1;
}

static inline const struct mafat_layer_cost *mafat_cost_of(const struct mafat_costs *c,
                                                           int cut_candidate,
                                                           enum mafat_algorithm algorithm,
                                                           int layer)
{
  int a = c->choice ? (int)algorithm - MAFAT_DIRECT : 0;
  return &c->table[((size_t)cut_candidate * mafat_costs_choices(c) + (size_t)a) *
                       (size_t)c->n_layers +
                   (size_t)layer];
}

/* The layer's fastest algorithm among MAFAT_DIRECT ... most, in the enum's order. */
enum mafat_algorithm mafat_cost_fastest(const struct mafat_costs *c, int cut_candidate,
                                        enum mafat_algorithm most, int layer);

#endif
