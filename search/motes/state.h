/* A state of MOTES' search: a set of partition schemes, as a plan, and what that needs. */
#ifndef MAFAT_SEARCH_MOTES_STATE_H
#define MAFAT_SEARCH_MOTES_STATE_H

#include "search/motes/apply.h"
#include "search/common/request.h"

struct mafat_motes_state {
  struct mafat_scheme schemes[MAFAT_MOST_SCHEMES]; /* (n); their layers are others' */
  int n;
  enum mafat_sorting sorting;
  bool in_place, apart; /* apart: schemes that read each other are groups of their own */
  size_t bytes; /* that live at a time; the arena's once it is arranged */
  double crowd; /* of states with the same bytes: the more steps are nearly as full, the more */
  double ms;
};

/* How states are measured. */
struct mafat_motes_meter {
  const struct mafat_search_request *request;
  struct mafat_heap *heap; /* the options' */
  const int *cell_of;      /* cells.h */
  long long looks;         /* plans times their layers and parts, left */
  struct mafat_diagnostic *d; /* why the request's timer ended the search; NULL: nobody asks */
};

/* MAFAT_EINVAL: the schemes are no plan. */
int mafat_motes_spec(struct mafat_spec **out, const struct mafat_motes_meter *m, const struct mafat_motes_state *state);

/* Live bytes and predicted milliseconds in the state's order; `all`: in the simple one that needs least, which is found, with outputs in place
 * or without.
 * MAFAT_EINVAL, MAFAT_ELIMIT: it is no plan, or none whose bytes can be counted; MAFAT_ENOMEM. */
int mafat_motes_outline(struct mafat_motes_meter *m, struct mafat_motes_state *state, bool all);
/* Milliseconds of a state that has been outlined, by the request's timer. MAFAT_ELIMIT: there is no room to run it in; MAFAT_ENOMEM; what
 * else the timer says. */
int mafat_motes_time(struct mafat_motes_meter *m, struct mafat_motes_state *state);
/* The arena's bytes, which has holes, and milliseconds: in a simple order, or the best there is, whichever needs least of those that
 * take no longer than the limit, or than the state. MAFAT_ELIMIT: none is a plan. */
int mafat_motes_assign_offsets(struct mafat_motes_meter *m, struct mafat_motes_state *state, double limit_ms, bool best_order);

/* Sets bottlenecks[operator] of tensors that live when most does. */
int mafat_motes_bottlenecks(bool *bottlenecks, struct mafat_motes_meter *m, const struct mafat_motes_state *state);

/* The scheme and those of other axes: into how many parts they cut a layer of it, at most. */
int mafat_motes_parts(const struct mafat_motes_state *state, const struct mafat_scheme *scheme);

#endif
