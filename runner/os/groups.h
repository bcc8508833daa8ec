/* Cgroups of this process (v1, v2 or both): memory limit and pressure file. `root` is prepended to
 * every path: "" for this system; tests pass folders with their own proc and sys. Allocates
 * nothing. Included by programs/mafat/doctor.c and runner/os. */
#ifndef MAFAT_RUNNER_OS_GROUPS_H
#define MAFAT_RUNNER_OS_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runner/os/lines.h"

struct mafat_limited_group {
  uint64_t limit;               /* UINT64_MAX: none */
  /* folder of the cgroup that is charged against the limit; "": not visible */
  char folder[MAFAT_PATH_ROOM];
  bool v2;
};

/* Finds the least memory limit among the cgroups and their visible ancestors. */
void mafat_groups_find_limit(struct mafat_limited_group *least, const char *root);

/* Opens memory.pressure of the process's v2 cgroup, which counts how long its tasks wait for
 * memory. -1: there is no such cgroup, or the kernel does not count. */
int mafat_groups_open_pressure(const char *root);

/* Reads the number after `key` at the start of a line of a file; key "": a line that begins with a
 * number. "max" is not a number: false. */
bool mafat_groups_number(const char *root, const char *path, const char *key, uint64_t *value);

#endif
