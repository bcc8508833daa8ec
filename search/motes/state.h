/* A state of the search "motes": a set of partition schemes, from which a plan is made, and
 * functions that predict or measure this plan. Included by search/motes/motes.c and
 * search/motes/seen.h. Allocates in request->options->heap. Runs plans if the request has a timer.
 * */
#ifndef MAFAT_SEARCH_MOTES_STATE_H
#define MAFAT_SEARCH_MOTES_STATE_H

#include "search/motes/apply.h"
#include "search/common/request.h"

struct mafat_motes_state {
  struct mafat_scheme schemes[MAFAT_MOST_SCHEMES]; /* (n) their lists of layers are not owned */
  int n;
  enum mafat_op_order op_order;
  bool in_place, apart; /* apart: see mafat_schemes_apply */
  size_t bytes; /* peak of live bytes; bytes of the arena once offsets are assigned */
  /* tie-break for states with the same bytes, less is better: grows with the number of layers near
   * the peak */
  double tie_break;
  double ms;
};

/* Context of the functions that measure states. */
struct mafat_motes_meter {
  const struct mafat_search_request *request;
  struct mafat_heap *heap; /* request->options->heap */
  const int *cell_of;      /* [layer] see cells.h */
  long long evaluations;         /* remaining effort: sum of the layers and parts of all plans */
  struct mafat_diagnostic *d; /* receives the message if the request's timer fails */
};

/* Makes the spec of a state; the caller closes it. Returns errors as mafat_schemes_apply. */
int mafat_motes_spec(struct mafat_spec **out, const struct mafat_motes_meter *m,
                     const struct mafat_motes_state *state);

/* Predicts the state's live bytes and milliseconds, with its op_order. If `all`, also tries the
 * simple orders of layers, with and without in-place outputs, and sets the state to the one with
 * the fewest bytes. Returns MAFAT_OK, MAFAT_ENOMEM, MAFAT_EINVAL (invalid plan) or MAFAT_ELIMIT
 * (its bytes overflow). */
int mafat_motes_outline(struct mafat_motes_meter *m, struct mafat_motes_state *state, bool all);
/* Sets the milliseconds of a predicted state by running it with the request's timer. Returns
 * MAFAT_OK, MAFAT_ENOMEM, MAFAT_ELIMIT (memory is too short to run it) or an error of the timer. */
int mafat_motes_time(struct mafat_motes_meter *m, struct mafat_motes_state *state);
/* Sets bytes to those of the arena, with offsets assigned, and the milliseconds, which are measured
 * if the request has a timer. Tries the simple orders of layers, and with best_order the best one.
 * Chooses the fewest bytes among the variants that are within limit_ms or no slower than the state
 * itself. Returns MAFAT_ELIMIT if no variant is valid. */
int mafat_motes_assign_offsets(struct mafat_motes_meter *m, struct mafat_motes_state *state,
                               double limit_ms, bool best_order);

/* Sets bottlenecks[tensor] to true for the tensors that live when the most bytes do. */
int mafat_motes_bottlenecks(bool *bottlenecks, struct mafat_motes_meter *m,
                            const struct mafat_motes_state *state);

/* Largest number of parts into which a layer of the scheme is split, by this scheme and by those
 * along other axes. */
int mafat_motes_parts(const struct mafat_motes_state *state, const struct mafat_scheme *scheme);

#endif
