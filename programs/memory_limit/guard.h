/* A child process in a session of its own. If memory_limit is killed by SIGKILL, the child kills
 * the processes in the cgroup and removes the cgroup. Forks. Included by memory_limit.c. */
#ifndef MAFAT_MEMORY_LIMIT_GUARD_H
#define MAFAT_MEMORY_LIMIT_GUARD_H

#include <sys/types.h>

#include "programs/memory_limit/group.h"

struct guard {
  pid_t pid; /* 0: none */
  int line;  /* our end of a socket pair; the guard acts if it is closed without a message */
};

/* Starts the guard, before the group is made; the guard keeps a copy of the group's name. */
bool guard_start(struct guard *guard, const struct limit_group *g, struct why *why);
/* Ends the guard, which then leaves the group as it is. */
void guard_end(struct guard *guard);

#endif
