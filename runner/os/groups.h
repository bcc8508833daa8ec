/* The control groups that this process is in, v1, v2 or both: what they allow it, and where they say what it
 * had to wait for. `root` stands before every path that is read: "" for this system; tests have folders with
 * a proc and a sys of their own. Allocates nothing. */
#ifndef MAFAT_RUNNER_OS_GROUPS_H
#define MAFAT_RUNNER_OS_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runner/os/lines.h"

struct mafat_limited_group {
  uint64_t limit;               /* UINT64_MAX: none */
  char folder[MAFAT_PATH_ROOM]; /* of what is charged against it, as far as that can be seen; "": not known */
  bool v2;
};

/* The least limit of memory among the groups and their ancestors, as far as they can be seen. */
void mafat_groups_find_limit(struct mafat_limited_group *least, const char *root);

/* What tells how long the tasks of the process's v2 group wait for memory: a descriptor. -1: it is in none, or the
 * kernel does not count. */
int mafat_groups_open_pressure(const char *root);

/* Of a file: the number behind `key` at the start of a line; key "": the first line is it. "max" is no number. */
bool mafat_groups_number(const char *root, const char *path, const char *key, uint64_t *value);

#endif
