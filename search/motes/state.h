/* A state of MOTES' search: a set of partition schemes as a plan, and functions that measure it.
 * Included by search/motes/motes.c and search/motes/seen.h. Allocates in the options' heap; may
 * run plans through the request's timer. */
#ifndef MAFAT_SEARCH_MOTES_STATE_H
#define MAFAT_SEARCH_MOTES_STATE_H

#include "search/motes/apply.h"
#include "search/common/request.h"

struct mafat_motes_state {
  struct mafat_scheme schemes[MAFAT_MOST_SCHEMES]; /* (n) layers are not owned */
  int n;
  enum mafat_op_order op_order;
  bool in_place, apart; /* apart: schemes that are only connected by reading are separate groups */
  size_t bytes; /* peak of live bytes; bytes of the arena once offsets are assigned */
  /* tie-break for states with the same bytes: grows with the number of steps near the peak */
  double tie_break;
  double ms;
};

/* Context of measuring states. */
struct mafat_motes_meter {
  const struct mafat_search_request *request;
  struct mafat_heap *heap; /* the options' */
  const int *cell_of;      /* cells.h */
  long long evaluations;         /* remaining effort, in plans times their layers and parts */
  struct mafat_diagnostic *d; /* reason if the request's timer ended the search; NULL: not needed */
};

/* Makes the spec of a state. MAFAT_EINVAL: the schemes do not make a plan. */
int mafat_motes_spec(struct mafat_spec **out, const struct mafat_motes_meter *m,
                     const struct mafat_motes_state *state);

/* Predicts live bytes and milliseconds with the state's scheduling. `all`: tries the simple
 * schedulings, with and without in-place outputs, and keeps the one with the least bytes.
 * MAFAT_EINVAL, MAFAT_ELIMIT: invalid plan, or bytes not representable; MAFAT_ENOMEM. */
int mafat_motes_outline(struct mafat_motes_meter *m, struct mafat_motes_state *state, bool all);
/* Times an outlined state with the request's timer. MAFAT_ELIMIT: too little memory to run it;
 * MAFAT_ENOMEM; errors of the timer. */
int mafat_motes_time(struct mafat_motes_meter *m, struct mafat_motes_state *state);
/* Assigns offsets, so that gaps count, and predicts milliseconds. Tries simple schedulings, and
 * with best_order the best one; takes the least bytes among those within limit_ms or the state's
 * own time. MAFAT_ELIMIT: no valid plan. */
int mafat_motes_assign_offsets(struct mafat_motes_meter *m, struct mafat_motes_state *state,
                               double limit_ms, bool best_order);

/* Sets bottlenecks[operator] for tensors that live at the peak. */
int mafat_motes_bottlenecks(bool *bottlenecks, struct mafat_motes_meter *m,
                            const struct mafat_motes_state *state);

/* Maximum number of parts into which the scheme, and schemes along other axes, split one of its
 * layers. */
int mafat_motes_parts(const struct mafat_motes_state *state, const struct mafat_scheme *scheme);

#endif
