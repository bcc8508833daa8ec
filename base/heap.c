/* A heap whose pages are returned to the system together. Called by the search, the planner and
 * the cost model (search/, predictor/, transform/, api/choose.c). Maps memory with mmap; takes no
 * lock. */
#include "base/heap.h"

#include "base/error.h"
#include "base/part.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Blocks are carved from chunks in ascending order. Freed blocks go to one free list per size
 * class. Large blocks are mappings of their own. */
enum {
  UNIT = 16,               /* granularity of sizes and addresses */
  STEPS = 4,               /* size classes per doubling: at most a fifth of a block is wasted */
  N_SIZES = 44,            /* size classes from UNIT to LARGE */
  LARGE = 64 << 10,
  CHUNK = 256 << 10        /* bytes of a mapping; a page becomes resident when first written */
};

struct heap_block {
  _Alignas(UNIT) size_t size; /* size class; N_SIZES: a large block */
  size_t bytes;               /* usable bytes after this header */
};

struct freed {
  struct freed *next;
};

/* A mapping: a chunk, or one large block. */
struct mapping {
  _Alignas(UNIT) struct mapping *before; /* previous in the list */
  struct mapping *next;
  size_t bytes;
  size_t written; /* bytes of a chunk that blocks were carved from; a multiple of UNIT */
};

struct mafat_heap {
  struct mapping *chunks, *large; /* new blocks come from the first chunk */
  struct freed *freed[N_SIZES];
  size_t in_large, most; /* bytes of large blocks; peak of the bytes of all pages */
  struct mafat_allowance *allowance; /* of chunks and large blocks; NULL: no limit */
};

/* AddressSanitizer is on. It can check only blocks of the C library's heap. */
#if defined(__SANITIZE_ADDRESS__)
enum { WATCHED = true };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { WATCHED = true };
#else
enum { WATCHED = false };
#endif
#else
enum { WATCHED = false };
#endif

/* ---- size classes ---- */

/* Sizes of classes 0, 1, ...: 16, 32, 48, 64; 80, 96, 112, 128; 160, ... */
static size_t size_of(size_t number)
{
  size_t doubling = number / STEPS, step = number % STEPS + 1;
  return doubling == 0 ? step * UNIT : (STEPS + step) * (size_t)UNIT << (doubling - 1);
}

/* Returns the smallest class that holds the bytes. */
static size_t number_of(size_t bytes)
{
  size_t number = 0;
  while (size_of(number) < bytes) number++;
  return number;
}

/* ---- mappings ---- */

static size_t pages_of(size_t bytes)
{
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  return bytes > SIZE_MAX - page ? SIZE_MAX : (bytes + page - 1) / page * page;
}

MAFAT_PART(opening) static struct mapping *map(struct mapping **list, size_t bytes)
{
  struct mapping *m = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (m == MAP_FAILED) return NULL;
  *m = (struct mapping){.next = *list, .bytes = bytes, .written = sizeof *m};
  if (*list) (*list)->before = m;
  *list = m;
  return m;
}

static void unmap(struct mapping **list, struct mapping *m)
{
  if (m->before) m->before->next = m->next;
  else *list = m->next;
  if (m->next) m->next->before = m->before;
  munmap(m, m->bytes);
}

MAFAT_PART(opening) int mafat_heap_open(struct mafat_heap **out)
{
  *out = NULL;
  if (WATCHED) return MAFAT_OK;
  struct mapping *list = NULL, *m = map(&list, CHUNK);
  if (!m) return MAFAT_ENOMEM;
  struct mafat_heap *heap = (struct mafat_heap *)(m + 1);
  m->written += (sizeof *heap + UNIT - 1) / UNIT * UNIT;
  heap->chunks = list;
  *out = heap;
  return MAFAT_OK;
}

MAFAT_PART(opening)
void mafat_heap_limit(struct mafat_heap *heap, struct mafat_allowance *allowance)
{
  if (!heap) return;
  heap->allowance = allowance;
  if (allowance) allowance->bytes += mafat_heap_bytes(heap); /* the page with the heap itself */
}

void mafat_heap_close(struct mafat_heap **heap)
{
  if (!heap || !*heap) return;
  /* the last chunk contains the heap itself */
  struct mapping *lists[] = {(*heap)->large, (*heap)->chunks};
  mafat_allowance_give((*heap)->allowance, mafat_heap_bytes(*heap));
  *heap = NULL;
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    while (lists[i]) unmap(&lists[i], lists[i]);
}

MAFAT_PART(opening) size_t mafat_heap_bytes(const struct mafat_heap *heap)
{
  size_t sum = heap ? heap->in_large : 0;
  for (const struct mapping *m = heap ? heap->chunks : NULL; m; m = m->next)
    sum += pages_of(m->written);
  return sum;
}

/* Updates the peak. Called before a large block is freed, the only time when usage shrinks. */
static void note_most(struct mafat_heap *heap)
{
  size_t now = mafat_heap_bytes(heap);
  if (now > heap->most) heap->most = now;
}

MAFAT_PART(opening) size_t mafat_heap_most_bytes(const struct mafat_heap *heap)
{
  size_t now = mafat_heap_bytes(heap);
  return heap && heap->most > now ? heap->most : now;
}

/* ---- blocks ---- */

static void *take_large(struct mafat_heap *heap, size_t bytes)
{
  size_t before = sizeof(struct mapping) + sizeof(struct heap_block);
  if (bytes > SIZE_MAX - before ||
      !mafat_allowance_take(heap->allowance, 1, pages_of(before + bytes)))
    return NULL;
  struct mapping *m = map(&heap->large, before + bytes);
  if (!m) {
    mafat_allowance_give(heap->allowance, pages_of(before + bytes));
    return NULL;
  }
  struct heap_block *b = (struct heap_block *)(m + 1);
  *b = (struct heap_block){N_SIZES, bytes};
  heap->in_large += pages_of(m->bytes);
  return b + 1;
}

/* Carves a block from the first chunk, or from a new one. The rest of the old chunk is wasted. */
static void *cut(struct mafat_heap *heap, size_t number)
{
  size_t bytes = size_of(number), all = sizeof(struct heap_block) + bytes;
  struct mapping *m = heap->chunks;
  bool full = m->bytes - m->written < all;
  size_t more = full ? pages_of(sizeof *m + all)
                     : pages_of(m->written + all) - pages_of(m->written);
  if (!mafat_allowance_take(heap->allowance, 1, more)) return NULL;
  if (full) m = map(&heap->chunks, CHUNK);
  if (!m) {
    mafat_allowance_give(heap->allowance, more);
    return NULL;
  }
  struct heap_block *b = (struct heap_block *)((char *)m + m->written);
  m->written += all;
  *b = (struct heap_block){number, bytes};
  return b + 1;
}

void *mafat_heap_calloc(struct mafat_heap *heap, size_t n, size_t bytes)
{
  size_t all;
  if (!heap) return calloc(n, bytes);
  if (__builtin_mul_overflow(n, bytes, &all)) return NULL;
  if (all > LARGE) return take_large(heap, all);
  size_t number = number_of(all);
  struct freed *waiting = heap->freed[number];
  if (!waiting) return cut(heap, number);
  heap->freed[number] = waiting->next;
  return memset(waiting, 0, all);
}

/* Grows a large block by moving its pages, so that they are not there twice. */
MAFAT_PART(opening)
static void *grow_large(struct mafat_heap *heap, struct mapping *m, size_t bytes)
{
  size_t all;
  if (__builtin_add_overflow(m->bytes, bytes - ((struct heap_block *)(m + 1))->bytes, &all))
    return NULL;
  size_t more = pages_of(all) - pages_of(m->bytes);
  if (!mafat_allowance_take(heap->allowance, 1, more)) return NULL;
  struct mapping *moved = mremap(m, m->bytes, all, MREMAP_MAYMOVE);
  if (moved == MAP_FAILED) {
    mafat_allowance_give(heap->allowance, more);
    return NULL;
  }
  heap->in_large += more;
  moved->bytes = all;
  if (moved->before) moved->before->next = moved;
  else heap->large = moved;
  if (moved->next) moved->next->before = moved;
  struct heap_block *b = (struct heap_block *)(moved + 1);
  b->bytes = bytes;
  return b + 1;
}

MAFAT_PART(opening) void *mafat_heap_realloc(struct mafat_heap *heap, void *block, size_t bytes)
{
  if (!heap) return realloc(block, bytes);
  struct heap_block *b = block ? (struct heap_block *)block - 1 : NULL;
  size_t had = b ? b->bytes : 0;
  if (block && bytes <= had) return block;
  if (b && b->size == N_SIZES) return grow_large(heap, (struct mapping *)b - 1, bytes);
  void *grown = mafat_heap_calloc(heap, 1, bytes);
  if (!grown || !block) return grown;
  memcpy(grown, block, had);
  mafat_heap_free(heap, block);
  return grown;
}

void mafat_heap_free(struct mafat_heap *heap, void *block)
{
  if (!heap) free(block);
  if (!heap || !block) return;
  struct heap_block *b = (struct heap_block *)block - 1;
  if (b->size == N_SIZES) {
    note_most(heap);
    size_t pages = pages_of(((struct mapping *)b - 1)->bytes);
    heap->in_large -= pages;
    mafat_allowance_give(heap->allowance, pages);
    unmap(&heap->large, (struct mapping *)b - 1);
    return;
  }
  struct freed *f = block;
  f->next = heap->freed[b->size];
  heap->freed[b->size] = f;
}
