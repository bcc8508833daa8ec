/* What each layer costs in each way of cutting: tables that a search adds up, made by
 * walking, for each way, the plan that cuts all of the network so. Sums of them are
 * near what a whole plan costs, not equal: the finalists of a search are laid out. */
#ifndef MAFAT_SEARCH_BEST_COSTS_H
#define MAFAT_SEARCH_BEST_COSTS_H

#include "search/common/request.h"

/* How a group is cut, as far as its layers' time and memory go. */
struct mafat_way {
  enum { MAFAT_WAY_WHOLE, MAFAT_WAY_PANELS, MAFAT_WAY_ROWS } cut;
  int rows;
  bool streamed; /* weights come anew for every step; else they are there: kept or loaded */
};

struct mafat_layer_cost {
  float ns;            /* of all its steps; INFINITY: no plan goes this way through all of the network */
  float reads;         /* passes over its weights that are read from the file, when streamed */
  float held_bytes;    /* of its output, as far as it exists inside a group of this way */
  float scratch_bytes;
  float live_bytes;    /* once: all that is in the arena while it runs, but weights and I/O */
  bool loaded;         /* streamed: but this layer is loaded all the same */
};

enum { MAFAT_MAX_WAYS = 24 };

struct mafat_costs {
  struct mafat_heap *heap; /* the options' */
  const struct mafat_network *network;
  int n_layers;
  struct mafat_way ways[MAFAT_MAX_WAYS];
  int n_ways;
  struct mafat_layer_cost *table; /* [way][algorithm - MAFAT_DIRECT][layer]; layers inside others cost nothing */
  bool choice;                    /* all algorithms are there; else only [0], by the options */
  bool *runs;                     /* [layer]: has steps of its own */
  bool *has_choice;               /* [layer]: inside it, a convolution that can be any of them */
  int *reader;                    /* [layer]: that convolution, or itself */
  float *weights_bytes;           /* [layer]: packed, with those inside */
  bool *must_keep;                /* [layer]: these are kept in every plan */
  float *map_bytes;               /* [operator]: whole, 0 where it never exists */
  int *last_use;                  /* [tensor] */
  bool *splits;                   /* [layer]: cannot be cut by rows */
  int *cuts;                      /* (n_blocks + 1): 0 ... n_layers: where groups may begin */
  int n_blocks;
};

/* At most max_blocks between cuts, which never part layers that are computed inside
 * each other. MAFAT_ENOMEM, MAFAT_ELIMIT. */
int mafat_costs_make(struct mafat_costs **out, const struct mafat_search_request *request, int max_blocks,
                     struct mafat_diagnostic *d);
void mafat_costs_close(struct mafat_costs **costs);

enum { MAFAT_N_CHOICES = MAFAT_N_ALGORITHMS - MAFAT_DIRECT };

static inline const struct mafat_layer_cost *mafat_cost_of(const struct mafat_costs *c, int way,
                                                           enum mafat_algorithm algorithm, int layer)
{
  int a = c->choice ? (int)algorithm - MAFAT_DIRECT : 0;
  return &c->table[((size_t)way * MAFAT_N_CHOICES + (size_t)a) * (size_t)c->n_layers + (size_t)layer];
}

/* The fastest of the algorithms up to `most`. */
enum mafat_algorithm mafat_cost_fastest(const struct mafat_costs *c, int way, enum mafat_algorithm most, int layer);

#endif
