/* How much memory this process may use, where nobody says: the limits of its
 * control groups, else what the system has available. */
#ifndef MAFAT_RUNNER_OS_BUDGET_H
#define MAFAT_RUNNER_OS_BUDGET_H

#include <stdbool.h>
#include <stddef.h>

struct mafat_budget {
  size_t bytes;       /* SIZE_MAX: not known */
  const char *source; /* for messages: "cgroup limit", "available memory", "unknown" */
};

/* Of MemAvailable so much is left to others: an eighth, 16 MB at least, but no more
 * than half. */
enum { MAFAT_BUDGET_SHARE = 8, MAFAT_BUDGET_LEFT = 16 << 20 };

/* The smallest limit among the process's groups and their ancestors, v1
 * (memory.limit_in_bytes) and v2 (memory.max), as far as they can be seen; a limit
 * above the machine's memory is none. Swap limits (memsw) and those that only slow
 * down (memory.high, soft limits) are not asked. Else MemAvailable, less what is left to others.
 *
 * `root` stands before every path that is read: "" for this system; tests have
 * folders with a proc and a sys of their own. Allocates nothing. */
void mafat_budget_find(struct mafat_budget *budget, const char *root);

/* The limits of the groups alone; false: there is none. */
bool mafat_budget_of_groups(size_t *bytes, const char *root);

#endif
