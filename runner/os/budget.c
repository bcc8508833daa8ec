/* Determines the memory budget from the free memory of cgroups or the available memory of the
 * machine. Called by api/choose.c and api/dry_run.c if no budget was given, by api/facts.c,
 * runner/calibrate/calibrate.c, runner/os/lock.c and programs/mafat/doctor.c. Reads /proc and /sys;
 * allocates nothing. */
#include "runner/os/budget.h"

#include "runner/os/groups.h"

/* Returns the available memory minus a part that is reserved for other processes. */
static uint64_t without_others(uint64_t available)
{
  uint64_t left = available / MAFAT_BUDGET_SHARE;
  if (left < MAFAT_BUDGET_LEFT) left = MAFAT_BUDGET_LEFT;
  if (left > available / 2) left = available / 2;
  return available - left;
}

/* Limits bytes to SIZE_MAX, because a 32-bit process may run on a machine with more memory than it
 * can address. */
static size_t to_size(uint64_t bytes)
{
  return bytes < SIZE_MAX ? (size_t)bytes : SIZE_MAX;
}

void mafat_budget_find(struct mafat_budget *budget, const char *root)
{
  struct mafat_limited_group group;
  struct mafat_machine_memory machine;
  mafat_groups_find_limit(&group, root);
  mafat_groups_find_memory(&machine, root);
  if (group.limit < UINT64_MAX)
    *budget = (struct mafat_budget){to_size(group.limit - group.others),
                                    group.others ? "free in cgroup" : "cgroup limit", true};
  else if (machine.available_kb)
    *budget = (struct mafat_budget){to_size(without_others(machine.available_kb << 10)),
                                    "available memory", false};
  else
    *budget = (struct mafat_budget){SIZE_MAX, "unknown", false};
}
