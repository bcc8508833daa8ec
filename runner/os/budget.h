/* Memory budget of this process if the user gives none: the memory that is free under the limits of
 * its cgroups or, if there are no limits, a share of the available memory. Reads /proc and /sys;
 * allocates nothing. Included by api, programs/mafat/doctor.c, runner/calibrate/calibrate.c and
 * lock.c. */
#ifndef MAFAT_RUNNER_OS_BUDGET_H
#define MAFAT_RUNNER_OS_BUDGET_H

#include <stdbool.h>
#include <stddef.h>

struct mafat_budget {
  size_t bytes;       /* SIZE_MAX: unknown */
  /* where the number is from, for messages: "cgroup limit"; "free in cgroup": the limit minus
   * memory of other processes; "available memory"; "unknown" */
  const char *source;
  bool of_groups; /* `bytes` is what is free below a cgroup's limit */
};

/* Part of the available memory that is left to other processes: 1 / MAFAT_BUDGET_SHARE, but at
 * least MAFAT_BUDGET_LEFT bytes, and at most half. */
enum { MAFAT_BUDGET_SHARE = 8, MAFAT_BUDGET_LEFT = 16 << 20 };

/* Sets the budget to the least free memory among the process's cgroups and their ancestors. Free
 * memory is the limit minus the memory of other processes there that the kernel cannot drop
 * (mafat_groups_find_limit). If no cgroup has a limit, the budget is the available memory
 * (MemAvailable) minus the part that is left to other processes.
 *
 * `root` is prepended to every path: "" for this system; tests pass folders with their own proc and
 * sys. */
void mafat_budget_find(struct mafat_budget *budget, const char *root);

#endif
