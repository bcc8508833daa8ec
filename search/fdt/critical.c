/* Moves buffers to lower offsets, and finds the critical buffers: those that decide how large a
 * layout is (critical.h). Called by search/fdt (placing.c, fdt.c). Temporary memory is in the
 * caller's heap. */
#include "search/fdt/critical.h"

#include "base/error.h"

#include <stdlib.h>

static int by_begin(const void *a, const void *b)
{
  const struct mafat_allocation *x = *(const struct mafat_allocation *const *)a,
                                *y = *(const struct mafat_allocation *const *)b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  return x < y ? -1 : x > y;
}

static int by_end(const void *a, const void *b)
{
  const struct mafat_allocation *x = *(const struct mafat_allocation *const *)a,
                                *y = *(const struct mafat_allocation *const *)b;
  if (x->end != y->end) return x->end < y->end ? -1 : 1;
  return x < y ? -1 : x > y;
}

static int by_size(const void *a, const void *b)
{
  const struct mafat_allocation *x = *(const struct mafat_allocation *const *)a,
                                *y = *(const struct mafat_allocation *const *)b;
  size_t m = x->end - x->begin, n = y->end - y->begin;
  if (m != n) return m > n ? -1 : 1;
  return x < y ? -1 : x > y;
}

/* ---- moving down ---- */

/* Moves e down until it touches one of the n buffers `below` that is in use at the same time as e,
 * or offset 0. */
static void fall(struct mafat_allocation *e, const struct mafat_allocation *const *below, int n)
{
  size_t size = e->end - e->begin, at = 0;
  for (int i = 0; i < n; i++)
    if (below[i]->first <= e->last && e->first <= below[i]->last && below[i]->end > at)
      at = below[i]->end;
  if (at < e->begin) e->begin = at;
  e->end = e->begin + size;
}

int mafat_allocations_settle(size_t *total, struct mafat_allocation *extents, int n,
                             struct mafat_heap *heap)
{
  bool falls = n > 0 && n <= MAFAT_MOST_SETTLED;
  struct mafat_allocation **order =
      falls ? mafat_heap_calloc(heap, (size_t)n, sizeof *order) : NULL;
  if (falls && !order) return MAFAT_ENOMEM;
  for (int i = 0; falls && i < n; i++) order[i] = &extents[i];
  if (falls) qsort(order, (size_t)n, sizeof *order, by_begin);
  for (int i = 0; falls && i < n; i++)
    fall(order[i], (const struct mafat_allocation *const *)order, i);
  *total = 0;
  for (int i = 0; i < n; i++)
    if (extents[i].end > *total) *total = extents[i].end;
  mafat_heap_free(heap, order);
  return MAFAT_OK;
}

/* ---- chains ---- */

struct chains {
  /* extents: the n buffers; begins, ends: pointers to them, sorted by ascending begin and by
   * ascending end. Zero-sized buffers are in no chain. */
  const struct mafat_allocation *extents, **begins, **ends;
  /* [extent]: true if buffers that touch each other lead from this buffer up to the end of the
   * layout (above), or from it down to offset 0 (below). A chain does both. */
  bool *above, *below;
  int n;
};

/* Fills `above`, from the buffer with the highest end to that with the lowest. Buffers that begin
 * where this one ends have higher ends, so their `above` is already known. */
static void find_above(struct chains *c, size_t total)
{
  size_t at = total;
  bool reached = true;
  for (int i = c->n - 1, k = c->n - 1; i >= 0; i--) {
    const struct mafat_allocation *e = c->ends[i];
    if (e->end != at) reached = false;
    for (at = e->end; k >= 0 && c->begins[k]->begin >= at; k--)
      if (c->begins[k]->begin == at && c->above[c->begins[k] - c->extents]) reached = true;
    c->above[e - c->extents] = reached && e->end > e->begin;
  }
}

/* Fills `below`, from the buffer with the lowest begin to that with the highest. */
static void find_below(struct chains *c)
{
  size_t at = 0;
  bool reached = true;
  for (int i = 0, k = 0; i < c->n; i++) {
    const struct mafat_allocation *e = c->begins[i];
    if (e->begin != at) reached = false;
    for (at = e->begin; k < c->n && c->ends[k]->end <= at; k++)
      if (c->ends[k]->end == at && c->below[c->ends[k] - c->extents]) reached = true;
    c->below[e - c->extents] = reached && e->end > e->begin;
  }
}

/* For the narrow rule (MAFAT_CRITICAL_ALONE): keeps only buffers that all chains contain. A chain
 * without some buffer has another buffer at the same offsets, so a buffer is removed if its range
 * of offsets overlaps with that of another buffer of a chain. */
static void keep_lonely(struct chains *c)
{
  size_t highest = 0;
  int n = 0;
  for (int i = 0; i < c->n; i++)
    if (c->above[c->begins[i] - c->extents] && c->below[c->begins[i] - c->extents])
      c->begins[n++] = c->begins[i];
  for (int i = 0; i < n; i++) {
    const struct mafat_allocation *e = c->begins[i];
    bool beside = e->begin < highest || (i + 1 < n && c->begins[i + 1]->begin < e->end);
    if (e->end > highest) highest = e->end;
    if (beside) c->above[e - c->extents] = false;
  }
}

static void collect(struct chains *c, int *critical, int *n_critical)
{
  int n = 0;
  for (int i = 0; i < c->n; i++)
    if (c->above[i] && c->below[i]) c->ends[n++] = &c->extents[i];
  if (n > 0) qsort(c->ends, (size_t)n, sizeof *c->ends, by_size);
  for (int i = 0; i < n; i++) critical[i] = (int)(c->ends[i] - c->extents);
  *n_critical = n;
}

int mafat_critical_find(int *critical, int *n_critical, const struct mafat_allocation *extents,
                        int n, size_t total, enum mafat_critical_rule rule, struct mafat_heap *heap)
{
  struct chains c = {.extents = extents, .n = n};
  *n_critical = 0;
  if (n <= 0) return MAFAT_OK;
  c.begins = mafat_heap_calloc(heap, 2 * (size_t)n, sizeof *c.begins);
  c.above = mafat_heap_calloc(heap, 2 * (size_t)n, sizeof *c.above);
  if (c.begins && c.above) {
    c.ends = c.begins + n;
    c.below = c.above + n;
    for (int i = 0; i < n; i++) c.begins[i] = c.ends[i] = &extents[i];
    qsort(c.begins, (size_t)n, sizeof *c.begins, by_begin);
    qsort(c.ends, (size_t)n, sizeof *c.ends, by_end);
    find_above(&c, total);
    find_below(&c);
    if (rule == MAFAT_CRITICAL_ALONE) keep_lonely(&c);
    collect(&c, critical, n_critical);
  }
  int code = c.begins && c.above ? MAFAT_OK : MAFAT_ENOMEM;
  mafat_heap_free(heap, c.begins);
  mafat_heap_free(heap, c.above);
  return code;
}
