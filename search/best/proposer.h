/* Proposes plans by dynamic programming over cuts. For a size of the arena and a price of kept
 * weights, it finds the fastest sequence of groups from the costs of layers (costs.h) and of spans
 * (spans.h). The bytes and the time of a proposal are sums of these costs, so they are approximate.
 * Included by search/best/best.c and quick.c. Allocates from request->options->heap. */
#ifndef MAFAT_SEARCH_BEST_PROPOSER_H
#define MAFAT_SEARCH_BEST_PROPOSER_H

#include "predictor/schedule/fetches.h"
#include "search/best/spans.h"

/* A proposed sequence of groups. */
struct mafat_proposal {
  struct mafat_spec *spec; /* owned by the proposer */
  double bytes, ns;        /* approximate bytes and time of the plan */
};

struct mafat_sequence_state;

enum { MAFAT_N_ONCE_CANDIDATES = 4 }; /* ways to cut groups that run each layer once */

struct mafat_proposer {
  const struct mafat_search_request *request;
  struct mafat_heap *heap; /* request->options->heap */
  struct mafat_costs *costs;
  struct mafat_spans *spans;
  int once_candidates[MAFAT_N_ONCE_CANDIDATES];
  struct mafat_fetch_sizes fetch;
  struct mafat_sequence_state *states; /* [cut][state] */
  enum mafat_algorithm *algorithms;    /* [layer]: in the proposed sequence */
  int *layers;                         /* identity: 0, 1, 2 ... */
  float group_ns;                      /* minimum gain of an additional group */
  double most_ns; /* a descent ends at a slower sequence; INFINITY: no limit */
  double slowest; /* most_ns relative to the first proposal's time */
  double arena, price; /* bytes for maps, scratch and loaded weights; ns per kept byte */
  bool reads;          /* loaded or streamed weights are allowed */
  int ring;            /* number of reads that the ring holds */
  struct mafat_proposal *proposals;
  int n_proposals, capacity;
  struct mafat_diagnostic *d;
};

/* The smallest ring of streamed weights. */
static const struct mafat_group_weights mafat_least_ring = {MAFAT_STREAMED, MAFAT_RING_READS, 0};

enum { MAFAT_MOST_BLOCKS = 72 }; /* greatest max_blocks of a scope */

/* The scope with all candidates. */
extern const struct mafat_cost_scope mafat_full_scope;

/* Makes the cost tables. The request must outlive the proposer. The caller closes the proposer even
 * after a failure. MAFAT_ENOMEM; MAFAT_ELIMIT: sizes overflow. */
int mafat_proposer_open(struct mafat_proposer *proposer, const struct mafat_search_request *request,
                        const struct mafat_cost_scope *scope, struct mafat_diagnostic *d);
/* Frees the tables before proposals are laid out: only `proposals` is used afterwards. */
void mafat_proposer_end(struct mafat_proposer *proposer);
void mafat_proposer_close(struct mafat_proposer *proposer);

/* Proposes sequences for smaller and smaller arenas, at one price of kept weights (ns per byte),
 * and appends them to proposer->proposals. When no sequence fits, it goes on in smaller steps to
 * the smallest arena that it can reach. MAFAT_ENOMEM. */
int mafat_proposer_descend(struct mafat_proposer *proposer, double price, bool reads, int ring);

#endif
