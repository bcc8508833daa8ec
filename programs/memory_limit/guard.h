/* Process that outlives memory_limit if SIGKILL ends it: in a session of its own, it then kills
 * what is in the group and removes it. Forks. Included by memory_limit.c. */
#ifndef MAFAT_MEMORY_LIMIT_GUARD_H
#define MAFAT_MEMORY_LIMIT_GUARD_H

#include <sys/types.h>

#include "programs/memory_limit/group.h"

struct guard {
  pid_t pid; /* 0: none */
  int line;  /* as long as this end is open, it waits */
};

/* Before the group is made; the guard keeps a copy of its name. */
bool guard_start(struct guard *guard, const struct limit_group *g, struct why *why);
/* Sends it home; it touches nothing. */
void guard_end(struct guard *guard);

#endif
