/* Branch and bound for the smallest arena of at most MAFAT_FEW_BLOCKS blocks. Called by offsets.c.
 * Allocates its state from the given heap, and frees it. */
#include "predictor/layout/offsets_exact.h"

#include "base/error.h"

#include <stdint.h>

enum { WORDS = (MAFAT_FEW_BLOCKS + 63) / 64 };

/* A set of blocks as bits. */
struct set {
  uint64_t words[WORDS];
};

static bool has(const struct set *s, int block)
{
  return s->words[block / 64] >> (block % 64) & 1;
}

static void add(struct set *s, int block)
{
  s->words[block / 64] |= (uint64_t)1 << (block % 64);
}

/* First element from `block` on; MAFAT_FEW_BLOCKS: none. */
static int next(const struct set *s, int block)
{
  for (int w = block / 64; w < WORDS; w++, block = w * 64) {
    uint64_t left = s->words[w] >> (block % 64);
    if (left) return block + __builtin_ctzll(left);
  }
  return MAFAT_FEW_BLOCKS;
}

/* State of the search after some blocks are placed. */
struct tower {
  struct set placed;
  int n_placed;
  size_t level;                    /* offset of the block placed last; no later block is lower */
  size_t floors[MAFAT_FEW_BLOCKS]; /* [block]: its lowest possible offset */
  /* [block]: end of the placed blocks that are alive at its first time */
  size_t tops[MAFAT_FEW_BLOCKS];
  /* [block]: bytes of the unplaced blocks that are alive at its first time; itself is one of
   * them */
  size_t above[MAFAT_FEW_BLOCKS];
};

/* Blocks are placed by ascending offset, each as low as the placed blocks of its lifetime allow.
 * This enumerates every arrangement in which no block can sink, and one of these is the
 * smallest. */
struct few {
  struct mafat_block *blocks;
  int n;
  struct set meets[MAFAT_FEW_BLOCKS]; /* [block]: blocks alive at a common time */
  struct set alive[MAFAT_FEW_BLOCKS]; /* [block]: blocks alive at its first time */
  struct set begins[MAFAT_FEW_BLOCKS]; /* [block]: blocks that begin while it is alive */
  /* [block]: the block that has_lower found last, which it tries first */
  int low[MAFAT_FEW_BLOCKS];
  size_t offsets[MAFAT_FEW_BLOCKS];   /* offsets of placed blocks */
  size_t bound, total;                /* total: size of the smallest arena so far */
  long left;                          /* placements left to try */
  struct tower towers[];              /* [blocks placed]: stack of states */
};

static void find_meetings(struct few *f)
{
  for (int i = 0; i < f->n; i++)
    for (int j = 0; j < f->n; j++) {
      const struct mafat_block *a = &f->blocks[i], *b = &f->blocks[j];
      if (i != j && mafat_blocks_meet(a, b)) add(&f->meets[i], j);
      if (b->first > a->first || a->first > b->last) continue;
      add(&f->alive[i], j);
      add(&f->begins[j], i);
      f->towers->above[i] += b->bytes;
    }
}

/* True if an unplaced block that is alive at this block's first time can be placed below
 * `height`. */
static bool has_lower(struct few *f, const struct tower *t, int block, size_t height)
{
  int *low = &f->low[block];
  if (!has(&t->placed, *low) && t->floors[*low] < height) return true;
  for (*low = next(&f->alive[block], 0); *low < f->n; *low = next(&f->alive[block], *low + 1))
    if (!has(&t->placed, *low) && t->floors[*low] < height) return true;
  *low = block;
  return false;
}

/* True if the unplaced blocks may fit in an arena that is smaller than the best. At the first time
 * of each block the unplaced blocks that are alive must fit above the placed ones and the level. */
static bool can_be_smaller(struct few *f, const struct tower *t)
{
  for (int i = 0; i < f->n; i++) {
    size_t base = t->above[i] && t->tops[i] < t->level ? t->level : t->tops[i];
    if (base + t->above[i] >= f->total) return false;
    if (t->above[i] && !has_lower(f, t, i, f->total - t->above[i])) return false;
  }
  return true;
}

/* Saves the offsets of a complete arena. */
static void keep(struct few *f)
{
  f->total = 0;
  for (int i = 0; i < f->n; i++) {
    size_t end = f->offsets[i] + f->blocks[i].bytes;
    f->blocks[i].offset = f->offsets[i];
    if (end > f->total) f->total = end;
  }
}

/* Lowest possible end of an unplaced block. A block that starts higher is tried after it. */
static size_t ceiling(const struct few *f, const struct tower *t)
{
  size_t least = SIZE_MAX;
  for (int i = 0; i < f->n; i++) {
    size_t end = t->floors[i] + f->blocks[i].bytes;
    if (!has(&t->placed, i) && end < least) least = end;
  }
  return least;
}

/* Pushes the state with another block placed. */
static void put(struct few *f, const struct tower *t, int block)
{
  struct tower *grown = &f->towers[t->n_placed + 1];
  *grown = *t;
  grown->n_placed++;
  f->offsets[block] = grown->level = t->floors[block];
  add(&grown->placed, block);
  size_t end = grown->level + f->blocks[block].bytes;
  const struct set *meets = &f->meets[block];
  for (int b = next(meets, 0); b < f->n; b = next(meets, b + 1))
    if (grown->floors[b] < end) grown->floors[b] = end;
  for (int b = next(&f->begins[block], 0); b < f->n; b = next(&f->begins[block], b + 1)) {
    if (grown->tops[b] < end) grown->tops[b] = end;
    grown->above[b] -= f->blocks[block].bytes;
  }
}

/* Tries all next blocks, recursively. last: the block placed before, -1: none. Blocks with equal
 * offsets are placed in ascending order only. */
static void place_next(struct few *f, const struct tower *t, int last)
{
  if (--f->left < 0 || !can_be_smaller(f, t)) return;
  if (t->n_placed == f->n) {
    keep(f);
    return;
  }
  size_t end = ceiling(f, t);
  for (int i = 0; i < f->n && f->total > f->bound && f->left >= 0; i++) {
    bool lower = t->floors[i] < t->level || (t->floors[i] == t->level && i < last);
    if (has(&t->placed, i) || lower || t->floors[i] >= end) continue;
    put(f, t, i);
    place_next(f, t + 1, i);
  }
}

int mafat_offsets_assign_exact(struct mafat_block *blocks, int n, size_t bound, size_t *total,
                               long placements, struct mafat_heap *heap)
{
  struct few *f = mafat_heap_calloc(heap, 1, sizeof *f + ((size_t)n + 1) * sizeof *f->towers);
  if (!f) return MAFAT_ENOMEM;
  f->blocks = blocks;
  f->n = n;
  f->bound = bound;
  f->total = *total;
  f->left = placements;
  for (int i = 0; i < n; i++) f->low[i] = i; /* alive at its own first time */
  find_meetings(f);
  place_next(f, f->towers, -1);
  *total = f->total;
  mafat_heap_free(heap, f);
  return MAFAT_OK;
}
