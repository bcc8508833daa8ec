/* Searches for the order with the smallest peak, by dynamic programming over the sets of operators
 * that have run. For each set, only the order with the smallest peak is kept. Sets are processed
 * from the smallest to the largest. Of the sets with the same number of operators, only the most
 * promising ones are kept. If none had to be dropped, the order found is proven to be minimal.
 * Otherwise the search is repeated with more sets, until the effort is spent. Called by
 * transform/op_schedule.c. Allocates sets in the scheduler's heap.
 *
 * An operator is *free* if it raises neither the peak nor the live bytes. A chain of operators is
 * free if it does not raise the peak and ends with at most as many live bytes as it began with.
 * Free operators run as soon as they can, without trying other orders. This never loses the best
 * order: live bytes are a submodular function of the set, so all later steps have at most as many
 * live bytes as without them. */
#include "transform/op_scheduler.h"

#include <stdlib.h>
#include <string.h>

enum {
  /* sets kept of each size in the first search; factor by which each repetition keeps more */
  FIRST_WIDTH = 8, WIDER = 4,
  /* bytes of all sets; few, because planning counts against the budget */
  MOST_SET_BYTES = 1 << 20,
  MOST_TRACES = 1 << 16
};

/* A set of operators that have run, and the best known order of them. */
struct order_state {
  uint64_t hash;       /* hash of the set */
  uint64_t peak, live; /* most bytes of a step so far; live bytes now */
  int set;             /* index of the set */
  int trace;           /* index of the trace's last entry; -1: only free operators have run */
};

/* The sets of one size. */
struct search_level {
  struct order_state *list;
  int n, capacity;
};

/* An entry of a trace, which records how a set was reached: the previous entry (-1: none), and the
 * operator that ran next. The free operators that ran after it are not recorded. */
struct trace {
  int from, operator;
};

struct order_search {
  struct mafat_op_scheduler *s;
  int n_operators;
  int width;            /* sets kept of each size */
  long long effort;     /* remaining evaluations of steps */
  bool all;             /* no set was dropped since the repetition began */
  int code;             /* MAFAT_ENOMEM if out of memory; a set beyond a limit is only dropped */
  uint64_t best;        /* peak of the best known order */
  int *order;           /* best known order */
  struct search_level *levels; /* [size of set] */
  uint64_t *sets;       /* [set][n_words]: bit o is set if operator o has run */
  int n_words, n_sets, sets_capacity;
  int *spare, n_spare;  /* indices of sets that are unused again */
  struct trace *traces;
  int n_traces, traces_capacity;
  int *ran, n_ran;      /* operators run since the set being expanded, in order */
  int *ready, n_ready;  /* operators that have not run, but whose predecessors all have */
  int *path;            /* scratch: operators of a trace, from last to first */
  int *first;           /* scratch: ready operators of the set being expanded */
};

/* ---- free operators ---- */

/* Runs an operator whose step was already evaluated, and adds the operators that become ready. */
static void run(struct order_search *s, int operator, struct mafat_op_schedule_step step)
{
  struct mafat_op_scheduler *op_scheduler = s->s;
  mafat_walk_pass(op_scheduler, operator);
  op_scheduler->live = step.after;
  s->ran[s->n_ran++] = operator;
  for (int i = op_scheduler->after.at[operator]; i < op_scheduler->after.at[operator + 1]; i++)
    if (op_scheduler->missing[op_scheduler->after.items[i]] == 0)
      s->ready[s->n_ready++] = op_scheduler->after.items[i];
}

/* Undoes the last operator. live: the live bytes before it. */
static void undo(struct order_search *s, uint64_t live)
{
  mafat_walk_undo(s->s, s->ran[--s->n_ran]);
  s->s->live = live;
}

/* Returns an operator that became ready when `operator` ran, or -1. */
static int next_of(const struct mafat_op_scheduler *s, int operator)
{
  for (int i = s->after.at[operator]; i < s->after.at[operator + 1]; i++)
    if (s->missing[s->after.items[i]] == 0) return s->after.items[i];
  return -1;
}

/* Runs the chain of operators that begins with `operator`, if it is free: until live bytes are no
 * more than at its start, without exceeding the peak. Returns false if the chain is not free; then
 * nothing has run. */
static bool run_free_chain(struct order_search *s, int operator, uint64_t peak)
{
  uint64_t live = s->s->live;
  int n_ran = s->n_ran, n_ready = s->n_ready;
  for (int o = operator; o >= 0; o = next_of(s->s, o)) {
    s->effort--;
    struct mafat_op_schedule_step step = mafat_walk_look(s->s, o);
    if (step.top > peak) break;
    run(s, o, step);
    if (s->s->live <= live) return true;
  }
  while (s->n_ran > n_ran) undo(s, live);
  s->n_ready = n_ready;
  return false;
}

/* Removes from `ready` the operators that have run. */
static void remove_run_from_ready(struct order_search *s)
{
  int n = 0;
  for (int i = 0; i < s->n_ready; i++)
    if (s->s->missing[s->ready[i]] == 0) s->ready[n++] = s->ready[i];
  s->n_ready = n;
}

/* Runs free operators until there are none. */
static void run_free_operators(struct order_search *s, uint64_t peak)
{
  for (int i = 0; i < s->n_ready; i++)
    if (s->s->missing[s->ready[i]] == 0 && run_free_chain(s, s->ready[i], peak)) {
      remove_run_from_ready(s);
      i = -1;
    }
}

/* Finds all ready operators. */
static void find_ready(struct order_search *s)
{
  s->n_ready = 0;
  for (int o = 0; o < s->n_operators; o++)
    if (s->s->missing[o] == 0) s->ready[s->n_ready++] = o;
}

/* Runs an operator, then all free ones. peak: most bytes of a step so far. Returns the new peak. */
static uint64_t advance(struct order_search *s, int operator, uint64_t peak)
{
  struct mafat_op_schedule_step step = mafat_walk_look(s->s, operator);
  if (step.top > peak) peak = step.top;
  run(s, operator, step);
  remove_run_from_ready(s);
  run_free_operators(s, peak);
  return peak;
}

/* ---- sets ---- */

static uint64_t *set_of(const struct order_search *s, int set)
{
  return s->sets + (size_t)set * (size_t)s->n_words;
}

static uint64_t hash_of(const uint64_t *set, int n_words)
{
  uint64_t h = 0;
  for (int i = 0; i < n_words; i++) h = ((h ^ set[i]) * 0x9E3779B97F4A7C15u) ^ (h >> 29);
  return h;
}

/* Allocates more room for sets. False: MOST_SET_BYTES are reached, or out of memory. */
static bool grow_sets(struct order_search *s)
{
  int capacity = s->sets_capacity ? 2 * s->sets_capacity : 64;
  struct mafat_heap *heap = s->s->heap;
  size_t set_bytes = (size_t)s->n_words * sizeof *s->sets;
  if ((size_t)capacity * set_bytes > MOST_SET_BYTES) return false;
  uint64_t *sets = mafat_heap_realloc(heap, s->sets, (size_t)capacity * set_bytes);
  if (sets) s->sets = sets;
  int *spare = sets ? mafat_heap_realloc(heap, s->spare, (size_t)capacity * sizeof *spare) : NULL;
  if (spare) s->spare = spare;
  if (spare) s->sets_capacity = capacity;
  else s->code = MAFAT_ENOMEM;
  return spare != NULL;
}

/* Returns the index of an unused set, or -1 if there is no room. */
static int allocate_set(struct order_search *s)
{
  if (s->n_spare) return s->spare[--s->n_spare];
  return s->n_sets < s->sets_capacity || grow_sets(s) ? s->n_sets++ : -1;
}

/* Marks a set as unused. */
static void free_set(struct order_search *s, int set)
{
  s->spare[s->n_spare++] = set;
}

/* Puts the walk into the state in which exactly the set's operators have run. */
static void enter(struct order_search *s, const struct order_state *state)
{
  const uint64_t *set = set_of(s, state->set);
  mafat_walk_begin(s->s);
  for (int o = 0; o < s->n_operators; o++)
    if (set[o / 64] >> (o % 64) & 1) mafat_walk_pass(s->s, o);
  s->s->live = state->live;
  s->n_ran = 0;
}

/* ---- levels ---- */

/* For qsort: puts equal sets side by side, the one with the smallest peak first. */
static int by_set(const void *a, const void *b)
{
  const struct order_state *x = a, *y = b;
  if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
  if (x->peak != y->peak) return x->peak < y->peak ? -1 : 1;
  return x->trace - y->trace;
}

/* For qsort: the most promising set first, that is with the smallest peak, then the fewest live
 * bytes. */
static int by_promise(const void *a, const void *b)
{
  const struct order_state *x = a, *y = b;
  if (x->peak != y->peak) return x->peak < y->peak ? -1 : 1;
  if (x->live != y->live) return x->live < y->live ? -1 : 1;
  return x->trace - y->trace;
}

static bool is_same(const struct order_search *s, const struct order_state *x,
                    const struct order_state *y)
{
  size_t bytes = (size_t)s->n_words * sizeof(uint64_t);
  return x->hash == y->hash && memcmp(set_of(s, x->set), set_of(s, y->set), bytes) == 0;
}

/* Drops duplicate sets, sets that cannot lead to a better order than the best known, and all but
 * the `width` most promising ones. */
static void reduce(struct order_search *s, struct search_level *l)
{
  int n = 0;
  if (l->n == 0) return; /* the list may be NULL */
  qsort(l->list, (size_t)l->n, sizeof *l->list, by_set);
  for (int i = 0; i < l->n; i++) {
    bool gone = l->list[i].peak >= s->best || (n && is_same(s, &l->list[n - 1], &l->list[i]));
    if (gone) free_set(s, l->list[i].set);
    else l->list[n++] = l->list[i];
  }
  qsort(l->list, (size_t)n, sizeof *l->list, by_promise);
  if (n > s->width) s->all = false;
  for (; n > s->width; n--) free_set(s, l->list[n - 1].set);
  l->n = n;
}

/* Makes room for one more set in a level. */
static int make_room(struct order_search *s, struct search_level *l)
{
  if (l->n < l->capacity) return MAFAT_OK;
  if (l->n >= 2 * s->width) reduce(s, l);
  if (l->n < l->capacity) return MAFAT_OK;
  int capacity = l->capacity ? 2 * l->capacity : 8;
  struct order_state *grown =
      mafat_heap_realloc(s->s->heap, l->list, (size_t)capacity * sizeof *grown);
  if (!grown) return MAFAT_ENOMEM;
  l->list = grown;
  l->capacity = capacity;
  return MAFAT_OK;
}

/* Adds an entry to the traces. Returns its index, or -1 if there is no room. */
static int note_trace(struct order_search *s, int from, int operator)
{
  if (s->n_traces == s->traces_capacity) {
    int capacity = s->traces_capacity ? 2 * s->traces_capacity : 1024;
    if (capacity > MOST_TRACES) return -1;
    struct trace *grown =
        mafat_heap_realloc(s->s->heap, s->traces, (size_t)capacity * sizeof *grown);
    if (!grown) s->code = MAFAT_ENOMEM;
    if (!grown) return -1;
    s->traces = grown;
    s->traces_capacity = capacity;
  }
  s->traces[s->n_traces] = (struct trace){from, operator};
  return s->n_traces++;
}

/* ---- searching ---- */

/* Makes the complete order recorded by a trace the best known one. It is walked again to find the
 * free operators between the recorded ones. */
static void keep_order(struct order_search *s, int trace)
{
  int n = 0, *path = s->path;
  for (int t = trace; t >= 0; t = s->traces[t].from) path[n++] = s->traces[t].operator;
  mafat_walk_begin(s->s);
  s->n_ran = 0;
  uint64_t peak = s->s->bound;
  find_ready(s);
  run_free_operators(s, peak);
  while (n > 0) {
    find_ready(s);
    peak = advance(s, path[--n], peak);
  }
  memcpy(s->order, s->ran, (size_t)s->n_operators * sizeof *s->order);
  s->best = peak;
}

/* Adds the set of operators that the walk has run to its level, or keeps the order if all operators
 * have run. from: the set being expanded, of n_run operators; operator: the operator that ran
 * next. */
static int note_state(struct order_search *s, const struct order_state *from, int n_run,
                      int operator, uint64_t peak)
{
  int trace = note_trace(s, from->trace, operator);
  if (trace >= 0 && n_run + s->n_ran == s->n_operators) {
    keep_order(s, trace);
    return MAFAT_OK;
  }
  struct search_level *l = &s->levels[n_run + s->n_ran];
  int code = make_room(s, l), set = trace < 0 ? -1 : allocate_set(s);
  if (set < 0) s->all = false;
  if (code || set < 0) return code ? code : s->code;
  uint64_t *bits = set_of(s, set);
  memcpy(bits, set_of(s, from->set), (size_t)s->n_words * sizeof *bits);
  for (int i = 0; i < s->n_ran; i++) bits[s->ran[i] / 64] |= (uint64_t)1 << (s->ran[i] % 64);
  l->list[l->n++] = (struct order_state){hash_of(bits, s->n_words), peak, s->s->live, set, trace};
  return MAFAT_OK;
}

/* Adds all sets that are reached from a set of n_run operators by running one more operator and
 * then the free operators. */
static int expand(struct order_search *s, const struct order_state *state, int n_run)
{
  int code = MAFAT_OK, n_first;
  enter(s, state);
  find_ready(s);
  n_first = s->n_ready;
  memcpy(s->first, s->ready, (size_t)n_first * sizeof *s->first);
  s->effort -= n_run;
  for (int i = 0; i < n_first && code == MAFAT_OK && state->peak < s->best; i++) {
    int o = s->first[i];
    s->effort--;
    if (mafat_walk_look(s->s, o).top >= s->best) continue;
    s->n_ready = n_first;
    memcpy(s->ready, s->first, (size_t)n_first * sizeof *s->first);
    uint64_t peak = advance(s, o, state->peak);
    uint64_t best = s->best;
    code = note_state(s, state, n_run, o, peak);
    if (s->best != best) { /* keep_order has moved the walk */
      enter(s, state);
      continue;
    }
    while (s->n_ran) undo(s, state->live);
  }
  return code;
}

/* Adds the first set, of the operators that are free at the start. */
static int begin(struct order_search *s)
{
  struct order_state first = {.trace = -1, .peak = s->s->bound, .set = allocate_set(s)};
  mafat_walk_begin(s->s);
  s->n_ran = s->n_traces = 0;
  find_ready(s);
  run_free_operators(s, s->s->bound);
  memset(set_of(s, first.set), 0, (size_t)s->n_words * sizeof(uint64_t));
  for (int i = 0; i < s->n_ran; i++)
    set_of(s, first.set)[s->ran[i] / 64] |= (uint64_t)1 << (s->ran[i] % 64);
  first.live = s->s->live;
  /* All operators are free, so the order has the smallest peak possible. */
  if (s->n_ran == s->n_operators) {
    keep_order(s, first.trace);
    return MAFAT_OK;
  }
  struct search_level *l = &s->levels[s->n_ran];
  int code = make_room(s, l);
  if (code == MAFAT_OK) l->list[l->n++] = first;
  return code;
}

/* Searches once, with at most `width` sets of each size. */
static int search_once(struct order_search *s)
{
  s->n_sets = s->n_spare = 0;
  s->all = true;
  int code = begin(s);
  for (int n = 0; n < s->n_operators && code == MAFAT_OK; n++) {
    struct search_level *l = &s->levels[n];
    reduce(s, l);
    for (int i = 0; i < l->n && code == MAFAT_OK; i++) {
      if (s->effort > 0) code = expand(s, &l->list[i], n);
      else s->all = false;
      free_set(s, l->list[i].set);
    }
    mafat_heap_free(s->s->heap, l->list);
    *l = (struct search_level){0};
  }
  return code;
}

static bool open_search(struct order_search *s)
{
  size_t n = (size_t)s->n_operators;
  struct mafat_heap *heap = s->s->heap;
  s->levels = mafat_heap_calloc(heap, n + 1, sizeof *s->levels);
  s->ran = mafat_heap_calloc(heap, 3 * n + 1, sizeof *s->ran);
  s->ready = mafat_heap_calloc(heap, 2 * n + 1, sizeof *s->ready);
  s->path = s->ran + n;
  s->first = s->path + n;
  return s->levels && s->ran && s->ready && grow_sets(s);
}

static void close_search(struct order_search *s)
{
  struct mafat_heap *heap = s->s->heap;
  for (int i = 0; s->levels && i <= s->n_operators; i++) mafat_heap_free(heap, s->levels[i].list);
  mafat_heap_free(heap, s->levels);
  mafat_heap_free(heap, s->sets);
  mafat_heap_free(heap, s->spare);
  mafat_heap_free(heap, s->ran);
  mafat_heap_free(heap, s->ready);
  mafat_heap_free(heap, s->traces);
}

int mafat_op_schedule_improve(struct mafat_op_scheduler *op_scheduler, long long effort, int *order,
                              struct mafat_op_schedule_result *sorted)
{
  struct order_search s = {.s = op_scheduler,
                           .n_operators = op_scheduler->graph->n_operators,
                           .effort = effort,
                           .order = order,
                           .best = sorted->peak,
                           .width = FIRST_WIDTH};
  s.n_words = s.n_operators / 64 + 1;
  int code = open_search(&s) ? MAFAT_OK : MAFAT_ENOMEM;
  /* Each set needs an entry of the traces, so more than MOST_TRACES sets could not be kept. */
  for (; code == MAFAT_OK && !sorted->least && s.effort > 0 && s.width < WIDER * MOST_TRACES;
       s.width *= WIDER) {
    code = search_once(&s);
    sorted->least = s.all || s.best == op_scheduler->bound;
  }
  sorted->peak = s.best;
  close_search(&s);
  return code;
}
