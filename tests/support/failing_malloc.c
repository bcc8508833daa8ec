/* Replaces the C library's allocators, mafat's heaps and mmap() by functions that fail at a
 * chosen allocation and count blocks, in static variables. Called by suites that test memory
 * failures and limits. */
#include "tests/support/failing_malloc.h"

#include "base/heap.h"

#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/types.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *p, size_t bytes);
char *__real_strdup(const char *text);
void __real_free(void *p);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *p, size_t bytes);
char *__wrap_strdup(const char *text);
void __wrap_free(void *p);

static bool armed;
static long victim, asked, alive;
static size_t bytes_now, bytes_most;

void failing_malloc_arm(long fail_at)
{
  victim = fail_at;
  asked = alive = 0;
  bytes_now = bytes_most = 0;
  armed = true;
}

long failing_malloc_disarm(long *unfreed)
{
  armed = false;
  *unfreed = alive;
  return asked;
}

size_t failing_malloc_most_bytes(void)
{
  return bytes_most;
}

static size_t bytes_of(void *p)
{
  return p ? malloc_usable_size(p) + sizeof(size_t) : 0;
}

/* Adds the bytes of block p and subtracts `before`, the bytes of the block that it replaces. That
 * block may be older than arming, so the total is kept at 0 or above. */
static void count_bytes(void *p, size_t before)
{
  bytes_now += bytes_of(p);
  bytes_now -= before < bytes_now ? before : bytes_now;
  if (bytes_now > bytes_most) bytes_most = bytes_now;
}

static bool refused(void)
{
  if (!armed || asked++ != victim) return false;
  errno = ENOMEM;
  return true;
}

static void *count(void *p)
{
  if (armed && p) alive++;
  return p;
}

/* Counts a block of the C library. */
static void *count_block(void *p)
{
  if (armed) count_bytes(p, 0);
  return count(p);
}

void *__wrap_malloc(size_t bytes)
{
  return refused() ? NULL : count_block(__real_malloc(bytes));
}

void *__wrap_calloc(size_t n, size_t bytes)
{
  return refused() ? NULL : count_block(__real_calloc(n, bytes));
}

void *__wrap_realloc(void *p, size_t bytes)
{
  if (refused()) return NULL;
  size_t before = armed ? bytes_of(p) : 0;
  void *grown = __real_realloc(p, bytes);
  if (!p) return count_block(grown);
  if (armed && grown) count_bytes(grown, before);
  return grown;
}

char *__wrap_strdup(const char *text)
{
  return refused() ? NULL : count_block(__real_strdup(text));
}

void __wrap_free(void *p)
{
  if (armed && p) {
    alive--;
    count_bytes(NULL, bytes_of(p));
  }
  __real_free(p);
}

/* ---- mafat's heaps (base/heap.h) ---- */

void *__real_mafat_heap_calloc(struct mafat_heap *heap, size_t n, size_t bytes);
void *__real_mafat_heap_realloc(struct mafat_heap *heap, void *block, size_t bytes);
void __real_mafat_heap_free(struct mafat_heap *heap, void *block);
void *__wrap_mafat_heap_calloc(struct mafat_heap *heap, size_t n, size_t bytes);
void *__wrap_mafat_heap_realloc(struct mafat_heap *heap, void *block, size_t bytes);
void __wrap_mafat_heap_free(struct mafat_heap *heap, void *block);

void *__wrap_mafat_heap_calloc(struct mafat_heap *heap, size_t n, size_t bytes)
{
  if (!heap) return __real_mafat_heap_calloc(heap, n, bytes);
  return refused() ? NULL : count(__real_mafat_heap_calloc(heap, n, bytes));
}

void *__wrap_mafat_heap_realloc(struct mafat_heap *heap, void *block, size_t bytes)
{
  if (heap && refused()) return NULL;
  void *grown = __real_mafat_heap_realloc(heap, block, bytes);
  return block || !heap ? grown : count(grown);
}

void __wrap_mafat_heap_free(struct mafat_heap *heap, void *block)
{
  if (heap && armed && block) alive--;
  __real_mafat_heap_free(heap, block);
}

/* ---- mappings: with 64-bit file offsets, mmap() is mmap64() ---- */

void *__real_mmap64(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);

static bool mmap_armed;
static long failing_mapping, mapped;

void failing_mmap_arm(long fail_at)
{
  failing_mapping = fail_at;
  mapped = 0;
  mmap_armed = true;
}

long failing_mmap_disarm(void)
{
  mmap_armed = false;
  return mapped;
}

void *__wrap_mmap64(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
  if (mmap_armed && mapped++ == failing_mapping) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return __real_mmap64(address, bytes, protection, flags, fd, offset);
}
