/* Memory budget of this process if the user gives none: the limit of its cgroups, else a share of
 * the available memory. Reads /proc and /sys; allocates nothing. Included by api,
 * programs/mafat/doctor.c, runner/calibrate/calibrate.c and lock.c. */
#ifndef MAFAT_RUNNER_OS_BUDGET_H
#define MAFAT_RUNNER_OS_BUDGET_H

#include <stdbool.h>
#include <stddef.h>

struct mafat_budget {
  size_t bytes;       /* SIZE_MAX: unknown */
  const char *source; /* for messages: "cgroup limit", "available memory", "unknown" */
};

/* Part of MemAvailable that is left to other processes: an eighth, at least 16 MiB, at most
 * half. */
enum { MAFAT_BUDGET_SHARE = 8, MAFAT_BUDGET_LEFT = 16 << 20 };

/* Finds the smallest visible limit among the process's cgroups and their ancestors: v1
 * (memory.limit_in_bytes) and v2 (memory.max). A limit above the machine's memory is ignored. So
 * are swap limits (memsw) and throttling limits (memory.high, soft limits). Without a limit, the
 * budget is MemAvailable minus the part that is left to other processes.
 *
 * `root` is prepended to every path: "" for this system; tests pass folders with their own proc and
 * sys. */
void mafat_budget_find(struct mafat_budget *budget, const char *root);

/* Sets *bytes to the cgroup limit alone; false: there is none. */
bool mafat_budget_of_groups(size_t *bytes, const char *root);

#endif
