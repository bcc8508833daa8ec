/* Lists and locks the private memory of this process, which the kernel swaps out if the cgroup is
 * full. Reads /proc; locks pages. Included by api and headroom.c. */
#ifndef MAFAT_RUNNER_OS_OWN_H
#define MAFAT_RUNNER_OS_OWN_H

#include <stdint.h>

struct mafat_own_range {
  uintptr_t begin, end;
};

/* A process has about twenty ranges. If it has more than 128, only those at the lowest addresses
 * are listed. */
struct mafat_own {
  struct mafat_own_range of[128];
  int n;
};

/* Lists private mappings that are or were writable: data, heap, stacks, arenas. Empty without
 * /proc. */
void mafat_own_list(struct mafat_own *own);

/* Locks all these ranges, as far as permitted; pages are locked when touched (runner/os/lock.h).
 * Returns the heap's range; end is 0 if it is not found. */
struct mafat_own_range mafat_own_lock(void);
/* Locks the whole heap again and updates its end. Any part of it may be new: free() returns memory
 * at the end to the system, and what grows there afterwards is not locked. */
void mafat_own_lock_more(struct mafat_own_range *heap);
/* Returns free heap memory to the system. Unlocks the heap meanwhile, because locked pages cannot
 * be dropped, and updates its end. */
void mafat_own_trim(struct mafat_own_range *heap);

#endif
