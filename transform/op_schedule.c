/* Finds an execution order of operators by one of five methods. The simple methods are here; "sp"
 * is in transform/op_schedule_parallel.c, the search of "best" in op_schedule_best.c. Called by
 * predictor/schedule/parts_order.c, transform/op_schedule_memo.c and, for the names of methods,
 * predictor/plan/spec.c and predictor/planning/lay.c. Allocates in the scheduler's heap. */
#include "transform/op_schedule.h"

/* ---- post-orders ---- */

/* A depth-first walk over a graph. */
struct descent {
  const struct mafat_lists *edges;
  int *next;         /* [operator]: index of its next edge to follow; -1: not visited yet */
  int *path;         /* operators from the start to the current one */
  int *done, n_done; /* operators whose edges have all been followed, in that order */
};

/* Visits all operators reachable from `from` that were not visited yet. */
static void descend(struct descent *d, int from)
{
  int n = 0;
  if (d->next[from] >= 0) return;
  d->path[n++] = from;
  d->next[from] = d->edges->at[from];
  while (n > 0) {
    int o = d->path[n - 1];
    if (d->next[o] == d->edges->at[o + 1]) {
      d->done[d->n_done++] = o;
      n--;
      continue;
    }
    int to = d->edges->items[d->next[o]++];
    if (d->next[to] >= 0) continue;
    d->next[to] = d->edges->at[to];
    d->path[n++] = to;
  }
}

static bool is_end(const struct mafat_lists *edges, int o)
{
  return edges->at[o] == edges->at[o + 1];
}

/* Walks over `edges` from each operator that has no edges in `ends`. In `order`, an operator comes
 * after all operators that can be reached from it over `edges`. */
static int sort_postorder(struct mafat_op_scheduler *s, const struct mafat_lists *edges,
                          const struct mafat_lists *ends, int *order)
{
  int n = s->graph->n_operators;
  struct descent d = {.edges = edges, .done = order};
  d.next = mafat_heap_calloc(s->heap, 2 * (size_t)n + 1, sizeof *d.next);
  if (!d.next) return MAFAT_ENOMEM;
  d.path = d.next + n;
  for (int o = 0; o < n; o++) d.next[o] = -1;
  for (int o = 0; o < n; o++)
    if (is_end(ends, o)) descend(&d, o);
  mafat_heap_free(s->heap, d.next);
  return MAFAT_OK;
}

/* Walks from the inputs to the readers, and reverses the order found. */
static int sort_forward(struct mafat_op_scheduler *s, int *order)
{
  int code = sort_postorder(s, &s->after, &s->before, order), n = s->graph->n_operators;
  for (int i = 0, j = n - 1; i < j; i++, j--) {
    int o = order[i];
    order[i] = order[j];
    order[j] = o;
  }
  return code;
}

/* ---- all methods ---- */

/* Orders operators by one of the methods other than MAFAT_OP_ORDER_BEST. */
static int sort_simply(struct mafat_op_scheduler *s, enum mafat_op_order how, int *order,
                       struct mafat_op_schedule_result *sorted)
{
  int code = MAFAT_OK;
  sorted->least = false;
  switch (how) {
  case MAFAT_OP_ORDER_POSTORDER: code = sort_postorder(s, &s->before, &s->after, order); break;
  case MAFAT_OP_ORDER_FORWARD: code = sort_forward(s, order); break;
  case MAFAT_OP_ORDER_SP:
    code = sort_postorder(s, &s->before, &s->after, order);
    if (code == MAFAT_OK) code = mafat_op_schedule_parallel(s, order, &sorted->least);
    break;
  default: mafat_op_schedule_file(s, order);
  }
  if (code == MAFAT_OK) sorted->peak = mafat_op_schedule_peak(s, order);
  sorted->least = sorted->least || sorted->peak == s->bound;
  return code;
}

/* Starts with the best order that the other methods find. Unless its peak is proven minimal,
 * searches for a better order. */
static int sort_best(struct mafat_op_scheduler *s, long long effort, int *order,
                     struct mafat_op_schedule_result *sorted)
{
  int n = s->graph->n_operators;
  int *other = mafat_heap_calloc(s->heap, (size_t)n + 1, sizeof *other);
  int code = other ? sort_simply(s, MAFAT_OP_ORDER_FILE, order, sorted) : MAFAT_ENOMEM;
  for (int how = MAFAT_OP_ORDER_POSTORDER;
       how < MAFAT_OP_ORDER_BEST && code == MAFAT_OK && !sorted->least; how++) {
    struct mafat_op_schedule_result found;
    code = sort_simply(s, (enum mafat_op_order)how, other, &found);
    if (code || (found.peak >= sorted->peak && !found.least)) continue;
    for (int i = 0; i < n && found.peak < sorted->peak; i++) order[i] = other[i];
    *sorted = found;
  }
  mafat_heap_free(s->heap, other);
  return code || sorted->least ? code : mafat_op_schedule_improve(s, effort, order, sorted);
}

int mafat_op_schedule(struct mafat_op_scheduler *s, enum mafat_op_order how, long long effort,
                      int *order, struct mafat_op_schedule_result *sorted)
{
  if (how == MAFAT_OP_ORDER_BEST) return sort_best(s, effort, order, sorted);
  return sort_simply(s, how, order, sorted);
}

const char *mafat_op_order_name(enum mafat_op_order how)
{
  static const char *const names[MAFAT_N_SORTINGS] = {"file", "postorder", "forward", "sp", "best"};
  return names[how];
}
