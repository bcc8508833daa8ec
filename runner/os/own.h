/* What of this process is nobody else's: the memory that is swapped, where there is swap, when its group is full. */
#ifndef MAFAT_RUNNER_OS_OWN_H
#define MAFAT_RUNNER_OS_OWN_H

#include <stdint.h>

struct mafat_own_range {
  uintptr_t begin, end;
};

/* A process has some twenty; of one that has more, those at the lowest addresses. */
struct mafat_own {
  struct mafat_own_range of[128];
  int n;
};

/* Private mappings that can be written, or could when they were made: data, heap, stacks, arenas. None where /proc is
 * absent. */
void mafat_own_list(struct mafat_own *own);

/* Locks all of them that are there by now, pages as they are touched (lock.h), as far as the process may. Which of them the
 * heap is; end 0: it is none that can be told. */
struct mafat_own_range mafat_own_lock(void);
/* Locks what such a heap has grown by; end says how far it is locked. Nothing is asked of the system where it has not. */
void mafat_own_lock_more(struct mafat_own_range *heap);
/* What is free of a heap that is locked goes back to the system, which refuses to take locked pages. */
void mafat_own_trim(struct mafat_own_range *heap);

#endif
