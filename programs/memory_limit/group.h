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
  char name[PATH_ROOM];          /* below the mount, for libcgroup and in messages */
  char folder[PATH_ROOM];        /* in the memory hierarchy */
  char cpuset_folder[PATH_ROOM]; /* in that of cpusets; v2: the same; "": none is tried */
  bool has_cpuset;               /* it was made and took the CPUs */
  bool has_swap_limit;           /* swap is accounted for and can be limited */
  int64_t limit_bytes, swap_bytes; /* as the kernel keeps them; NO_LIMIT */
};

/* Names it after `pid`; makes nothing. */
bool group_name(struct limit_group *g, const struct limit_place *p, pid_t pid, bool cpuset,
                struct why *why);

/* Kills what is in groups of processes that are gone, and removes them. */
void group_sweep(const struct limit_place *p);

/* Is its name free still? Another container's process may have our number; then it is
 * named no more, so that nothing of the other's is touched. */
bool group_is_free(struct limit_group *g, struct why *why);

/* Makes it, sets its limits and CPUs, and sees by reading back that they hold. On
 * failure something may be there: group_remove(). */
bool group_make(struct limit_group *g, const struct limit_options *o, struct why *why);

/* Moves a process there, and into the groups of o->joins, first; gives it o->cpus. */
bool group_join(const struct limit_group *g, const struct limit_options *o, pid_t pid,
                struct why *why);

/* Sends SIGKILL to everything in it. */
void group_kill(const struct limit_group *g);

/* Kills and removes, trying for a while; false if something is still there. */
bool group_remove(const struct limit_group *g);

#endif
