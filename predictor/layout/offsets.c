/* Assigns offsets to blocks (memory with a size and a lifetime): places them one by one in several
 * orders and keeps the best result. Also tries offsets_exact.c on few blocks, and
 * offsets_skyline.c. Called by maker.c. Allocates from the given heap, and frees all of it. */
#include "predictor/layout/offsets.h"

#include "base/blocks.h"
#include "base/error.h"
#include "predictor/layout/offsets_exact.h"
#include "predictor/layout/offsets_skyline.h"

#include <stdint.h>
#include <string.h>

/* Last time at which a block lives. */
static int last_time(const struct mafat_block *blocks, int n)
{
  int last = 0;
  for (int i = 0; i < n; i++)
    if (blocks[i].first <= blocks[i].last && blocks[i].last > last) last = blocks[i].last;
  return last;
}

/* Bytes alive at each time. The caller frees the list; NULL: out of memory. */
static size_t *live_bytes(const struct mafat_block *blocks, int n, struct mafat_heap *heap)
{
  int end = last_time(blocks, n) + 1;
  size_t *live = mafat_heap_calloc(heap, (size_t)end + 1, sizeof *live);
  for (int i = 0; i < n && live; i++) {
    if (blocks[i].first > blocks[i].last) continue;
    live[blocks[i].first] += blocks[i].bytes;
    live[blocks[i].last + 1] -= blocks[i].bytes; /* may wrap around; the sums below are right */
  }
  for (int time = 1; time < end && live; time++) live[time] += live[time - 1];
  return live;
}

size_t mafat_offsets_lower_bound(const struct mafat_block *blocks, int n)
{
  size_t most = 0;
  for (int i = 0; i < n; i++) { /* the sum is largest at some block's first time */
    size_t sum = 0;
    for (int j = 0; j < n; j++)
      if (blocks[j].first <= blocks[i].first && blocks[i].first <= blocks[j].last)
        sum += blocks[j].bytes;
    if (sum > most) most = sum;
  }
  return most;
}

enum {
  N_STRETCHES = 128, /* time is divided into this many stretches */
  FEW_STRETCHES = 4, /* a block in more stretches is compared with all placed blocks instead */
  MANY = 512         /* number of blocks from which each order is slow to try */
};

/* A placed block. */
struct placed {
  size_t offset, end;
  int first, last;
};

/* Placed blocks, sorted by offset. */
struct pile {
  struct placed *list; /* (n) */
  int n;
};

/* Working state. The bound is the largest sum of bytes alive at one time; no arena is smaller. A
 * block is tight if it lives at a time at which most of the bound is alive. Several orders of the
 * tight blocks are tried; the other blocks are placed afterwards. */
struct assignment {
  struct mafat_heap *heap;
  struct mafat_block *blocks;
  int n, n_tight;
  bool *tight;
  int *order; /* (n_tight): tight blocks in the order in which they are placed */
  struct pile piles[N_STRETCHES + 1]; /* [stretch of time]: blocks alive in it; the last: all placed
                                         blocks */
  struct placed *storage;             /* lists of all piles */
  int stretch_times;                  /* number of times in each stretch */
  int *sorting;          /* buffer for sorting */
  size_t *live;          /* [time]: bytes alive */
  int *firsts;           /* [time]: number of tight times before it; at a tight time a block begins
                            and most of the bound is alive */
  int n_times;
  size_t *best; /* [block]: best offsets of the tight blocks so far */
  size_t best_total; /* arena's size with these offsets; only a smaller one replaces them */
  long long left; /* calls of place_all() left in the search limit */
  size_t *kept; /* [block]: offsets of the best complete assignment */
};

/* Return the first stretch of a block's life, and the stretch after its last. */
static int first_stretch(const struct assignment *a, const struct mafat_block *b)
{
  return b->first / a->stretch_times;
}

static int end_stretch(const struct assignment *a, const struct mafat_block *b)
{
  return b->first > b->last ? first_stretch(a, b) : b->last / a->stretch_times + 1;
}

/* Raises offset `at` of b as far as the pile's blocks that live at the same time require. *next:
 * first block of the pile to compare; becomes the first one above b. */
static size_t rise(const struct pile *pile, int *next, const struct mafat_block *b, size_t at)
{
  int i = *next;
  for (; i < pile->n && pile->list[i].offset < at + b->bytes; i++) {
    const struct placed *p = &pile->list[i];
    if (p->end > at && p->first <= b->last && b->first <= p->last) at = p->end;
  }
  *next = i;
  return at;
}

/* Lowest offset where b fits. */
static size_t lowest_fit(const struct assignment *a, const struct mafat_block *b)
{
  int first = first_stretch(a, b), n = end_stretch(a, b) - first, next[FEW_STRETCHES] = {0};
  /* a block that never lives may begin after all stretches */
  bool all = n > FEW_STRETCHES || b->first > b->last;
  const struct pile *piles = a->piles + (all ? N_STRETCHES : first);
  size_t at = 0, before;
  if (all) n = 1;
  do {
    before = at;
    for (int i = 0; i < n; i++) at = rise(&piles[i], &next[i], b, at);
  } while (n > 1 && at > before);
  return at;
}

/* Highest offset where b fits and ends at most at `top`; if there is none, the lowest offset where
 * b fits. */
static size_t highest_fit(const struct assignment *a, const struct mafat_block *b, size_t top)
{
  const struct pile *all = &a->piles[N_STRETCHES];
  size_t end = top;
  for (int i = all->n - 1; i >= 0 && end >= b->bytes; i--) {
    const struct placed *p = &all->list[i];
    if (p->end > end - b->bytes && p->offset < end && p->first <= b->last && b->first <= p->last)
      end = p->offset;
  }
  return end < b->bytes ? lowest_fit(a, b) : end - b->bytes;
}

static void insert(struct pile *pile, const struct placed *p)
{
  int low = 0, high = pile->n;
  while (low < high) {
    int middle = (low + high) / 2;
    if (pile->list[middle].offset > p->offset) high = middle;
    else low = middle + 1;
  }
  memmove(pile->list + low + 1, pile->list + low, (size_t)(pile->n++ - low) * sizeof *p);
  pile->list[low] = *p;
}

static void place(struct assignment *a, int index, size_t offset)
{
  struct mafat_block *b = &a->blocks[index];
  struct placed p = {offset, offset + b->bytes, b->first, b->last};
  b->offset = offset;
  insert(&a->piles[N_STRETCHES], &p);
  for (int s = first_stretch(a, b); s < end_stretch(a, b); s++) insert(&a->piles[s], &p);
}

/* Removes all placed blocks. */
static void begin(struct assignment *a)
{
  for (int s = 0; s <= N_STRETCHES; s++) a->piles[s].n = 0;
}

/* Returns the number of times in a stretch: about as many as a block lives on average. Then few
 * blocks are in many stretches. */
static int find_stretch_times(const struct assignment *a)
{
  long long sum = 0;
  for (int i = 0; i < a->n; i++)
    if (a->blocks[i].first <= a->blocks[i].last) sum += a->blocks[i].last - a->blocks[i].first + 1;
  return mafat_max(a->n_times / N_STRETCHES, (int)(sum / a->n)) + 1;
}

/* Allocates the piles, each for the blocks that live in its stretch. False: out of memory. */
static bool open_piles(struct assignment *a)
{
  size_t n = (size_t)a->n;
  a->stretch_times = find_stretch_times(a);
  for (int i = 0; i < a->n; i++) {
    if (a->blocks[i].first > a->blocks[i].last) continue;
    for (int s = first_stretch(a, &a->blocks[i]); s < end_stretch(a, &a->blocks[i]); s++, n++)
      a->piles[s].n++;
  }
  struct placed *storage = a->storage = mafat_heap_calloc(a->heap, n, sizeof *a->storage);
  a->piles[N_STRETCHES].n = a->n;
  for (int s = 0; s <= N_STRETCHES && storage; storage += a->piles[s++].n)
    a->piles[s].list = storage;
  return storage != NULL;
}

/* Places the tight blocks in `order`, and keeps the offsets if they are the best so far. Returns
 * the arena's size. If top is not 0, blocks that prefer the arena's top are placed downwards from
 * offset `top`. Once the search limit is used up, stops at an arena that is not better. */
static size_t place_all(struct assignment *a, size_t top)
{
  size_t total = 0;
  begin(a);
  a->left--;
  for (int i = 0; i < a->n_tight && (a->left > 0 || total < a->best_total); i++) {
    struct mafat_block *b = &a->blocks[a->order[i]];
    bool hang = top && b->end_hint == 2;
    place(a, a->order[i], hang ? highest_fit(a, b, top) : lowest_fit(a, b));
    if (b->offset + b->bytes > total) total = b->offset + b->bytes;
  }
  if (total < a->best_total) {
    a->best_total = total;
    for (int i = 0; i < a->n_tight; i++) a->best[a->order[i]] = a->blocks[a->order[i]].offset;
  }
  return total;
}

/* True if x is placed before y. */
typedef bool (*before)(const struct mafat_block *x, const struct mafat_block *y);

static bool larger(const struct mafat_block *x, const struct mafat_block *y)
{
  return x->bytes > y->bytes;
}

static bool earlier(const struct mafat_block *x, const struct mafat_block *y)
{
  return x->first != y->first ? x->first < y->first : x->bytes > y->bytes;
}

static bool longer(const struct mafat_block *x, const struct mafat_block *y)
{
  int dx = x->last - x->first, dy = y->last - y->first;
  return dx != dy ? dx > dy : x->bytes > y->bytes;
}

static bool heavier(const struct mafat_block *x, const struct mafat_block *y)
{
  return (double)x->bytes * (x->last - x->first + 1) > (double)y->bytes * (y->last - y->first + 1);
}

/* Merges two sorted runs of the order. Stable, so equal blocks keep their order. */
static void merge(const struct assignment *a, before is_before, int from, int middle, int end)
{
  int left = from, right = middle;
  for (int i = from; i < end; i++) {
    bool takes_right = left == middle || (right < end && is_before(&a->blocks[a->order[right]],
                                                                   &a->blocks[a->order[left]]));
    a->sorting[i] = a->order[takes_right ? right++ : left++];
  }
  memcpy(a->order + from, a->sorting + from, (size_t)(end - from) * sizeof *a->order);
}

/* Sorts the tight blocks, by merge sort. */
static void sort_order(struct assignment *a, before is_before)
{
  int n = 0;
  for (int i = 0; i < a->n; i++)
    if (a->tight[i]) a->order[n++] = i;
  for (int run = 1; run < n; run *= 2)
    for (int from = 0; from + run < n; from += 2 * run)
      merge(a, is_before, from, from + run, from + 2 * run < n ? from + 2 * run : n);
}

/* Moves the highest block, which ends at `total`, to the front of the order. Returns false if it is
 * there already. */
static bool promote_highest(struct assignment *a, size_t total)
{
  for (int i = 0; i < a->n_tight; i++) {
    const struct mafat_block *b = &a->blocks[a->order[i]];
    if (b->offset + b->bytes < total) continue;
    if (i == 0) return false;
    int index = a->order[i];
    memmove(a->order + 1, a->order, (size_t)i * sizeof *a->order);
    a->order[0] = index;
    return true;
  }
  return false;
}

/* Fisher-Yates shuffle. The seed is fixed, so that a plan always gets the same arena. */
static void shuffle(struct assignment *a, uint32_t *seed)
{
  for (int i = a->n_tight - 1; i > 0; i--) {
    *seed = *seed * 1664525u + 1013904223u;
    int j = (int)((*seed >> 8) % (uint32_t)(i + 1)), t = a->order[i];
    a->order[i] = a->order[j];
    a->order[j] = t;
  }
}

/* Tries one order, then variants with the highest block moved to the front. */
static void try_order(struct assignment *a, size_t bound, int promotions)
{
  size_t total = place_all(a, 0);
  for (int i = 0;
       i < promotions && a->left > 0 && a->best_total > bound && promote_highest(a, total); i++)
    total = place_all(a, i % 2 ? bound : 0);
}

/* Finds the tight blocks: those that live at a time with at least `eighths` eighths of the bound
 * alive. Only times at which a block begins count, because live bytes grow only there. */
static void find_tight(struct assignment *a, size_t bound, size_t eighths)
{
  memset(a->firsts, 0, ((size_t)a->n_times + 1) * sizeof *a->firsts);
  for (int i = 0; i < a->n; i++)
    if (a->blocks[i].first <= a->blocks[i].last &&
        a->live[a->blocks[i].first] >= bound / 8 * eighths)
      a->firsts[a->blocks[i].first + 1] = 1;
  for (int time = 0; time < a->n_times; time++) a->firsts[time + 1] += a->firsts[time];
  a->n_tight = 0;
  for (int i = 0; i < a->n; i++) {
    const struct mafat_block *b = &a->blocks[i];
    a->tight[i] = b->first <= b->last && a->firsts[b->last + 1] > a->firsts[b->first];
    a->n_tight += a->tight[i];
  }
}

/* Searches for the smallest arena of the tight blocks, within a limit of placements. */
static int assign_exact(struct assignment *a, size_t bound)
{
  enum { EFFORT = 10000000 }; /* search limit; each placement of one of the n blocks counts n^2 */
  struct mafat_block few[MAFAT_FEW_BLOCKS];
  size_t total = a->best_total;
  sort_order(a, larger);
  for (int i = 0; i < a->n_tight; i++) few[i] = a->blocks[a->order[i]];
  int code = mafat_offsets_assign_exact(few, a->n_tight, bound, &total,
                                        EFFORT / (a->n_tight * a->n_tight), a->heap);
  for (int i = 0; i < a->n_tight && total < a->best_total; i++)
    a->best[a->order[i]] = few[i].offset;
  a->best_total = total;
  return code;
}

/* Tries orders of the tight blocks until one reaches the bound or the search limit is used up. Only
 * arenas smaller than `most` bytes count. */
static int try_orders(struct assignment *a, size_t bound, size_t most)
{
  static const before orders[] = {larger, earlier, longer, heavier};
  enum { PROMOTIONS = 40, SHUFFLES = 60, EFFORT = 4000000 }; /* placing all n blocks counts n^2 */
  a->best_total = a->n_tight ? most : 0;
  if (a->n_tight == 0) return MAFAT_OK;
  a->left = EFFORT / ((long long)a->n_tight * a->n_tight) + 1;
  /* In a chain of untiled layers, maps that alternate between bottom and top are optimal. */
  sort_order(a, earlier);
  place_all(a, bound);
  for (size_t o = 0; o < sizeof orders / sizeof *orders && a->best_total > bound; o++) {
    sort_order(a, orders[o]);
    try_order(a, bound, PROMOTIONS);
  }
  uint32_t seed = 1;
  for (int i = 0;
       i < SHUFFLES && a->left > 0 && a->n_tight <= MAFAT_FEW_BLOCKS && a->best_total > bound;
       i++) {
    shuffle(a, &seed);
    try_order(a, bound, PROMOTIONS / 4);
  }
  return a->best_total > bound && a->n_tight <= MAFAT_FEW_BLOCKS ? assign_exact(a, bound)
                                                                 : MAFAT_OK;
}

/* Places the tight blocks at their best offsets, then all others. Returns the arena's size. */
static size_t place_rest(struct assignment *a)
{
  size_t total = a->best_total;
  begin(a);
  for (int i = 0; i < a->n; i++)
    if (a->tight[i]) place(a, i, a->best[i]);
  for (int i = 0; i < a->n; i++) {
    struct mafat_block *b = &a->blocks[i];
    if (a->tight[i]) continue;
    place(a, i, lowest_fit(a, b));
    if (b->offset + b->bytes > total) total = b->offset + b->bytes;
  }
  return total;
}

/* Saves the offsets of all blocks; returns `total`. */
static size_t keep_offsets(struct assignment *a, size_t total)
{
  for (int i = 0; i < a->n; i++) a->kept[i] = a->blocks[i].offset;
  return total;
}

/* Assigns all blocks: first the tight ones, which live when at least 6/8 of the bound is alive,
 * then the others. If the others make the arena larger, tries again with all blocks as tight
 * (0/8). */
static int assign_tight(struct assignment *a, size_t bound, size_t *total)
{
  for (int eighths = 6; eighths >= 0 && *total > bound; eighths -= 6) {
    find_tight(a, bound, (size_t)eighths);
    int code = try_orders(a, bound, *total);
    if (code) return code;
    if (a->best_total == *total) continue;
    size_t found = place_rest(a);
    if (found < *total) *total = keep_offsets(a, found);
    if (*total == a->best_total) break;
  }
  return MAFAT_OK;
}

/* Searches other offsets for the tight blocks, which may leave more space for the other blocks. The
 * share of the bound that makes blocks tight is 7/8, then 6/8, 5/8 and 4/8. */
static int assign_others(struct assignment *a, size_t bound, size_t *total)
{
  for (size_t eighths = 7; eighths >= 4 && *total > bound; eighths--) {
    find_tight(a, bound, eighths);
    if (a->n_tight == 0 || a->n_tight > MAFAT_FEW_BLOCKS) continue;
    a->best_total = *total;
    int code = assign_exact(a, bound);
    if (code) return code;
    size_t found = a->best_total < *total ? place_rest(a) : *total;
    if (found < *total) *total = keep_offsets(a, found);
  }
  return MAFAT_OK;
}

static int assign_skyline(struct assignment *a, size_t bound, size_t *total)
{
  enum { EFFORT = 20000 };
  size_t found = *total;
  if (*total <= bound) return MAFAT_OK;
  int code = mafat_offsets_assign_skyline(a->blocks, a->n, bound, &found, EFFORT, a->heap);
  if (code == MAFAT_OK && found < *total) *total = keep_offsets(a, found);
  return code;
}

/* Assigns all blocks. With many blocks, few orders can be tried within the search limit, so the
 * skyline method comes first. */
static int assign_all(struct assignment *a, size_t bound, size_t *total)
{
  int code = a->n > MANY ? assign_skyline(a, bound, total) : MAFAT_OK;
  if (code == MAFAT_OK) code = assign_tight(a, bound, total);
  if (code == MAFAT_OK) code = assign_others(a, bound, total);
  return code || a->n > MANY ? code : assign_skyline(a, bound, total);
}

size_t mafat_offsets_assign(struct mafat_block *blocks, int n, struct mafat_heap *heap)
{
  if (n == 0) return 0;
  struct assignment a = {
      .heap = heap, .blocks = blocks, .n = n, .n_times = last_time(blocks, n) + 1};
  size_t bound = 0, total = SIZE_MAX;
  a.live = live_bytes(blocks, n, heap);
  a.firsts = mafat_heap_calloc(heap, (size_t)a.n_times + 1, sizeof *a.firsts);
  a.sorting = mafat_heap_calloc(heap, (size_t)n, sizeof *a.sorting);
  a.order = mafat_heap_calloc(heap, (size_t)n, sizeof *a.order);
  a.best = mafat_heap_calloc(heap, (size_t)n, sizeof *a.best);
  a.tight = mafat_heap_calloc(heap, (size_t)n, sizeof *a.tight);
  a.kept = mafat_heap_calloc(heap, (size_t)n, sizeof *a.kept);
  if (open_piles(&a) && a.live && a.firsts && a.sorting && a.order && a.best && a.tight && a.kept) {
    for (int time = 0; time < a.n_times; time++)
      if (a.live[time] > bound) bound = a.live[time];
    int code = assign_all(&a, bound, &total);
    for (int i = 0; i < n; i++) blocks[i].offset = a.kept[i];
    if (code) total = SIZE_MAX;
  }
  mafat_heap_free(heap, a.live);
  mafat_heap_free(heap, a.firsts);
  mafat_heap_free(heap, a.sorting);
  mafat_heap_free(heap, a.order);
  mafat_heap_free(heap, a.storage);
  mafat_heap_free(heap, a.best);
  mafat_heap_free(heap, a.tight);
  mafat_heap_free(heap, a.kept);
  return total;
}
