/* Makes the kernel reclaim unused pages of the cgroup before the first run. Called by api/model.c
 * (once per model), and by api/footprint.c and api/model_files.c (free memory). Maps and touches
 * memory temporarily; reads /proc/self/pagemap and the cgroup's files. */
#include "runner/os/headroom.h"

#include "runner/os/groups.h"
#include "runner/os/lines.h"
#include "runner/os/own.h"
#include "runner/os/pages.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- usage of the cgroup ---- */

/* The cgroup with the least free memory. */
struct memory_group {
  uint64_t limit, droppable;
  int usage_fd; /* -1: not readable */
};

static void open_group(struct memory_group *g, const char *root)
{
  struct mafat_limited_group found;
  char name[MAFAT_PATH_ROOM];
  mafat_groups_find_limit(&found, root);
  *g = (struct memory_group){found.limit, found.droppable, -1};
  if (found.limit == UINT64_MAX || !found.folder[0]) return;
  int n = snprintf(name, sizeof name, "%s%s/%s", root, found.folder,
                   found.v2 ? "memory.current" : "memory.usage_in_bytes");
  if (n > 0 && (size_t)n < sizeof name) g->usage_fd = open(name, O_RDONLY | O_CLOEXEC);
}

static void close_group(const struct memory_group *g)
{
  if (g->usage_fd >= 0) close(g->usage_fd);
}

static bool read_usage(const struct memory_group *g, uint64_t *bytes)
{
  char text[32];
  if (!mafat_lines_read(g->usage_fd, text, sizeof text)) return false;
  *bytes = strtoull(text, NULL, 10);
  return true;
}

/* ---- pages of this process ---- */

/* True for a resident private page, also one that the loader made read-only. */
static bool is_ours(uint64_t entry)
{
  return mafat_page_is_there(entry) && !mafat_page_is_of_file(entry);
}

/* Reads a byte of every resident private page of the range, so that the kernel sees it used. */
static void touch(const struct mafat_own_range *r, int pagemap, size_t page)
{
  uint64_t entries[MAFAT_PAGES_AT_ONCE];
  uintptr_t end = r->end / page;
  for (uintptr_t at = r->begin / page; at < end;) {
    size_t n = mafat_pages_read(pagemap, at, end, entries);
    if (n == 0) return;
    for (size_t i = 0; i < n; i++, at++)
      if (is_ours(entries[i])) (void)*(volatile const char *)(at * page);
  }
}

/* ---- balloon ---- */

enum {
  STEP_PAGES = 8,
  AHEAD_PAGES = 64 + STEP_PAGES, /* each processor charges up to 64 pages ahead */
  /* more pages than a processor flushes from its TLB one by one: it flushes the whole TLB */
  APART_PAGES = 64
};

/* Memory that is mapped temporarily, to make the kernel reclaim other pages. */
struct balloon {
  /* APART_PAGES pages, of which forget_addresses touches the first and the last, then n_pages */
  char *memory;
  size_t page, n_pages, touched;
  int pagemap;
};

/* Flushes the TLB, by changing the protection of many pages. Otherwise the processor does not mark
 * a page as used again if its translation is cached. */
static void forget_addresses(const struct balloon *b)
{
  size_t bytes = APART_PAGES * b->page;
  b->memory[0] = b->memory[bytes - b->page] = 1;
  mprotect(b->memory, bytes, PROT_READ);
  mprotect(b->memory, bytes, PROT_READ | PROT_WRITE);
}

static void touch_all(const struct balloon *b, const struct mafat_own *ours)
{
  forget_addresses(b);
  for (int i = 0; i < ours->n; i++) touch(&ours->of[i], b->pagemap, b->page);
}

/* Touches the next pages, and frees them at once (MADV_FREE). The kernel drops older file pages
 * first, and these pages next. They are never swapped out, and cause none of ours to be. */
static void touch_more(struct balloon *b)
{
  size_t left = b->n_pages - b->touched, n = left < STEP_PAGES ? left : STEP_PAGES;
  char *begin = b->memory + (APART_PAGES + b->touched) * b->page;
  for (size_t i = 0; i < n; i++) begin[i * b->page] = 1;
  madvise(begin, n * b->page, MADV_FREE);
  b->touched += n;
}

/* Touches the balloon step by step; near the limit, touches all of our pages before each step. */
static void inflate(const struct memory_group *g, struct balloon *b, const struct mafat_own *ours)
{
  uint64_t usage;
  while (b->touched < b->n_pages) {
    if (!read_usage(g, &usage) || usage + AHEAD_PAGES * b->page > g->limit) touch_all(b, ours);
    touch_more(b);
  }
}

static void inflate_once(const struct memory_group *g, size_t bytes)
{
  struct balloon b = {.page = (size_t)sysconf(_SC_PAGESIZE)};
  struct mafat_own ours; /* listed before the balloon is mapped */
  mafat_own_list(&ours);
  b.n_pages = bytes / b.page;
  size_t mapped = (APART_PAGES + b.n_pages) * b.page;
  b.pagemap = mafat_pages_open();
  if (b.pagemap < 0) return;
  b.memory = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (b.memory != MAP_FAILED) {
    madvise(b.memory, mapped, MADV_NOHUGEPAGE);
    inflate(g, &b, &ours);
    munmap(b.memory, mapped);
  }
  close(b.pagemap);
}

/* Returns the number of bytes to touch: `bytes`, but at most the free bytes and 7/8 of the
 * droppable ones. If the run needs more, the kernel reclaims the rest during the run. */
static size_t balloon_bytes(const struct memory_group *g, uint64_t free_bytes, size_t bytes)
{
  uint64_t possible = free_bytes + g->droppable - g->droppable / 8;
  return bytes < possible ? bytes : (size_t)possible;
}

size_t mafat_headroom_left(const char *root)
{
  struct memory_group g;
  uint64_t usage, left = SIZE_MAX;
  open_group(&g, root);
  if (read_usage(&g, &usage)) left = usage < g.limit ? g.limit - usage : 0;
  close_group(&g);
  return left < SIZE_MAX ? (size_t)left : SIZE_MAX;
}

size_t mafat_headroom_make(size_t charge_bytes, size_t here_bytes, const char *root)
{
  struct memory_group g;
  uint64_t usage;
  size_t gone = 0;
  open_group(&g, root);
  size_t most = g.limit < charge_bytes ? (size_t)g.limit : charge_bytes;
  size_t bytes = most > here_bytes ? most - here_bytes : 0;
  if (read_usage(&g, &usage) && usage <= g.limit && bytes > g.limit - usage) {
    size_t taken = balloon_bytes(&g, g.limit - usage, bytes);
    gone = taken > g.limit - usage ? taken - (size_t)(g.limit - usage) : 0;
    if (gone) inflate_once(&g, taken);
  }
  close_group(&g);
  return gone;
}
