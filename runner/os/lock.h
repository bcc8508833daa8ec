/* Memory that the kernel may not swap out (mlock2): where its group is full, it drops pages of files instead, which
 * are on the disk anyway. Locked as they are touched, so that nothing becomes resident for it. A process may lock
 * RLIMIT_MEMLOCK, without end by CAP_IPC_LOCK; what it may is found by trying. Locks are not inherited by fork(). */
#ifndef MAFAT_RUNNER_OS_LOCK_H
#define MAFAT_RUNNER_OS_LOCK_H

#include "base/error.h"

#include <stdbool.h>

enum mafat_lock_wish { MAFAT_LOCK_AUTO, MAFAT_LOCK_ON, MAFAT_LOCK_OFF };

struct mafat_lock {
  enum mafat_lock_wish wish;
  bool on;            /* what is mapped from here on is locked */
  const char *reason; /* why nothing is; NULL: it is, or nobody has asked for it */
};

/* "auto" (NULL), "on", "off". MAFAT_EINVAL. */
int mafat_lock_find(enum mafat_lock_wish *wish, const char *name, struct mafat_diagnostic *d);

/* Decides, for a process that is predicted to be charged so much, and is to lock so many bytes: with `auto` only
 * where a group limits it to no less. root: runner/os/groups.h. MAFAT_ELIMIT: `on`, and the process may not. */
int mafat_lock_decide(struct mafat_lock *lock, size_t charge_bytes, size_t bytes, const char *root,
                      struct mafat_diagnostic *d);

/* A mapping, if locks are on. Where it fails after all, `auto` gives up: lock->on says so. MAFAT_ELIMIT of `on`. */
int mafat_lock_take(struct mafat_lock *lock, void *memory, size_t bytes, struct mafat_diagnostic *d);

/* Of whoever has decided: 0 or errno. Pages of a locked mapping can be given back only while it is not. */
int mafat_lock_pages(void *memory, size_t bytes);
void mafat_lock_release(void *memory, size_t bytes);

#endif
