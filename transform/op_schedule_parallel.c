/* Minimizes the peak of series-parallel graphs (Liu 1987; Abdel-Wahab and Kameda 1978; Kayaaslan
 * and others 2018). The graph is divided into parts that run one after the other (in series) or do
 * not depend on each other (parallel). Each part is divided again, down to single operators. Parts
 * in series are sorted one by one. Parallel parts are sorted, then cut into segments ("hill-valley
 * segments"): in each, live bytes rise to a maximum and then fall to a minimum. The segments of all
 * parts are merged. A part that cannot be divided keeps its order. Called by
 * transform/op_schedule.c. Allocates in the scheduler's heap. */
#include "transform/op_scheduler.h"

#include "base/box.h"

#include <stdlib.h>
#include <string.h>

/* An operator and the bytes of its step. */
struct item {
  int operator;
  /* Bytes in memory during the step, and live bytes after it, minus the live bytes before it. */
  int64_t top, change;
};

/* Consecutive items whose live bytes rise to a maximum, the hill, and then fall to a minimum, the
 * valley. */
struct hill_segment {
  struct mafat_span at; /* positions of its items */
  int64_t drop;         /* bytes of the hill minus bytes of the valley */
};

struct parallel {
  struct mafat_op_scheduler *s;
  struct item *items;          /* [position in the order] */
  struct item *scratch;       /* scratch for merging, as long as `items` */
  struct hill_segment *segments;
  struct mafat_span *parts;    /* stack of the parts being divided, as positions */
  int *place;                  /* [operator]: its position in items */
  /* [position]: forest of a union-find. Positions with the same root are in the same part. A root
   * is the first position of its part. */
  int *union_of;
  uint64_t *ancestors;         /* [operator][n_words]: bit o is set if it depends on operator o */
  size_t n_words;
  bool divides;                /* no part was found that cannot be divided */
};

/* ---- merging ---- */

/* Reverses the items' order as if time ran backwards: what was allocated is freed, and vice
 * versa. */
static void reverse(struct item *items, int n)
{
  for (int i = 0; i < n; i++) {
    items[i].top -= items[i].change;
    items[i].change = -items[i].change;
  }
  for (int i = 0, j = n - 1; i < j; i++, j--) {
    struct item x = items[i];
    items[i] = items[j];
    items[j] = x;
  }
}

/* Returns the segment from `begin` up to the highest hill and down to the lowest valley after
 * it. */
static struct hill_segment next_segment(const struct item *items, int begin, int end)
{
  int64_t sum = 0, top = INT64_MIN, valley = 0;
  struct hill_segment found = {.at = {begin, end}};
  for (int i = begin; i < end; i++) {
    bool highest = sum + items[i].top >= top;
    if (highest) top = sum + items[i].top;
    sum += items[i].change;
    if (!highest && sum > valley) continue;
    valley = sum;
    found.at.end = i + 1;
  }
  found.drop = top - valley;
  return found;
}

/* For qsort: the largest drop first. Within a part no segment drops more than the one before it, so
 * the part's own order is kept. */
static int by_drop(const void *a, const void *b)
{
  const struct hill_segment *x = a, *y = b;
  if (x->drop != y->drop) return x->drop > y->drop ? -1 : 1;
  return x->at.begin - y->at.begin;
}

/* Merges parts into `out`. In each part, live bytes must never be fewer than at its start. Returns
 * the number of items. */
static int merge(struct parallel *p, const struct mafat_span *parts, int n, struct item *out)
{
  int n_segments = 0, n_out = 0;
  for (int i = 0; i < n; i++)
    for (int at = parts[i].begin; at < parts[i].end; at = p->segments[n_segments++].at.end)
      p->segments[n_segments] = next_segment(p->items, at, parts[i].end);
  qsort(p->segments, (size_t)n_segments, sizeof *p->segments, by_drop);
  for (int i = 0; i < n_segments; i++) {
    struct mafat_span at = p->segments[i].at;
    memcpy(out + n_out, p->items + at.begin, (size_t)mafat_span_size(at) * sizeof *out);
    n_out += mafat_span_size(at);
  }
  return n_out;
}

/* Returns the position before which the part's live bytes are fewest; the first of equals. */
static int lowest(const struct item *items, struct mafat_span part)
{
  int64_t sum = 0, least = 0;
  int at = part.begin;
  for (int i = part.begin; i < part.end; i++) {
    sum += items[i].change;
    if (sum >= least) continue;
    least = sum;
    at = i + 1;
  }
  return at;
}

/* Merges n parallel parts. Each is divided where its live bytes are fewest. The first halves are
 * merged backwards in time, where live bytes only rise above their start as `merge` needs; then the
 * second halves follow. parts: array of 2 n spans, of which the first n are filled. */
static void merge_parts(struct parallel *p, struct mafat_span all, struct mafat_span *parts, int n)
{
  struct mafat_span *falling = parts, *rising = parts + n;
  for (int i = 0; i < n; i++) {
    int at = lowest(p->items, parts[i]);
    rising[i] = mafat_span(at, parts[i].end);
    falling[i].end = at;
    reverse(p->items + falling[i].begin, mafat_span_size(falling[i]));
  }
  int n_falling = merge(p, falling, n, p->scratch);
  reverse(p->scratch, n_falling);
  merge(p, rising, n, p->scratch + n_falling);
  memcpy(p->items + all.begin, p->scratch, (size_t)mafat_span_size(all) * sizeof *p->items);
}

/* ---- dividing ---- */

/* True if operator `of` depends on `operator`, directly or indirectly. */
static bool is_ancestor(const struct parallel *p, int of, int operator)
{
  return p->ancestors[(size_t)of * p->n_words + (size_t)operator / 64] >> (operator % 64) & 1;
}

/* Returns the root of position i, and shortens the way to it. */
static int find(int *union_of, int i)
{
  while (union_of[i] != i) i = union_of[i] = union_of[union_of[i]];
  return i;
}

/* Unites the positions whose operators are connected within `all`. */
static void unite(struct parallel *p, struct mafat_span all)
{
  const struct mafat_lists *before = &p->s->before;
  for (int i = all.begin; i < all.end; i++) p->union_of[i] = i;
  for (int i = all.begin; i < all.end; i++) {
    int o = p->items[i].operator;
    for (int e = before->at[o]; e < before->at[o + 1]; e++) {
      int from = p->place[before->items[e]];
      if (from < all.begin || from >= all.end) continue;
      int x = find(p->union_of, from), y = find(p->union_of, i);
      p->union_of[x > y ? x : y] = x < y ? x : y;
    }
  }
}

/* Divides items[all] into parts that do not depend on each other, and moves the items of each part
 * together. Returns the number of parts. */
static int divide_into_parallel(struct parallel *p, struct mafat_span all, struct mafat_span *parts)
{
  int n = 0, at = all.begin;
  unite(p, all);
  memcpy(p->scratch, p->items + all.begin, (size_t)mafat_span_size(all) * sizeof *p->scratch);
  for (int first = all.begin; first < all.end; first++) {
    if (find(p->union_of, first) != first) continue;
    parts[n].begin = at;
    for (int i = first; i < all.end; i++)
      if (find(p->union_of, i) == first) p->items[at++] = p->scratch[i - all.begin];
    parts[n++].end = at;
  }
  for (int i = all.begin; i < all.end; i++) p->place[p->items[i].operator] = i;
  return n;
}

/* Divides items[all] into parts in series: each operator of a part depends on all operators of the
 * part before. Returns the number of parts. */
static int divide_into_series(struct parallel *p, struct mafat_span all, struct mafat_span *parts)
{
  /* At first, the operator at `position` depends on all operators of `all` before position
   * waits[position]. Later, waits[position] is 1 if a part begins there, else 0. */
  int n = 0, least = all.end, *waits = p->union_of;
  for (int i = all.begin; i < all.end; i++) {
    waits[i] = all.begin;
    while (waits[i] < i && is_ancestor(p, p->items[i].operator, p->items[waits[i]].operator))
      waits[i]++;
  }
  for (int i = all.end - 1; i >= all.begin; i--) {
    if (waits[i] < least) least = waits[i];
    waits[i] = least >= i;
  }
  for (int i = all.begin; i < all.end; i++) {
    if (!waits[i]) continue;
    if (n) parts[n - 1].end = i;
    parts[n++] = mafat_span(i, all.end);
  }
  return n;
}

/* Sorts items[all]. parts: the first unused place on the stack. */
static void sort_span(struct parallel *p, struct mafat_span all, struct mafat_span *parts)
{
  if (mafat_span_size(all) < 2) return;
  int n = divide_into_parallel(p, all, parts);
  bool parallel_parts = n > 1;
  if (!parallel_parts) n = divide_into_series(p, all, parts);
  if (n < 2) {
    p->divides = false;
    return;
  }
  for (int i = 0; i < n; i++) sort_span(p, parts[i], parts + n);
  if (parallel_parts) merge_parts(p, all, parts, n);
}

/* ---- entry point ---- */

/* Fills the ancestors of all operators. */
static void find_ancestors(struct parallel *p)
{
  const struct mafat_lists *before = &p->s->before;
  for (int i = 0; i < p->s->graph->n_operators; i++) {
    int o = p->items[i].operator;
    uint64_t *own = p->ancestors + (size_t)o * p->n_words;
    for (int e = before->at[o]; e < before->at[o + 1]; e++) {
      const uint64_t *other = p->ancestors + (size_t)before->items[e] * p->n_words;
      for (size_t w = 0; w < p->n_words; w++) own[w] |= other[w];
      own[before->items[e] / 64] |= (uint64_t)1 << (before->items[e] % 64);
    }
  }
}

/* Fills the items with the bytes of each step. If each buffer has one reader, these bytes are the
 * same in any order. A buffer with several readers counts as freed by the one that is last in this
 * order. */
static void measure_steps(struct parallel *p, const int *order)
{
  mafat_walk_begin(p->s);
  for (int i = 0; i < p->s->graph->n_operators; i++) {
    struct mafat_op_schedule_step step = mafat_walk_look(p->s, order[i]);
    int64_t live = (int64_t)p->s->live;
    p->items[i] = (struct item){order[i], (int64_t)step.top - live, (int64_t)step.after - live};
    p->place[order[i]] = i;
    mafat_walk_run(p->s, order[i]);
  }
}

static bool has_one_reader_each(const struct mafat_op_scheduler *s)
{
  for (int b = 0; b < s->graph->n_buffers; b++)
    if (s->n_readers[b] > 1) return false;
  return true;
}

int mafat_op_schedule_parallel(struct mafat_op_scheduler *s, int *order, bool *least)
{
  size_t n = (size_t)s->graph->n_operators;
  struct parallel p = {.s = s, .n_words = n / 64 + 1, .divides = true};
  p.items = mafat_heap_calloc(s->heap, 2 * n + 1, sizeof *p.items);
  p.segments = mafat_heap_calloc(s->heap, n + 1, sizeof *p.segments);
  p.parts = mafat_heap_calloc(s->heap, 3 * n + 2, sizeof *p.parts);
  p.place = mafat_heap_calloc(s->heap, 2 * n + 1, sizeof *p.place);
  p.ancestors = mafat_heap_calloc(s->heap, n * p.n_words + 1, sizeof *p.ancestors);
  bool enough = p.items && p.segments && p.parts && p.place && p.ancestors;
  if (enough) {
    p.scratch = p.items + n;
    p.union_of = p.place + n;
    measure_steps(&p, order);
    find_ancestors(&p);
    sort_span(&p, mafat_span(0, (int)n), p.parts);
    for (size_t i = 0; i < n; i++) order[i] = p.items[i].operator;
    *least = p.divides && has_one_reader_each(s);
  }
  mafat_heap_free(s->heap, p.items);
  mafat_heap_free(s->heap, p.segments);
  mafat_heap_free(s->heap, p.parts);
  mafat_heap_free(s->heap, p.place);
  mafat_heap_free(s->heap, p.ancestors);
  return enough ? MAFAT_OK : MAFAT_ENOMEM;
}
