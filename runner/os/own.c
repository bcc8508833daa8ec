/* Lists and locks this process's private mappings that are or were writable. Called by
 * api/footprint.c and api/model.c for locking, and by runner/os/headroom.c. Reads /proc/self/maps;
 * locks pages; returns free heap memory to the system. */
#include "runner/os/own.h"

#include "runner/os/lines.h"
#include "runner/os/lock.h"
#include "runner/os/process.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void mafat_own_list(struct mafat_own *own)
{
  struct mafat_lines l;
  own->n = 0;
  if (!mafat_lines_open(&l, "", "/proc/self/maps")) return;
  while (mafat_lines_next(&l)) { /* "7f00-7fff rw-p ..." */
    char *end;
    struct mafat_own_range range;
    range.begin = (uintptr_t)strtoull(l.line, &end, 16);
    if (*end != '-') continue;
    range.end = (uintptr_t)strtoull(end + 1, &end, 16);
    bool own_pages = strncmp(end, " rw-p", 5) == 0 || strncmp(end, " r--p", 5) == 0;
    if (own_pages && own->n < (int)(sizeof own->of / sizeof *own->of)) own->of[own->n++] = range;
  }
}

struct mafat_own_range mafat_own_lock(void)
{
  struct mafat_own own;
  struct mafat_own_range heap = {0, 0};
  uintptr_t end = (uintptr_t)sbrk(0);
  mafat_own_list(&own);
  for (int i = 0; i < own.n; i++) {
    mafat_lock_pages((void *)own.of[i].begin, own.of[i].end - own.of[i].begin);
    if (own.of[i].begin < end && own.of[i].end >= end) heap = own.of[i];
  }
  return heap;
}

void mafat_own_lock_more(struct mafat_own_range *heap)
{
  if (!heap->end) return;
  heap->end = (uintptr_t)sbrk(0);
  mafat_lock_pages((void *)heap->begin, heap->end - heap->begin);
}

void mafat_own_trim(struct mafat_own_range *heap)
{
  if (!heap->end) return;
  mafat_lock_release((void *)heap->begin, heap->end - heap->begin);
  mafat_process_trim_heap();
  mafat_own_lock_more(heap);
}
