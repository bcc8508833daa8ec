/* Locks memory against swapping, and decides whether to. Called by api/model.c (decision),
 * runner/engine/arena.c and runner/weights/weights_open.c (mappings), runner/os/own.c,
 * runner/os/process.c and programs/mafat/doctor.c. Uses mlock2 and temporary mappings. */
#include "runner/os/lock.h"

#include "base/part.h"
#include "runner/os/budget.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MLOCK_ONFAULT
#define MLOCK_ONFAULT 1
#endif

MAFAT_PART(opening)
int mafat_lock_find(enum mafat_lock_mode *mode, const char *name, struct mafat_diagnostic *d)
{
  static const char *const names[] = {"auto", "on", "off"};
  *mode = MAFAT_LOCK_AUTO;
  for (int i = 0; name && i < 3; i++)
    if (strcmp(name, names[i]) == 0) {
      *mode = (enum mafat_lock_mode)i;
      return MAFAT_OK;
    }
  return name ? mafat_fail(d, MAFAT_EINVAL,
                           "expected a way to lock memory (auto, on, off), found %.60s", name)
              : MAFAT_OK;
}

/* ---- pages ---- */

/* Calls the kernel directly: old C libraries lack mlock2, and the C library's code need not become
 * resident. Before Linux 4.4, which lacks mlock2, nothing is locked: mlock would make all pages
 * resident, also those that a decoder never touches. */
int mafat_lock_pages(void *memory, size_t bytes)
{
#ifdef SYS_mlock2
  return syscall(SYS_mlock2, memory, bytes, MLOCK_ONFAULT) == 0 ? 0 : errno;
#else
  (void)memory, (void)bytes;
  return ENOSYS;
#endif
}

void mafat_lock_release(void *memory, size_t bytes)
{
  syscall(SYS_munlock, memory, bytes);
}

/* ---- permission and decision ---- */

/* Tries to lock `bytes` of PROT_NONE memory, which has no pages; returns 0 or an error number.
 * Returns 0 if the memory cannot be mapped: the real mapping will report that. */
static int try_to_lock(size_t bytes)
{
  void *memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0);
  if (memory == MAP_FAILED) return errno == ENOMEM ? 0 : errno;
  munmap(memory, bytes);
  return 0;
}

static bool is_refused(int error)
{
  return error == ENOMEM || error == EPERM || error == EAGAIN;
}

MAFAT_PART(opening) static int fail(size_t bytes, int error, struct mafat_diagnostic *d)
{
  struct rlimit limit = {0};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  if (is_refused(error) && limit.rlim_cur != RLIM_INFINITY)
    return mafat_fail(
        d, MAFAT_ELIMIT,
        "cannot lock %zu bytes: the process may lock %llu (RLIMIT_MEMLOCK, ulimit -l)", bytes,
        (unsigned long long)limit.rlim_cur);
  return mafat_fail(d, MAFAT_ELIMIT, "cannot lock %zu bytes: %s", bytes, strerror(error));
}

/* Handles a failure to lock: returns an error if the user requires locking, else turns it off and
 * returns MAFAT_OK. */
static int give_up(struct mafat_lock *lock, size_t bytes, int error, struct mafat_diagnostic *d)
{
  lock->on = false;
  lock->reason = is_refused(error) ? "RLIMIT_MEMLOCK" : "not by this system";
  return lock->mode == MAFAT_LOCK_ON ? fail(bytes, error, d) : MAFAT_OK;
}

MAFAT_PART(opening)
int mafat_lock_decide(struct mafat_lock *lock, size_t charge_bytes, size_t bytes, const char *root,
                      struct mafat_diagnostic *d)
{
  struct mafat_budget found;
  mafat_budget_find(&found, root);
  lock->roomy = found.bytes < SIZE_MAX && charge_bytes <= found.bytes / 2;
  lock->on = false;
  lock->reason = NULL;
  if (lock->mode == MAFAT_LOCK_OFF) return MAFAT_OK;
  if (lock->mode == MAFAT_LOCK_AUTO && !found.of_groups)
    lock->reason = "no cgroup limits its memory";
  else if (lock->mode == MAFAT_LOCK_AUTO && found.bytes < charge_bytes)
    lock->reason = "less than was predicted is free below its cgroup's limit";
  if (lock->reason) return MAFAT_OK;
  lock->on = true;
  int error = bytes ? try_to_lock(bytes) : 0;
  return error ? give_up(lock, bytes, error, d) : MAFAT_OK;
}

int mafat_lock_take(struct mafat_lock *lock, void *memory, size_t bytes, struct mafat_diagnostic *d)
{
  int error = lock->on ? mafat_lock_pages(memory, bytes) : 0;
  return error ? give_up(lock, bytes, error, d) : MAFAT_OK;
}
