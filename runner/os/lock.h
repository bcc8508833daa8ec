/* Locks memory so that the kernel cannot swap it out (mlock2). In a full cgroup the kernel then
 * drops file pages instead, which are on the disk anyway. Pages are locked when touched, so locking
 * makes nothing resident. A process may lock RLIMIT_MEMLOCK bytes, or any number with CAP_IPC_LOCK;
 * the limit is found by trying. fork() does not inherit locks. Maps memory to try the limit.
 * Included by programs/mafat/doctor.c, runner/engine/arena.h, runner/os and
 * runner/weights/weights.h; called by api/. */
#ifndef MAFAT_RUNNER_OS_LOCK_H
#define MAFAT_RUNNER_OS_LOCK_H

#include "base/error.h"

#include <stdbool.h>

enum mafat_lock_mode { MAFAT_LOCK_AUTO, MAFAT_LOCK_ON, MAFAT_LOCK_OFF };

struct mafat_lock {
  enum mafat_lock_mode mode;
  bool on;            /* later mappings are locked */
  const char *reason; /* why nothing is locked; NULL: memory is locked, or mode is off */
  bool roomy;         /* at least twice the predicted charge is free */
};

/* Parses "auto" (NULL), "on" or "off". MAFAT_EINVAL. */
int mafat_lock_find(enum mafat_lock_mode *mode, const char *name, struct mafat_diagnostic *d);

/* Decides by lock->mode, which the caller sets, whether this process locks `bytes` bytes; sets
 * lock->on, lock->reason and lock->roomy. charge_bytes is the predicted charge: `auto` locks only
 * if a cgroup has a limit and at least that many bytes free. root: runner/os/groups.h.
 * MAFAT_ELIMIT: mode is `on`, but the process may not lock as much. */
int mafat_lock_decide(struct mafat_lock *lock, size_t charge_bytes, size_t bytes, const char *root,
                      struct mafat_diagnostic *d);

/* Locks a mapping if lock->on. If that fails, `auto` clears lock->on, and `on` returns
 * MAFAT_ELIMIT. */
int mafat_lock_take(struct mafat_lock *lock, void *memory, size_t bytes,
                    struct mafat_diagnostic *d);

/* Lock and unlock unconditionally; 0 or errno. Pages of a locked mapping must be unlocked before
 * they can be dropped. */
int mafat_lock_pages(void *memory, size_t bytes);
void mafat_lock_release(void *memory, size_t bytes);

#endif
