/* What is placed has an outline: a height at each time. Its lowest valley is filled next: with the block that matters most
 * of those whose lives lie within the valley; where there is none, the valley is filled up to its lower shore, and what is
 * below is lost. Which blocks matter is learnt: what ends up above the bound matters more the next time. */
#include "predictor/place/valleys.h"

#include "base/blocks.h"
#include "base/error.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static const double MORE = 1.3; /* times, that a block matters which ended above the bound */

/* A stretch of time above which nothing is placed yet. Times are counted in those at which blocks begin. */
struct valley {
  int begin, end;
  size_t height;
};

/* A block, by its rank among those that live. */
struct life {
  int begin, end; /* in such times, too */
  int block;
  size_t bytes;
};

/* Of a tree over the blocks by rank: of those below a node that are not placed. */
struct node {
  double weight; /* the most that one has; negative: there is none */
  int end;       /* the earliest end of a life */
};

struct filler {
  struct life *lives;     /* (n): by their begins */
  int n;
  int *firsts;            /* [time] and one more: the first rank that begins then */
  int n_times;
  int n_leaves;           /* a power of two */
  struct node *nodes;     /* (2 * n_leaves); node 1 is the root */
  struct valley *valleys; /* (n_valleys): in time */
  int n_valleys;
  double *learnt;         /* [rank]: by how many times the block matters more than its shape says */
  size_t *offsets;        /* [rank] */
  size_t *best;           /*   of the smallest arena */
  size_t bound, total;    /* the smallest so far */
};

/* ---- which block ---- */

static void join(struct node *nodes, int i)
{
  const struct node *a = &nodes[2 * i], *b = &nodes[2 * i + 1];
  nodes[i].weight = a->weight > b->weight ? a->weight : b->weight;
  nodes[i].end = mafat_min(a->end, b->end);
}

static void take(struct filler *f, int rank)
{
  int i = f->n_leaves + rank;
  for (f->nodes[i] = (struct node){-1, INT_MAX}; i > 1;) join(f->nodes, i /= 2);
}

/* What is looked for below a node: ranks from `begin` to `end`, lives that are over by `over`. */
struct want {
  int begin, end, over;
  int found; /* a leaf; 0: none yet */
  double weight;
};

/* The node has the leaves of `width` ranks from `first` on. */
static void look(const struct node *nodes, int i, int first, int width, struct want *w)
{
  if (first >= w->end || first + width <= w->begin || nodes[i].end > w->over || nodes[i].weight <= w->weight) return;
  if (width == 1) {
    w->found = i;
    w->weight = nodes[i].weight;
    return;
  }
  int half = width / 2;
  bool right = nodes[2 * i + 1].weight > nodes[2 * i].weight;
  look(nodes, 2 * i + right, first + right * half, half, w);
  look(nodes, 2 * i + !right, first + !right * half, half, w);
}

/* The rank of the block that is put into the valley; -1: none fits. */
static int choose(const struct filler *f, const struct valley *v)
{
  struct want w = {f->firsts[v->begin], f->firsts[v->end], v->end, 0, -1};
  look(f->nodes, 1, 0, f->n_leaves, &w);
  return w.found ? w.found - f->n_leaves : -1;
}

/* ---- valleys ---- */

static int lowest(const struct filler *f)
{
  int low = 0;
  for (int i = 1; i < f->n_valleys; i++)
    if (f->valleys[i].height < f->valleys[low].height) low = i;
  return low;
}

/* In place of some valleys so many. */
static void replace(struct filler *f, int at, int n_old, const struct valley *valleys, int n)
{
  memmove(f->valleys + at + n, f->valleys + at + n_old, (size_t)(f->n_valleys - at - n_old) * sizeof *f->valleys);
  memcpy(f->valleys + at, valleys, (size_t)n * sizeof *f->valleys);
  f->n_valleys += n - n_old;
}

/* Up to the lower one of its shores, which it joins. */
static void fill(struct filler *f, int at)
{
  size_t left = at > 0 ? f->valleys[at - 1].height : SIZE_MAX, right = at + 1 < f->n_valleys ? f->valleys[at + 1].height : SIZE_MAX;
  int first = at - (left <= right), last = at + (right <= left);
  struct valley v = {f->valleys[first].begin, f->valleys[last].end, left < right ? left : right};
  replace(f, first, last - first + 1, &v, 1);
}

/* Puts a block into the valley, whose floor it becomes. Returns what is left of the valley, which is as low; -1: nothing is. */
static int put(struct filler *f, int at, const struct life *b)
{
  struct valley v = f->valleys[at], parts[3];
  int n = 0;
  if (b->begin > v.begin) parts[n++] = (struct valley){v.begin, b->begin, v.height};
  parts[n++] = (struct valley){b->begin, b->end, v.height + b->bytes};
  if (b->end < v.end) parts[n++] = (struct valley){b->end, v.end, v.height};
  replace(f, at, 1, parts, n);
  return b->begin > v.begin ? at : b->end < v.end ? at + 1 : -1;
}

/* Places all; returns the arena. */
static size_t pile(struct filler *f)
{
  size_t total = 0;
  f->valleys[0] = (struct valley){0, f->n_times, 0};
  f->n_valleys = 1;
  for (int left = f->n, at = 0; left > 0;) {
    if (at < 0) at = lowest(f);
    int rank = choose(f, &f->valleys[at]);
    if (rank < 0) {
      fill(f, at);
      at = -1;
      continue;
    }
    const struct life *b = &f->lives[rank];
    f->offsets[rank] = f->valleys[at].height;
    if (f->offsets[rank] + b->bytes > total) total = f->offsets[rank] + b->bytes;
    at = put(f, at, b);
    take(f, rank);
    left--;
  }
  return total;
}

/* ---- how much blocks matter ---- */

enum shape { LONG, HEAVY, LARGE, N_SHAPES };

static double weight_of(const struct life *b, enum shape shape)
{
  double life = b->end - b->begin;
  return shape == LARGE ? (double)b->bytes : shape == HEAVY ? life * (double)b->bytes : life;
}

static void plant(struct filler *f, enum shape shape)
{
  for (int i = 0; i < f->n_leaves; i++) {
    struct node *leaf = &f->nodes[f->n_leaves + i];
    *leaf = (struct node){-1, INT_MAX};
    if (i < f->n) *leaf = (struct node){weight_of(&f->lives[i], shape) * f->learnt[i], f->lives[i].end};
  }
  for (int i = f->n_leaves - 1; i > 0; i--) join(f->nodes, i);
}

static void try_shape(struct filler *f, enum shape shape, int tries)
{
  for (int i = 0; i < f->n; i++) f->learnt[i] = 1;
  for (int t = 0; t < tries && f->total > f->bound; t++) {
    plant(f, shape);
    size_t total = pile(f);
    if (total < f->total) {
      f->total = total;
      memcpy(f->best, f->offsets, (size_t)f->n * sizeof *f->best);
    }
    for (int i = 0; i < f->n; i++)
      if (f->offsets[i] + f->lives[i].bytes > f->bound) f->learnt[i] *= MORE;
  }
}

/* ---- lives ---- */

/* Those that live, by the times at which they begin: counted, and put at their ranks. False: out of memory. */
static bool find_lives(struct filler *f, const struct mafat_block *blocks, int n, struct mafat_heap *heap)
{
  int last = 0;
  for (int i = 0; i < n; i++)
    if (blocks[i].first <= blocks[i].last && blocks[i].last > last) last = blocks[i].last;
  int *begins = mafat_heap_calloc(heap, (size_t)last + 2, sizeof *begins); /* [time]: before it, times at which blocks begin */
  if (!begins) return false;
  for (int i = 0; i < n; i++)
    if (blocks[i].first <= blocks[i].last) begins[blocks[i].first + 1] = 1;
  for (int time = 0; time <= last; time++) begins[time + 1] += begins[time];
  f->n_times = begins[last + 1];
  for (int i = 0; i < n; i++)
    if (blocks[i].first <= blocks[i].last) f->firsts[begins[blocks[i].first] + 1]++;
  for (int t = 0; t < f->n_times; t++) f->firsts[t + 1] += f->firsts[t];
  for (int i = 0; i < n; i++) {
    const struct mafat_block *b = &blocks[i];
    if (b->first > b->last) continue;
    int begin = begins[b->first];
    f->lives[f->firsts[begin]++] = (struct life){begin, begins[b->last + 1], i, b->bytes};
    f->n++;
  }
  for (int t = f->n_times; t > 0; t--) f->firsts[t] = f->firsts[t - 1];
  f->firsts[0] = 0;
  mafat_heap_free(heap, begins);
  return true;
}

int mafat_arrange_valleys(struct mafat_block *blocks, int n, size_t bound, size_t *total, long placements,
                          struct mafat_heap *heap)
{
  struct filler f = {.n_leaves = 1, .bound = bound, .total = *total};
  while (f.n_leaves < n) f.n_leaves *= 2;
  f.lives = mafat_heap_calloc(heap, (size_t)n, sizeof *f.lives);
  f.firsts = mafat_heap_calloc(heap, (size_t)n + 2, sizeof *f.firsts);
  f.nodes = mafat_heap_calloc(heap, 2 * (size_t)f.n_leaves, sizeof *f.nodes);
  f.valleys = mafat_heap_calloc(heap, 2 * (size_t)n + 2, sizeof *f.valleys);
  f.learnt = mafat_heap_calloc(heap, (size_t)n, sizeof *f.learnt);
  f.offsets = mafat_heap_calloc(heap, (size_t)n, sizeof *f.offsets);
  f.best = mafat_heap_calloc(heap, (size_t)n, sizeof *f.best);
  bool enough = f.lives && f.firsts && f.nodes && f.valleys && f.learnt && f.offsets && f.best && find_lives(&f, blocks, n, heap);
  if (enough) {
    int tries = (int)(placements / (f.n + 1)) / N_SHAPES + 1;
    for (int s = 0; s < N_SHAPES && f.total > bound; s++) try_shape(&f, (enum shape)s, tries);
    for (int i = 0; i < f.n && f.total < *total; i++) blocks[f.lives[i].block].offset = f.best[i];
    *total = f.total;
  }
  mafat_heap_free(heap, f.lives);
  mafat_heap_free(heap, f.firsts);
  mafat_heap_free(heap, f.nodes);
  mafat_heap_free(heap, f.valleys);
  mafat_heap_free(heap, f.learnt);
  mafat_heap_free(heap, f.offsets);
  mafat_heap_free(heap, f.best);
  return enough ? MAFAT_OK : MAFAT_ENOMEM;
}
