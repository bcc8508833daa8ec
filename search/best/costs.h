/* Cost tables of the search "best". A cut candidate is a way to divide a group. For each candidate
 * the table has the time and memory of each layer in a plan that runs the whole network as one such
 * group. The cost of any other plan is approximated by sums of these costs. Included by
 * search/best/spans.h; called by search/best (proposer.c, quick.c, spans.c). Allocates
 * from request->options->heap. */
#ifndef MAFAT_SEARCH_BEST_COSTS_H
#define MAFAT_SEARCH_BEST_COSTS_H

#include "search/common/request.h"

struct mafat_cut_candidate {
  enum { MAFAT_CANDIDATE_WHOLE, MAFAT_CANDIDATE_PANELS, MAFAT_CANDIDATE_ROWS } cut;
  int rows;      /* MAFAT_CANDIDATE_ROWS: least rows per step */
  bool streamed; /* true: weights are streamed; false: kept or loaded */
};

struct mafat_layer_cost {
  float ns; /* time of all the layer's steps; INFINITY: the network cannot run as one such group */
  float reads;      /* number of times in a run that streamed weights of the layer are read */
  float held_bytes; /* bytes of the layer's outputs in the arena: rings of rows, or whole maps */
  float scratch_bytes;
  float live_bytes; /* bytes in use in the arena while the layer runs, without weights and I/O
                       buffers */
  bool loaded;      /* the layer's weights are loaded, although the candidate streams weights */
};

enum { MAFAT_MAX_CUT_CANDIDATES = 24 };

struct mafat_costs {
  struct mafat_heap *heap; /* request->options->heap, which owns all tables */
  const struct mafat_network *network;
  int n_layers;
  struct mafat_cut_candidate cut_candidates[MAFAT_MAX_CUT_CANDIDATES];
  int n_cut_candidates;
  /* [candidate][algorithm - MAFAT_DIRECT][layer]; the cost of a fused layer is included in that of
   * the layer in whose step it is computed */
  struct mafat_layer_cost *table;
  bool choice;          /* the table has all algorithms; false: only index 0, which is for the
                           options' algorithm */
  bool *runs;           /* [layer]: the layer has steps of its own */
  bool *has_choice;     /* [layer]: its step has a convolution with a choice of algorithms */
  int *reader;          /* [layer]: innermost layer of its step (mafat_plan_reader) */
  float *weights_bytes; /* [layer]: bytes of packed weights, including those of fused layers */
  bool *must_keep;      /* [layer]: its weights are kept in every plan */
  float *map_bytes;     /* [tensor]: bytes of the whole map; 0: no plan stores it as a whole */
  int *last_use;        /* [tensor]: last layer that reads it, as in struct mafat_usage */
  bool *indivisible;    /* [layer]: the layer cannot be split by rows, so it runs as a whole */
  int *cuts;            /* (n_blocks + 1) layers before which a group may begin, and n_layers */
  int n_blocks;         /* number of blocks: a block has the layers from one cut to the next */
};

/* Size of the tables. Smaller tables take less time. */
struct mafat_cost_scope {
  int max_blocks;
  const int *rows; /* (n_rows) numbers of rows of the candidates, in ascending order */
  int n_rows;
  bool reads; /* true: there are also candidates that stream weights */
};

/* Makes the tables. MAFAT_ENOMEM; MAFAT_ELIMIT: sizes overflow. */
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

/* The layer's fastest algorithm among those from MAFAT_DIRECT to `most`, inclusive. */
enum mafat_algorithm mafat_cost_fastest(const struct mafat_costs *c, int cut_candidate,
                                        enum mafat_algorithm most, int layer);

#endif
