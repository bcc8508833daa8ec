/* The cgroup that a command runs in: created, limited, joined, killed and removed. Writes cgroup
 * files and sends signals. Included by programs/memory_limit. */
#ifndef MAFAT_MEMORY_LIMIT_GROUP_H
#define MAFAT_MEMORY_LIMIT_GROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "programs/memory_limit/options.h"
#include "programs/memory_limit/place.h"

struct limit_group {
  const struct limit_place *place;
  char name[PATH_ROOM];          /* path below the mount, for libcgroup and messages */
  char folder[PATH_ROOM];        /* folder in the memory hierarchy */
  char cpuset_folder[PATH_ROOM]; /* folder in the cpuset hierarchy; in cgroup v2 equal to `folder`;
                                    "": no cpuset */
  bool has_cpuset;               /* the cpuset was made and accepted the CPUs */
  bool has_swap_limit;           /* swap is accounted for and can be limited */
  int64_t limit_bytes, swap_bytes; /* limits as read back from the kernel; or NO_LIMIT */
};

/* Sets the group's names, which contain `pid`; creates nothing. */
bool group_name(struct limit_group *g, const struct limit_place *p, pid_t pid, bool cpuset,
                struct why *why);

/* Removes the groups of earlier memory_limit processes that have ended; kills processes in them. */
void group_sweep(const struct limit_place *p);

/* True if no group of this name exists. If one does, a process of another container has the same
 * pid. The name is then cleared, so that the other's group is not touched. */
bool group_is_free(struct limit_group *g, struct why *why);

/* Creates the group, sets its limits and CPUs, and checks them by reading them back. After a
 * failure the caller calls group_remove(), as part of the group may exist. */
bool group_make(struct limit_group *g, const struct limit_options *o, struct why *why);

/* Moves a process into the groups of o->joins and then into this group, and binds it to o->cpus. */
bool group_join(const struct limit_group *g, const struct limit_options *o, pid_t pid,
                struct why *why);

/* Sends SIGKILL to all processes in the group. */
void group_kill(const struct limit_group *g);

/* Kills the processes and removes the group, repeatedly for a while. Returns false if it still
 * exists. */
bool group_remove(const struct limit_group *g);

#endif
