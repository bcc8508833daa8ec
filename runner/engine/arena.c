/* Implements arenas, the mapped memory in which models run and which they may share: the functions
 * of arena.h, and mafat_arena_open and mafat_arena_close of the public header. Called by
 * runner/engine/executor.c and api/. Calls mmap, munmap, madvise and mlock. Thread safe:
 * mafat_arena_hold returns with the arena's mutex locked, and mafat_arena_unhold unlocks it. An
 * arena is freed when it is closed and has no users. */
#include "runner/engine/arena.h"

#include "runner/os/process.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct mafat_arena {
  pthread_mutex_t mutex;
  char *memory;
  size_t bytes;
  int n_users;
  bool running;
  bool closed;        /* mafat_arena_close was called */
  bool locked;        /* the mapping is locked in memory; if lock_due, some pages of it are not */
  bool missing;       /* some pages may not be populated */
  bool lock_due;      /* some pages are unlocked until the next run begins or an executor joins */
  const void *holder; /* user whose output is valid; NULL: none */
  size_t huge_bytes;  /* first bytes of the mapping that may be in huge pages */
};

int mafat_arena_open(struct mafat_arena **out, struct mafat_diagnostic *d)
{
  *out = calloc(1, sizeof **out);
  if (!*out) return mafat_fail(d, MAFAT_ENOMEM, "arena: out of memory");
  pthread_mutex_init(&(*out)->mutex, NULL);
  return MAFAT_OK;
}

/* Unlocks the mutex. Frees the mapping if it has no users, and the arena if it is also closed. */
static void unlock(struct mafat_arena *a)
{
  if (a->n_users == 0 && a->memory) {
    munmap(a->memory, a->bytes);
    a->memory = NULL;
    a->bytes = 0;
    a->locked = a->lock_due = false;
  }
  bool done = a->closed && a->n_users == 0;
  pthread_mutex_unlock(&a->mutex);
  if (!done) return;
  pthread_mutex_destroy(&a->mutex);
  free(a);
}

void mafat_arena_close(struct mafat_arena **arena)
{
  if (!arena || !*arena) return;
  pthread_mutex_lock(&(*arena)->mutex);
  (*arena)->closed = true;
  unlock(*arena);
  *arena = NULL;
}

/* ---- users ---- */

/* Replaces the mapping by a larger one; its contents are lost. */
static int grow(struct mafat_arena *a, size_t bytes, const char *name, struct mafat_diagnostic *d)
{
  if (a->running)
    return mafat_fail(
        d, MAFAT_EINVAL,
        "%s: the arena has %zu bytes and cannot grow to %zu while one of its models runs", name,
        a->bytes, bytes);
  void *memory = mafat_process_map(bytes, a->huge_bytes);
  if (memory == MAP_FAILED)
    return mafat_fail(d, MAFAT_ENOMEM, "%s: cannot map an arena of %zu bytes: %s", name, bytes,
                      strerror(errno));
  if (a->memory) munmap(a->memory, a->bytes);
  a->memory = memory;
  a->bytes = bytes;
  a->holder = NULL;
  a->missing = true;
  a->lock_due = a->locked;
  return MAFAT_OK;
}

/* If some pages are unlocked (lock_due), locks the whole mapping. If that fails, unlocks the whole
 * mapping and continues without a lock. */
static void lock_again(struct mafat_arena *a)
{
  if (a->lock_due && mafat_lock_pages(a->memory, a->bytes) != 0) {
    mafat_lock_release(a->memory, a->bytes);
    a->locked = false;
  }
  a->lock_due = false;
}

/* Locks the mapping for a user that has a lock, unless it is locked already. */
static int lock_first(struct mafat_arena *a, struct mafat_lock *lock, struct mafat_diagnostic *d)
{
  lock_again(a);
  if (!lock || !lock->on || a->locked) return MAFAT_OK;
  int code = mafat_lock_take(lock, a->memory, a->bytes, d);
  a->locked = lock->on;
  return code;
}

void mafat_arena_make_huge(struct mafat_arena *a, size_t bytes)
{
  pthread_mutex_lock(&a->mutex);
  a->huge_bytes = bytes;
  pthread_mutex_unlock(&a->mutex);
}

int mafat_arena_join(struct mafat_arena *a, size_t bytes, struct mafat_lock *lock, const char *name,
                     struct mafat_diagnostic *d)
{
  pthread_mutex_lock(&a->mutex);
  int code = bytes > a->bytes || !a->memory ? grow(a, bytes, name, d) : MAFAT_OK;
  if (code == MAFAT_OK) code = lock_first(a, lock, d);
  if (code == MAFAT_OK) a->n_users++;
  unlock(a);
  return code;
}

void mafat_arena_leave(struct mafat_arena *a, const void *user)
{
  pthread_mutex_lock(&a->mutex);
  if (a->holder == user) a->holder = NULL;
  a->n_users--;
  unlock(a);
}

/* ---- runs ---- */

int mafat_arena_begin(struct mafat_arena *a, char **memory, const char *name,
                      struct mafat_diagnostic *d)
{
  pthread_mutex_lock(&a->mutex);
  bool busy = a->running;
  if (!busy) {
    a->running = true;
    a->holder = NULL;
    lock_again(a);
    *memory = a->memory;
  }
  pthread_mutex_unlock(&a->mutex);
  return busy ? mafat_fail(d, MAFAT_EINVAL, "%s: another model that shares its arena is running",
                           name)
              : MAFAT_OK;
}

void mafat_arena_end(struct mafat_arena *a, const void *user, bool good)
{
  pthread_mutex_lock(&a->mutex);
  a->running = false;
  a->holder = good ? user : NULL;
  pthread_mutex_unlock(&a->mutex);
}

void mafat_arena_drop(struct mafat_arena *a, const void *user)
{
  pthread_mutex_lock(&a->mutex);
  if (a->holder == user) a->holder = NULL;
  pthread_mutex_unlock(&a->mutex);
}

void *mafat_arena_take(struct mafat_arena *a, const void *user)
{
  pthread_mutex_lock(&a->mutex);
  if (a->holder != user) a->holder = NULL;
  void *memory = a->memory;
  pthread_mutex_unlock(&a->mutex);
  return memory;
}

bool mafat_arena_hold(struct mafat_arena *a, const void *user, char **memory)
{
  pthread_mutex_lock(&a->mutex);
  if (a->holder == user) {
    *memory = a->memory;
    return true;
  }
  pthread_mutex_unlock(&a->mutex);
  return false;
}

void mafat_arena_unhold(struct mafat_arena *a)
{
  pthread_mutex_unlock(&a->mutex);
}

/* ---- pages ---- */

/* Returns whole pages to the system. Locked pages cannot be returned, so they are unlocked; the
 * next run or the next executor that joins locks them again. */
static void give_back(struct mafat_arena *a, size_t begin, size_t end)
{
  if (begin >= end) return;
  if (a->locked) mafat_lock_release(a->memory + begin, end - begin);
  a->lock_due = a->locked;
  madvise(a->memory + begin, end - begin, MADV_DONTNEED);
  a->missing = true;
}

enum { MOST_POPULATED = 16 << 20 }; /* bytes; mafat_arena_populate in arena.h gives the reason */

void mafat_arena_populate(struct mafat_arena *a, size_t bytes)
{
  pthread_mutex_lock(&a->mutex);
  if (a->missing && bytes <= MOST_POPULATED) mafat_process_populate_writable(a->memory, bytes);
  a->missing = false;
  pthread_mutex_unlock(&a->mutex);
}

void mafat_arena_populate_part(struct mafat_arena *a, size_t begin, size_t bytes)
{
  size_t page = (size_t)sysconf(_SC_PAGESIZE), first = (begin + page - 1) / page * page,
         end = (begin + bytes) / page * page;
  pthread_mutex_lock(&a->mutex);
  if (a->missing && first < end && end - first <= MOST_POPULATED)
    mafat_process_populate_writable(a->memory + first, end - first);
  pthread_mutex_unlock(&a->mutex);
}

void mafat_arena_forget(struct mafat_arena *a, const void *user)
{
  pthread_mutex_lock(&a->mutex);
  if (a->memory && !a->running && (!user || !a->holder || a->holder == user)) {
    give_back(a, 0, a->bytes);
    a->holder = NULL;
  }
  pthread_mutex_unlock(&a->mutex);
}

size_t mafat_arena_locked_bytes(struct mafat_arena *a)
{
  pthread_mutex_lock(&a->mutex);
  size_t bytes = a->locked && !a->lock_due ? a->bytes : 0;
  pthread_mutex_unlock(&a->mutex);
  return bytes;
}

static size_t least(size_t a, size_t b)
{
  return a < b ? a : b;
}

/* Returns `bytes` bytes of pages to the system, outside [begin, end): first pages at the arena's
 * end, then pages at its beginning. */
void mafat_arena_make_room(struct mafat_arena *a, size_t begin, size_t end, size_t bytes)
{
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  pthread_mutex_lock(&a->mutex);
  if (a->memory && !a->running && bytes > 0) {
    size_t pages = (a->bytes + page - 1) / page,
           after = pages - least((end + page - 1) / page, pages);
    size_t wanted = bytes / page + (bytes % page != 0), last = least(wanted, after);
    give_back(a, (pages - last) * page, a->bytes);
    give_back(a, 0, least(wanted - last, begin / page) * page);
    a->holder = NULL;
  }
  pthread_mutex_unlock(&a->mutex);
}

size_t mafat_arena_bytes(struct mafat_arena *a, size_t *resident_bytes)
{
  pthread_mutex_lock(&a->mutex);
  size_t bytes = a->bytes;
  *resident_bytes = a->memory ? mafat_process_resident_bytes_of(a->memory, bytes) : 0;
  pthread_mutex_unlock(&a->mutex);
  return bytes;
}

const void *mafat_arena_memory(struct mafat_arena *a)
{
  pthread_mutex_lock(&a->mutex);
  const void *memory = a->memory;
  pthread_mutex_unlock(&a->mutex);
  return memory;
}
