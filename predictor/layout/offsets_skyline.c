/* Places many blocks from the bottom up. Called by offsets.c. Allocates from the given heap, and
 * frees all of it.
 *
 * Placed blocks form a skyline: a height (offset) at each time. The lowest segment is filled next,
 * with the block of largest weight whose life is within the segment. If no block fits, the segment
 * is raised to the height of its lower neighbor, and the space below is lost. Weights are learned
 * over several rounds: a block that ends above the bound gets a larger weight in the next round. */
#include "predictor/layout/offsets_skyline.h"

#include "base/blocks.h"
#include "base/error.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { MANY = 512 }; /* number of blocks from which rounds are stopped early */

static const double MORE = 1.3; /* factor on the weight of a block that ended above the bound */

/* A stretch of time in which the skyline has one height, indexed by its first time. In this file,
 * times are numbered anew: only times at which a block begins count. */
struct skyline_segment {
  int end, before; /* end: also the begin of the next segment; before: begin of the previous one,
                      -1: none */
  size_t height;
  bool exists;
};

/* Candidate for the lowest segment; stale if the segment has changed since. */
struct low {
  size_t height;
  int begin;
};

/* A block that lives at some time. Its rank is its index in order of first times. */
struct life {
  int begin, end; /* first time, and the time after the last */
  int block;      /* index in the caller's list */
  size_t bytes;
};

/* Node of a binary tree whose leaves are the ranks. Summarizes the unplaced blocks below it. */
struct node {
  double weight; /* largest weight of these blocks; negative: there are none */
  int end;       /* earliest end of these blocks' lives */
};

struct filler {
  struct life *lives;     /* (n) by first time */
  int n;
  int *firsts;            /* [time], (n_times + 1): first rank that begins then or later */
  int n_times;
  int n_leaves;           /* power of two */
  struct node *nodes;     /* (2 * n_leaves); node 1 is the root */
  struct skyline_segment *segments; /* [time] (n_times) */
  struct low *lows;       /* (n_lows) heap of all segments but the one being filled */
  int n_lows;
  double *learnt;         /* [rank]: learned factor on the block's initial weight */
  size_t *offsets;        /* [rank]: offsets of this round */
  size_t *best;           /* [rank]: offsets of the smallest arena */
  size_t bound, total;    /* total: size of the smallest arena so far */
  long left;              /* placements left */
};

/* ---- choice of a block ---- */

/* Updates a node from its two children. */
static void join(struct node *nodes, int i)
{
  const struct node *a = &nodes[2 * i], *b = &nodes[2 * i + 1];
  nodes[i].weight = a->weight > b->weight ? a->weight : b->weight;
  nodes[i].end = mafat_min(a->end, b->end);
}

/* Removes a placed block from the tree. */
static void take(struct filler *f, int rank)
{
  int i = f->n_leaves + rank;
  for (f->nodes[i] = (struct node){-1, INT_MAX}; i > 1;) join(f->nodes, i /= 2);
}

/* Search for the unplaced block of largest weight among ranks [begin, end) whose life ends at or
 * before time `over`. */
struct block_want {
  int begin, end, over;
  int found; /* leaf of the best block so far; 0: none yet */
  double weight; /* weight of that block */
};

/* Searches node i, which covers `width` ranks from `first` on. */
static void look(const struct node *nodes, int i, int first, int width, struct block_want *w)
{
  if (first >= w->end || first + width <= w->begin || nodes[i].end > w->over ||
      nodes[i].weight <= w->weight)
    return;
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

/* Rank of the block to place in the segment [begin, end); -1: none fits. */
static int choose(const struct filler *f, int begin, int end)
{
  struct block_want w = {f->firsts[begin], f->firsts[end], end, 0, -1};
  look(f->nodes, 1, 0, f->n_leaves, &w);
  return w.found ? w.found - f->n_leaves : -1;
}

/* ---- segments ---- */

static bool is_lower(const struct low *a, const struct low *b)
{
  return a->height != b->height ? a->height < b->height : a->begin < b->begin;
}

/* Adds a segment to the heap. */
static void offer(struct filler *f, int begin)
{
  struct low low = {f->segments[begin].height, begin};
  int i = ++f->n_lows;
  for (; i > 1 && is_lower(&low, &f->lows[i / 2]); i /= 2) f->lows[i] = f->lows[i / 2];
  f->lows[i] = low;
}

/* Removes the lowest candidate from the heap. */
static struct low take_low(struct filler *f)
{
  struct low top = f->lows[1], last = f->lows[f->n_lows--];
  int i = 1;
  for (int child; (child = 2 * i) <= f->n_lows; i = child) {
    if (child < f->n_lows && is_lower(&f->lows[child + 1], &f->lows[child])) child++;
    if (!is_lower(&f->lows[child], &last)) break;
    f->lows[i] = f->lows[child];
  }
  f->lows[i] = last;
  return top;
}

/* Removes the lowest segment from the heap, and returns its first time. */
static int lowest(struct filler *f)
{
  for (;;) {
    struct low low = take_low(f);
    const struct skyline_segment *v = &f->segments[low.begin];
    if (v->exists && v->height == low.height) return low.begin;
  }
}

/* Sets the segment that begins at `begin`, and links the next one to it. */
static void dig(struct filler *f, int begin, struct skyline_segment v)
{
  f->segments[begin] = v;
  if (v.end < f->n_times) f->segments[v.end].before = begin;
}

/* Raises a segment to its lower neighbour and merges them. The space below stays empty. */
static void fill(struct filler *f, int at)
{
  struct skyline_segment v = f->segments[at];
  const struct skyline_segment *left = v.before >= 0 ? &f->segments[v.before] : NULL,
                               *right = v.end < f->n_times ? &f->segments[v.end] : NULL;
  size_t to_left = left ? left->height : SIZE_MAX, to_right = right ? right->height : SIZE_MAX;
  int begin = at, end = v.end;
  if (to_right <= to_left) {
    f->segments[v.end].exists = false;
    end = right->end;
  }
  if (to_left <= to_right) {
    f->segments[at].exists = false;
    begin = v.before;
    dig(f, begin, (struct skyline_segment){end, left->before, to_left, true});
    return;
  }
  dig(f, begin, (struct skyline_segment){end, v.before, to_right, true});
  offer(f, begin);
}

/* Places a block on the segment. Returns a remaining segment of the same height, which is not in
 * the heap; -1: none. */
static int put(struct filler *f, int at, const struct life *b)
{
  struct skyline_segment v = f->segments[at];
  int before = b->begin > at ? at : v.before;
  if (b->begin > at) dig(f, at, (struct skyline_segment){b->begin, v.before, v.height, true});
  if (b->end < v.end) dig(f, b->end, (struct skyline_segment){v.end, b->begin, v.height, true});
  dig(f, b->begin, (struct skyline_segment){b->end, before, v.height + b->bytes, true});
  offer(f, b->begin);
  if (b->begin == at) return b->end < v.end ? b->end : -1;
  if (b->end < v.end) offer(f, b->end);
  return at;
}

/* One round: places all blocks and returns the arena's size. With many blocks it stops once the
 * arena is not smaller than the best. Then only the weights of placed blocks are learned, but more
 * rounds fit in the same time. */
static size_t pile(struct filler *f)
{
  size_t total = 0;
  memset(f->offsets, 0, (size_t)f->n * sizeof *f->offsets);
  memset(f->segments, 0, (size_t)f->n_times * sizeof *f->segments);
  dig(f, 0, (struct skyline_segment){f->n_times, -1, 0, true});
  f->n_lows = 0;
  offer(f, 0);
  for (int left = f->n, at = -1; left > 0 && (total < f->total || f->n < MANY);) {
    if (at < 0) at = lowest(f);
    int rank = choose(f, at, f->segments[at].end);
    if (rank < 0) {
      fill(f, at);
      at = -1;
      continue;
    }
    const struct life *b = &f->lives[rank];
    f->offsets[rank] = f->segments[at].height;
    if (f->offsets[rank] + b->bytes > total) total = f->offsets[rank] + b->bytes;
    at = put(f, at, b);
    take(f, rank);
    left--;
    f->left--;
  }
  return total;
}

/* ---- weights of blocks ---- */

/* Initial weight of a block: its lifetime, lifetime times bytes, or bytes. */
enum shape { LONG, HEAVY, LARGE, N_SHAPES };

static double weight_of(const struct life *b, enum shape shape)
{
  double life = b->end - b->begin;
  return shape == LARGE ? (double)b->bytes : shape == HEAVY ? life * (double)b->bytes : life;
}

/* Builds the tree over all blocks. */
static void plant(struct filler *f, enum shape shape)
{
  for (int i = 0; i < f->n_leaves; i++) {
    struct node *leaf = &f->nodes[f->n_leaves + i];
    *leaf = (struct node){-1, INT_MAX};
    if (i < f->n)
      *leaf = (struct node){weight_of(&f->lives[i], shape) * f->learnt[i], f->lives[i].end};
  }
  for (int i = f->n_leaves - 1; i > 0; i--) join(f->nodes, i);
}

/* Runs rounds with one initial weight, until `placements` blocks were placed. */
static void try_shape(struct filler *f, enum shape shape, long placements)
{
  f->left = placements;
  for (int i = 0; i < f->n; i++) f->learnt[i] = 1;
  while (f->left > 0 && f->total > f->bound) {
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

/* Fills in lives, firsts and n_times: a counting sort by first time. False: out of memory. */
static bool find_lives(struct filler *f, const struct mafat_block *blocks, int n,
                       struct mafat_heap *heap)
{
  int last = 0;
  for (int i = 0; i < n; i++)
    if (blocks[i].first <= blocks[i].last && blocks[i].last > last) last = blocks[i].last;
  /* [time]: prefix count of times at which blocks begin */
  int *begins = mafat_heap_calloc(heap, (size_t)last + 2, sizeof *begins);
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

int mafat_offsets_assign_skyline(struct mafat_block *blocks, int n, size_t bound, size_t *total,
                                 long placements, struct mafat_heap *heap)
{
  struct filler f = {.n_leaves = 1, .bound = bound, .total = *total};
  while (f.n_leaves < n) f.n_leaves *= 2;
  f.lives = mafat_heap_calloc(heap, (size_t)n, sizeof *f.lives);
  f.firsts = mafat_heap_calloc(heap, (size_t)n + 2, sizeof *f.firsts);
  f.nodes = mafat_heap_calloc(heap, 2 * (size_t)f.n_leaves, sizeof *f.nodes);
  /* a block begins at each time */
  f.segments = mafat_heap_calloc(heap, (size_t)n + 1, sizeof *f.segments);
  f.lows = mafat_heap_calloc(heap, 4 * (size_t)n + 4, sizeof *f.lows);
  f.learnt = mafat_heap_calloc(heap, (size_t)n, sizeof *f.learnt);
  f.offsets = mafat_heap_calloc(heap, (size_t)n, sizeof *f.offsets);
  f.best = mafat_heap_calloc(heap, (size_t)n, sizeof *f.best);
  bool enough = f.lives && f.firsts && f.nodes && f.segments && f.lows && f.learnt && f.offsets &&
                f.best && find_lives(&f, blocks, n, heap);
  if (enough) {
    for (int s = 0; s < N_SHAPES && f.total > bound; s++)
      try_shape(&f, (enum shape)s, placements / N_SHAPES);
    for (int i = 0; i < f.n && f.total < *total; i++) blocks[f.lives[i].block].offset = f.best[i];
    *total = f.total;
  }
  mafat_heap_free(heap, f.lives);
  mafat_heap_free(heap, f.firsts);
  mafat_heap_free(heap, f.nodes);
  mafat_heap_free(heap, f.segments);
  mafat_heap_free(heap, f.lows);
  mafat_heap_free(heap, f.learnt);
  mafat_heap_free(heap, f.offsets);
  mafat_heap_free(heap, f.best);
  return enough ? MAFAT_OK : MAFAT_ENOMEM;
}
