/* A state of the search "motes": a set of partition schemes, from which a plan is made. Functions
 * predict or measure this plan. Included by search/motes/motes.c and search/motes/seen.h. Allocates
 * from request->options->heap. Runs plans if the request has a timer. */
#ifndef MAFAT_SEARCH_MOTES_STATE_H
#define MAFAT_SEARCH_MOTES_STATE_H

#include "search/motes/apply.h"
#include "search/common/request.h"

struct mafat_motes_state {
  struct mafat_scheme schemes[MAFAT_MOST_SCHEMES]; /* (n) their lists of layers are not owned */
  int n;
  enum mafat_op_order op_order;
  bool in_place, apart; /* apart: see mafat_schemes_apply */
  size_t bytes; /* greatest live bytes; if offsets are assigned, bytes of the arena */
  /* tie-break for states with the same bytes: the more layers are near the peak, the greater it is;
   * less is better */
  double tie_break;
  double ms; /* predicted or measured time of the plan */
};

/* Context of the functions that measure states. */
struct mafat_motes_meter {
  const struct mafat_search_request *request;
  struct mafat_heap *heap; /* request->options->heap */
  const int *cell_of;      /* [layer]: as in struct mafat_cells (cells.h) */
  long long evaluations;         /* remaining effort, in layers (common/effort.h) */
  struct mafat_diagnostic *d; /* gets the message if the request's timer fails */
};

/* Makes the spec of a state; the caller closes it. Returns as mafat_schemes_apply does. */
int mafat_motes_spec(struct mafat_spec **out, const struct mafat_motes_meter *m,
                     const struct mafat_motes_state *state);

/* Predicts the state's live bytes and milliseconds, with its order of layers (op_order). If `all`,
 * also tries the simple orders of layers, with and without in-place outputs, and sets the state to
 * the variant with the fewest bytes. Returns MAFAT_OK, MAFAT_ENOMEM, MAFAT_EINVAL (the plan is
 * invalid) or MAFAT_ELIMIT (its bytes overflow). */
int mafat_motes_outline(struct mafat_motes_meter *m, struct mafat_motes_state *state, bool all);
/* Sets the milliseconds of a predicted state: runs its plan with the request's timer. Returns
 * MAFAT_OK, MAFAT_ENOMEM, MAFAT_ELIMIT (there is not enough memory to run it) or an error of the
 * timer. */
int mafat_motes_time(struct mafat_motes_meter *m, struct mafat_motes_state *state);
/* Makes a layout with offsets, and sets state->bytes to the bytes of its arena, and the
 * milliseconds, which are measured if the request has a timer. Tries the simple orders of layers
 * and, if best_order, the best one. Chooses the variant with the fewest bytes among those that are
 * within limit_ms or no slower than a variant before. Returns MAFAT_OK, MAFAT_ENOMEM, MAFAT_ELIMIT
 * (no variant is valid) or an error of the timer. */
int mafat_motes_assign_offsets(struct mafat_motes_meter *m, struct mafat_motes_state *state,
                               double limit_ms, bool best_order);

/* Sets bottlenecks[tensor] for all tensors: true if the tensor is in use at a time with the most
 * live bytes. Returns as mafat_motes_outline does. */
int mafat_motes_bottlenecks(bool *bottlenecks, struct mafat_motes_meter *m,
                            const struct mafat_motes_state *state);

/* Greatest number of parts into which a layer of the scheme is split by this scheme and by the
 * state's schemes along other axes together. */
int mafat_motes_parts(const struct mafat_motes_state *state, const struct mafat_scheme *scheme);

#endif
