#include "predictor/arrange_few.h"

#include <stdint.h>

/* Blocks are placed by rising offsets, each as low as those that it meets in time let it. So every arrangement in which
 * no block can sink is come by, and one of these is the smallest. Sets of blocks are bits. */
struct few {
  struct mafat_block *blocks;
  int n, n_times;
  uint64_t meets[MAFAT_FEW_BLOCKS]; /* [block]: in time */
  uint64_t alive[MAFAT_FEW_BLOCKS]; /* [time at which one begins] */
  size_t offsets[MAFAT_FEW_BLOCKS]; /* of those that are placed */
  size_t bound, total;              /* the smallest so far */
  long left;                        /* placements that may still be tried */
};

/* What is placed. */
struct tower {
  uint64_t placed;
  size_t level;                    /* the last offset: nothing comes below */
  size_t floors[MAFAT_FEW_BLOCKS]; /* [block]: how low it may lie */
};

static void find_meetings(struct few *f)
{
  for (int i = 0; i < f->n; i++)
    for (int j = 0; j < f->n; j++)
      if (i != j && mafat_blocks_meet(&f->blocks[i], &f->blocks[j])) f->meets[i] |= (uint64_t)1 << j;
  for (int i = 0; i < f->n; i++) {
    uint64_t alive = 0;
    int time = f->blocks[i].first;
    for (int j = 0; j < f->n; j++)
      if (f->blocks[j].first <= time && time <= f->blocks[j].last) alive |= (uint64_t)1 << j;
    f->alive[f->n_times++] = alive;
  }
}

/* Above what lies at a time, or the level, comes all else that is alive then. */
static bool can_be_smaller(const struct few *f, const struct tower *t)
{
  for (int i = 0; i < f->n_times; i++) {
    size_t top = 0, above = 0, low = SIZE_MAX;
    for (uint64_t left = f->alive[i]; left; left &= left - 1) {
      int b = __builtin_ctzll(left);
      size_t end = f->offsets[b] + f->blocks[b].bytes;
      if (!(t->placed >> b & 1)) {
        above += f->blocks[b].bytes;
        if (t->floors[b] < low) low = t->floors[b];
      } else if (end > top) {
        top = end;
      }
    }
    if (above && top < t->level) top = t->level;
    if (above && top < low) top = low;
    if (top + above >= f->total) return false;
  }
  return true;
}

static void keep(struct few *f)
{
  f->total = 0;
  for (int i = 0; i < f->n; i++) {
    size_t end = f->offsets[i] + f->blocks[i].bytes;
    f->blocks[i].offset = f->offsets[i];
    if (end > f->total) f->total = end;
  }
}

/* Where the lowest of the others would end: whoever comes above could as well have let it come first. */
static size_t ceiling(const struct few *f, const struct tower *t)
{
  size_t least = SIZE_MAX;
  for (int i = 0; i < f->n; i++) {
    size_t end = t->floors[i] + f->blocks[i].bytes;
    if (!(t->placed >> i & 1) && end < least) least = end;
  }
  return least;
}

static struct tower put(struct few *f, const struct tower *t, int block)
{
  struct tower next = *t;
  f->offsets[block] = next.level = t->floors[block];
  next.placed |= (uint64_t)1 << block;
  size_t end = next.level + f->blocks[block].bytes;
  for (uint64_t left = f->meets[block] & ~next.placed; left; left &= left - 1) {
    int b = __builtin_ctzll(left);
    if (next.floors[b] < end) next.floors[b] = end;
  }
  return next;
}

static void place_next(struct few *f, const struct tower *t, int last)
{
  if (--f->left < 0 || !can_be_smaller(f, t)) return;
  if (t->placed == UINT64_MAX >> (MAFAT_FEW_BLOCKS - f->n)) {
    keep(f);
    return;
  }
  size_t end = ceiling(f, t);
  for (int i = 0; i < f->n && f->total > f->bound && f->left >= 0; i++) {
    bool lower = t->floors[i] < t->level || (t->floors[i] == t->level && i < last);
    if (t->placed >> i & 1 || lower || t->floors[i] >= end) continue;
    struct tower next = put(f, t, i);
    place_next(f, &next, i);
  }
}

size_t mafat_arrange_few(struct mafat_block *blocks, int n, size_t bound, size_t total, long placements)
{
  struct few f = {.blocks = blocks, .n = n, .bound = bound, .total = total, .left = placements};
  struct tower t = {.placed = 0};
  find_meetings(&f);
  place_next(&f, &t, -1);
  return f.total;
}
