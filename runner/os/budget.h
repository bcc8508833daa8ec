/* Memory budget of this process if the user gives none: what is free below the limits of its
 * cgroups, else a share of the available memory. Reads /proc and /sys; allocates nothing. Included
 * by api, programs/mafat/doctor.c, runner/calibrate/calibrate.c and lock.c. */
#ifndef MAFAT_RUNNER_OS_BUDGET_H
#define MAFAT_RUNNER_OS_BUDGET_H

#include <stdbool.h>
#include <stddef.h>

struct mafat_budget {
  size_t bytes;       /* SIZE_MAX: unknown */
  /* for messages: "cgroup limit", "free in cgroup" (others hold some), "available memory",
   * "unknown" */
  const char *source;
};

/* Part of MemAvailable that is left to other processes: an eighth, at least 16 MiB, at most
 * half. */
enum { MAFAT_BUDGET_SHARE = 8, MAFAT_BUDGET_LEFT = 16 << 20 };

/* Finds the least free memory among the process's cgroups and their ancestors: the limit less what
 * others hold there and the kernel cannot drop (mafat_groups_find_limit). Without a limit, the
 * budget is the available memory minus the part that is left to other processes.
 *
 * `root` is prepended to every path: "" for this system; tests pass folders with their own proc and
 * sys. */
void mafat_budget_find(struct mafat_budget *budget, const char *root);

/* Sets *bytes to what is free in the cgroups alone; false: no cgroup has a limit. */
bool mafat_budget_of_groups(size_t *bytes, const char *root);

#endif
