/* Finds which operators must run before which others, and counts live bytes along an order. Called
 * by the methods in transform/ (op_schedule.c, op_schedule_best.c, op_schedule_parallel.c) and by
 * predictor/schedule/parts_order.c. Allocates in the caller's heap. */
#include "transform/op_scheduler.h"

/* ---- lists ---- */

/* Begins n lists. The caller then counts list i's items in at[i + 1], calls open_lists, and adds
 * the items by `put`. */
static bool count_lists(struct mafat_lists *l, int n, struct mafat_heap *heap)
{
  l->at = mafat_heap_calloc(heap, (size_t)n + 2, sizeof *l->at);
  return l->at != NULL;
}

/* Allocates the items and replaces counts by positions: at[i + 1] becomes the start of list i. Each
 * `put` to list i raises it, so that it ends up as the end of list i. */
static bool open_lists(struct mafat_lists *l, int n, struct mafat_heap *heap)
{
  for (int i = 0; i < n; i++) l->at[i + 1] += l->at[i];
  l->items = mafat_heap_calloc(heap, (size_t)l->at[n] + 1, sizeof *l->items);
  for (int i = n; i > 0; i--) l->at[i] = l->at[i - 1];
  l->at[0] = 0;
  return l->items != NULL;
}

/* Adds an item to list i. */
static void put(struct mafat_lists *l, int i, int item)
{
  l->items[l->at[i + 1]++] = item;
}

static void close_lists(struct mafat_lists *l, struct mafat_heap *heap)
{
  mafat_heap_free(heap, l->at);
  mafat_heap_free(heap, l->items);
}

/* ---- opening ---- */

/* Receives an edge: `from` must run before `to`. */
typedef void (*note_edge)(struct mafat_op_scheduler *s, int from, int to);

static void count_edge(struct mafat_op_scheduler *s, int from, int to)
{
  s->after.at[from + 1]++;
  s->before.at[to + 1]++;
}

static void put_edge(struct mafat_op_scheduler *s, int from, int to)
{
  put(&s->after, from, to);
  put(&s->before, to, from);
}

/* Passes all edges to `note`. The makers of a buffer run in their order in the file, and its
 * readers after the last maker. */
static void for_edges(struct mafat_op_scheduler *s, const int *last_maker, int *maker,
                      note_edge note)
{
  for (int b = 0; b < s->graph->n_buffers; b++) maker[b] = -1;
  for (int u = 0; u < s->graph->n_uses; u++) {
    const struct mafat_op_use *use = &s->graph->uses[u];
    int from = use->makes ? maker[use->buffer] : last_maker[use->buffer];
    if (from >= 0 && from != use->operator) note(s, from, use->operator);
    if (use->makes) maker[use->buffer] = use->operator;
  }
}

/* Fills the scheduler's facts. False: out of memory. */
static bool note_facts(struct mafat_op_scheduler *s)
{
  const struct mafat_op_graph *g = s->graph;
  s->facts = mafat_heap_calloc(s->heap, (size_t)g->n_uses + 1, sizeof *s->facts);
  for (int i = 0; s->facts && i < g->n_uses; i++) {
    const struct mafat_op_use *use = &g->uses[s->uses.items[i]];
    s->facts[i] =
        (struct mafat_op_schedule_fact){g->bytes[use->buffer], (unsigned)use->buffer & 0x1fffffff,
                                        use->makes, use->gives,
                                        mafat_op_schedule_is_kept(s, use->buffer)};
  }
  return s->facts != NULL;
}

/* Fills the scheduler's lists of uses, predecessors and successors, and its facts. False: out of
 * memory. */
static bool link_operators(struct mafat_op_scheduler *s)
{
  const struct mafat_op_graph *g = s->graph;
  struct mafat_heap *heap = s->heap;
  int *last = mafat_heap_calloc(heap, 2 * (size_t)g->n_buffers + 1, sizeof *last),
      *maker = last + g->n_buffers;
  bool enough = last && count_lists(&s->uses, g->n_operators, heap) &&
                count_lists(&s->before, g->n_operators, heap) &&
                count_lists(&s->after, g->n_operators, heap);
  if (enough) {
    for (int b = 0; b < g->n_buffers; b++) last[b] = -1;
    for (int u = 0; u < g->n_uses; u++) {
      if (g->uses[u].makes) last[g->uses[u].buffer] = g->uses[u].operator;
      s->uses.at[g->uses[u].operator + 1]++;
    }
    for_edges(s, last, maker, count_edge);
    enough = open_lists(&s->uses, g->n_operators, heap) &&
             open_lists(&s->before, g->n_operators, heap) &&
             open_lists(&s->after, g->n_operators, heap);
  }
  for (int u = 0; enough && u < g->n_uses; u++) put(&s->uses, g->uses[u].operator, u);
  if (enough) for_edges(s, last, maker, put_edge);
  mafat_heap_free(heap, last);
  return enough && note_facts(s);
}

/* Counts the makers and readers of each buffer. False: out of memory. */
static bool count_uses(struct mafat_op_scheduler *s)
{
  const struct mafat_op_graph *g = s->graph;
  size_t n = (size_t)g->n_buffers + 1;
  s->n_makers = mafat_heap_calloc(s->heap, n, sizeof *s->n_makers);
  s->n_readers = mafat_heap_calloc(s->heap, n, sizeof *s->n_readers);
  s->makers_left = mafat_heap_calloc(s->heap, n, sizeof *s->makers_left);
  s->readers_left = mafat_heap_calloc(s->heap, n, sizeof *s->readers_left);
  s->missing = mafat_heap_calloc(s->heap, (size_t)g->n_operators + 1, sizeof *s->missing);
  if (!s->n_makers || !s->n_readers || !s->makers_left || !s->readers_left || !s->missing)
    return false;
  for (int u = 0; u < g->n_uses; u++)
    (g->uses[u].makes ? s->n_makers : s->n_readers)[g->uses[u].buffer]++;
  return true;
}

/* Returns how many of the `made` bytes of an operator's outputs take over memory of its inputs.
 * largest: size of the largest buffer freed by the step; given: size of the largest buffer freed
 * whose use has `gives`. */
static uint64_t placed_bytes(const struct mafat_op_graph *g, int operator, uint64_t made,
                             uint64_t largest, uint64_t given)
{
  if (g->in_place && g->in_place[operator] && largest >= made) return made;
  return given < made ? given : made;
}

/* Returns the fewest bytes that a step of the operator needs in any order: only the buffers it uses
 * are live, and it is the last reader of its inputs. */
static uint64_t least_of(const struct mafat_op_scheduler *s, int operator)
{
  const struct mafat_op_graph *g = s->graph;
  uint64_t made = 0, read = 0, largest = 0, given = 0;
  for (int i = s->uses.at[operator]; i < s->uses.at[operator + 1]; i++) {
    const struct mafat_op_use *use = &g->uses[s->uses.items[i]];
    uint64_t bytes = g->bytes[use->buffer];
    if (use->makes) made += bytes;
    else read += bytes;
    if (use->makes || mafat_op_schedule_is_kept(s, use->buffer)) continue;
    if (bytes > largest) largest = bytes;
    if (use->gives && bytes > given) given = bytes;
  }
  return made - placed_bytes(g, operator, made, largest, given) + read +
         (g->work ? g->work[operator] : 0);
}

static void find_bound(struct mafat_op_scheduler *s)
{
  mafat_walk_begin(s);
  s->bound = s->live;
  for (int o = 0; o < s->graph->n_operators; o++) {
    uint64_t least = least_of(s, o);
    if (least > s->bound) s->bound = least;
  }
}

int mafat_op_schedule_file(struct mafat_op_scheduler *s, int *order)
{
  int n = 0, all = s->graph->n_operators;
  mafat_walk_begin(s);
  for (int begin = -1; begin < n && n < all;) {
    begin = n;
    for (int o = 0; o < all; o++) {
      if (s->missing[o]) continue;
      mafat_walk_run(s, o);
      order[n++] = o;
    }
  }
  return n;
}

/* Returns MAFAT_EINVAL if the graph has a cycle. */
static int check_cycles(struct mafat_op_scheduler *s)
{
  int *order = mafat_heap_calloc(s->heap, (size_t)s->graph->n_operators + 1, sizeof *order);
  if (!order) return MAFAT_ENOMEM;
  int n = mafat_op_schedule_file(s, order);
  mafat_heap_free(s->heap, order);
  return n == s->graph->n_operators ? MAFAT_OK : MAFAT_EINVAL;
}

int mafat_op_scheduler_open(struct mafat_op_scheduler **out, const struct mafat_op_graph *graph,
                            struct mafat_heap *heap)
{
  struct mafat_op_scheduler *s = mafat_heap_calloc(heap, 1, sizeof *s);
  int code = s ? MAFAT_OK : MAFAT_ENOMEM;
  *out = NULL;
  if (s) {
    s->heap = heap;
    s->graph = graph;
    code = link_operators(s) && count_uses(s) ? check_cycles(s) : MAFAT_ENOMEM;
  }
  if (code == MAFAT_OK) find_bound(s);
  if (code) mafat_op_scheduler_close(&s);
  *out = s;
  return code;
}

void mafat_op_scheduler_close(struct mafat_op_scheduler **op_scheduler)
{
  if (!op_scheduler || !*op_scheduler) return;
  struct mafat_op_scheduler *s = *op_scheduler;
  struct mafat_heap *heap = s->heap;
  close_lists(&s->uses, heap);
  mafat_heap_free(heap, s->facts);
  close_lists(&s->before, heap);
  close_lists(&s->after, heap);
  mafat_heap_free(heap, s->n_makers);
  mafat_heap_free(heap, s->n_readers);
  mafat_heap_free(heap, s->makers_left);
  mafat_heap_free(heap, s->readers_left);
  mafat_heap_free(heap, s->missing);
  mafat_heap_free(heap, s);
  *op_scheduler = NULL;
}

/* ---- the walk ---- */

enum { HAS_RUN = -1 };

void mafat_walk_begin(struct mafat_op_scheduler *s)
{
  const struct mafat_op_graph *g = s->graph;
  s->live = 0;
  for (int b = 0; b < g->n_buffers; b++) {
    s->makers_left[b] = s->n_makers[b];
    s->readers_left[b] = s->n_readers[b];
    if (!s->n_makers[b] && (s->n_readers[b] || mafat_op_schedule_is_kept(s, b)))
      s->live += g->bytes[b];
  }
  for (int o = 0; o < g->n_operators; o++) s->missing[o] = s->before.at[o + 1] - s->before.at[o];
  s->peak = s->live;
}

struct mafat_op_schedule_step mafat_walk_look(const struct mafat_op_scheduler *s, int operator)
{
  const struct mafat_op_graph *g = s->graph;
  uint64_t made = 0, freed = 0, largest = 0, given = 0;
  for (int i = s->uses.at[operator]; i < s->uses.at[operator + 1]; i++) {
    const struct mafat_op_schedule_fact *use = &s->facts[i];
    unsigned b = use->buffer;
    if (use->makes && s->makers_left[b] == s->n_makers[b]) made += use->bytes;
    bool last = use->makes ? s->makers_left[b] == 1 && !s->n_readers[b] : s->readers_left[b] == 1;
    if (!last || use->kept) continue;
    freed += use->bytes;
    if (!use->makes && use->bytes > largest) largest = use->bytes;
    if (use->gives && use->bytes > given) given = use->bytes;
  }
  uint64_t placed = placed_bytes(g, operator, made, largest, given);
  return (struct mafat_op_schedule_step){.top = s->live + made - placed +
                                                (g->work ? g->work[operator] : 0),
                                                 .after = s->live + made - freed};
}

void mafat_walk_pass(struct mafat_op_scheduler *s, int operator)
{
  s->missing[operator] = HAS_RUN;
  for (int i = s->uses.at[operator]; i < s->uses.at[operator + 1]; i++)
    (s->facts[i].makes ? s->makers_left : s->readers_left)[s->facts[i].buffer]--;
  for (int i = s->after.at[operator]; i < s->after.at[operator + 1]; i++)
    s->missing[s->after.items[i]]--;
}

void mafat_walk_run(struct mafat_op_scheduler *s, int operator)
{
  struct mafat_op_schedule_step step = mafat_walk_look(s, operator);
  s->live = step.after;
  if (step.top > s->peak) s->peak = step.top;
  mafat_walk_pass(s, operator);
}

void mafat_walk_undo(struct mafat_op_scheduler *s, int operator)
{
  s->missing[operator] = 0;
  for (int i = s->uses.at[operator]; i < s->uses.at[operator + 1]; i++)
    (s->facts[i].makes ? s->makers_left : s->readers_left)[s->facts[i].buffer]++;
  for (int i = s->after.at[operator]; i < s->after.at[operator + 1]; i++)
    s->missing[s->after.items[i]]++;
}

uint64_t mafat_op_schedule_peak(struct mafat_op_scheduler *s, const int *order)
{
  mafat_walk_begin(s);
  for (int i = 0; i < s->graph->n_operators; i++) mafat_walk_run(s, order[i]);
  return s->peak;
}
