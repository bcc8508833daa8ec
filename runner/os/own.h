/* Private memory of this process: the pages that the kernel swaps out if the cgroup is full. Reads
 * /proc; locks pages. Included by api and headroom.c. */
#ifndef MAFAT_RUNNER_OS_OWN_H
#define MAFAT_RUNNER_OS_OWN_H

#include <stdint.h>

struct mafat_own_range {
  uintptr_t begin, end;
};

/* A process has about twenty ranges. If it has more than fit, those at the lowest addresses are
 * listed. */
struct mafat_own {
  struct mafat_own_range of[128];
  int n;
};

/* Lists private mappings that are or were writable: data, heap, stacks, arenas. Empty without
 * /proc. */
void mafat_own_list(struct mafat_own *own);

/* Locks all present ranges, pages as they are touched (runner/os/lock.h), as far as permitted.
 * Returns the heap's range; end is 0 if it is not found. */
struct mafat_own_range mafat_own_lock(void);
/* Locks what the heap has grown by since, and updates its end. No system call if it has not
 * grown. */
void mafat_own_lock_more(struct mafat_own_range *heap);
/* Returns free heap memory to the system. Unlocks the heap meanwhile: locked pages cannot be
 * dropped. */
void mafat_own_trim(struct mafat_own_range *heap);

#endif
