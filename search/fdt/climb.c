/* Assigns offsets to buffers by hill climbing, as TVM does (placing.h). Called by
 * search/fdt/placing.c. Temporary memory is in the caller's heap. */
#include "search/fdt/placing.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum {
  MOST_ATTEMPTS = 500,
  MOST_EVALUATIONS = 1 << 22 /* greatest n * n * attempts, for n buffers */
};

/* Initial temperature of simulated annealing. At first, a layout that is larger than the one before
 * by this share is accepted with probability 1/e. */
static const double warmth = .05;

struct allocation_climb {
  struct mafat_allocation *extents;
  /* (n) buffers that have an offset in the current layout, sorted by ascending offset */
  const struct mafat_allocation **placed;
  int *order;                         /* (n) indices of extents in the order of placing them */
  size_t *best;                       /* [extent]: offset in the best layout so far */
  int n;
  size_t total, best_total, bound; /* bytes of the current and of the best layout; lower bound */
  uint64_t random;
};

static bool live_together(const struct mafat_allocation *a, const struct mafat_allocation *b)
{
  return a->first <= b->last && b->first <= a->last;
}

/* A pseudorandom number from 0 to n - 1 (xorshift). The sequence is the same in every run. */
static int any_below(struct allocation_climb *c, int n)
{
  c->random ^= c->random << 13;
  c->random ^= c->random >> 7;
  c->random ^= c->random << 17;
  return (int)(c->random % (uint64_t)n);
}

/* Lower bound of the layout's bytes: the greatest sum of the bytes of buffers that are in use at
 * one time. It is enough to look at times at which the lifetime of a buffer begins. */
static size_t find_bound(const struct allocation_climb *c)
{
  size_t most = 0;
  for (int i = 0; i < c->n; i++) {
    size_t sum = 0;
    for (int k = 0; k < c->n; k++)
      if (c->extents[k].first <= c->extents[i].first && c->extents[i].first <= c->extents[k].last)
        sum += c->extents[k].end - c->extents[k].begin;
    if (sum > most) most = sum;
  }
  return most;
}

/* Gives buffer e the lowest free offset, and inserts it into c->placed. */
static void place_one(struct allocation_climb *c, int n_placed, struct mafat_allocation *e)
{
  size_t size = e->end - e->begin, at = 0;
  for (int i = 0; i < n_placed; i++) {
    const struct mafat_allocation *p = c->placed[i];
    if (!live_together(p, e)) continue;
    if (p->begin >= at + size) break;
    if (p->end > at) at = p->end;
  }
  e->begin = at;
  e->end = at + size;
  int to = n_placed;
  for (; to > 0 && c->placed[to - 1]->begin > at; to--) c->placed[to] = c->placed[to - 1];
  c->placed[to] = e;
}

/* Places all buffers in c->order, and notes the layout if it is the best so far. */
static void place_all(struct allocation_climb *c)
{
  c->total = 0;
  for (int i = 0; i < c->n; i++) {
    struct mafat_allocation *e = &c->extents[c->order[i]];
    place_one(c, i, e);
    if (e->end > c->total) c->total = e->end;
  }
  if (c->total >= c->best_total) return;
  c->best_total = c->total;
  for (int i = 0; i < c->n; i++) c->best[i] = c->extents[i].begin;
}

static void swap(struct allocation_climb *c, int a, int b)
{
  int order = c->order[a];
  c->order[a] = c->order[b];
  c->order[b] = order;
}

/* Chooses two random positions in c->order: *a of a buffer that ends at the end of the layout, *b
 * of a buffer that is in use at the same time. They can be equal. */
static void choose_two(struct allocation_climb *c, int *a, int *b)
{
  for (*a = any_below(c, c->n); c->extents[c->order[*a]].end != c->total; *a = (*a + 1) % c->n) {}
  const struct mafat_allocation *high = &c->extents[c->order[*a]];
  for (*b = any_below(c, c->n); !live_together(high, &c->extents[c->order[*b]]);
       *b = (*b + 1) % c->n) {}
}

static void climb(struct allocation_climb *c)
{
  int attempts = MOST_EVALUATIONS / c->n / c->n;
  if (attempts > MOST_ATTEMPTS) attempts = MOST_ATTEMPTS;
  for (int i = 0, a, b; i < attempts && c->best_total > c->bound; i++) {
    size_t before = c->total;
    choose_two(c, &a, &b);
    swap(c, a, b);
    place_all(c);
    double worse = c->total > before ? (double)(c->total - before) : 0,
           heat = warmth * (double)before * (attempts - i) / attempts;
    if (worse <= 0 || any_below(c, 1 << 20) < exp(-worse / heat) * (1 << 20)) continue;
    swap(c, a, b);
    place_all(c);
  }
}

/* Sorts c->order by descending size, then by ascending index. */
static void sort(struct allocation_climb *c)
{
  for (int i = 0; i < c->n; i++) {
    size_t size = c->extents[i].end - c->extents[i].begin;
    int to = i;
    for (; to > 0 && c->extents[c->order[to - 1]].end - c->extents[c->order[to - 1]].begin < size;
         to--)
      c->order[to] = c->order[to - 1];
    c->order[to] = i;
  }
}

int mafat_allocations_climb(size_t *total, struct mafat_allocation *extents, int n,
                            struct mafat_heap *heap)
{
  struct allocation_climb c = {
      .extents = extents, .n = n, .best_total = SIZE_MAX, .random = 88172645463325252};
  *total = 0;
  for (int i = 0; i < n; i++)
    if (extents[i].end > *total) *total = extents[i].end;
  if (n <= 0 || n > MAFAT_MOST_CLIMBED) return MAFAT_OK;
  c.placed = mafat_heap_calloc(heap, (size_t)n, sizeof *c.placed);
  c.order = mafat_heap_calloc(heap, (size_t)n, sizeof *c.order);
  c.best = mafat_heap_calloc(heap, (size_t)n, sizeof *c.best);
  bool enough = c.placed && c.order && c.best;
  if (enough) {
    c.bound = find_bound(&c);
    sort(&c);
    place_all(&c);
    climb(&c);
    *total = c.best_total;
    for (int i = 0; i < n; i++) {
      extents[i].end += c.best[i] - extents[i].begin;
      extents[i].begin = c.best[i];
    }
  }
  mafat_heap_free(heap, c.placed);
  mafat_heap_free(heap, c.order);
  mafat_heap_free(heap, c.best);
  return enough ? MAFAT_OK : MAFAT_ENOMEM;
}
