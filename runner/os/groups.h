/* Cgroups of this process (v1, v2 or both): free memory, processor quota and pressure file. `root`
 * is prepended to every path: "" for this system; tests pass folders with their own proc and sys.
 * Reads /proc and the cgroups' files; allocates nothing. Included by api/choose.c,
 * programs/mafat/doctor.c, runner/calibrate/calibrate.c and runner/os. */
#ifndef MAFAT_RUNNER_OS_GROUPS_H
#define MAFAT_RUNNER_OS_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runner/os/lines.h"

/* If the other processes of a cgroup use at most this many bytes, mafat_limited_group.others is 0.
 * Every prediction already includes as many bytes, for a launcher (MAFAT_DEFAULT_RESERVE_BYTES) and
 * for pages that processors charge ahead (MAFAT_CHARGE_AHEAD). */
enum { MAFAT_GROUPS_UNCOUNTED = 512 << 10 };

struct mafat_limited_group {
  uint64_t limit;  /* bytes; UINT64_MAX: none */
  uint64_t others; /* bytes that other processes use and the kernel cannot drop; at most `limit` */
  uint64_t droppable; /* bytes of cached file pages that no process maps */
  /* folder of the cgroup that is charged against the limit; "": not visible */
  char folder[MAFAT_PATH_ROOM];
  bool v2, throttles; /* throttles: the limit is memory.high */
};

/* Finds the cgroup with the least free memory (limit minus others) among the process's cgroups and
 * their visible ancestors: v1 (memory.limit_in_bytes) and v2 (memory.max, memory.high). Ignores
 * limits that are not below the machine's memory, limits of swap (memsw) and soft limits. If no
 * cgroup of this system has a limit, does not look again for 100 ms. */
void mafat_groups_find_limit(struct mafat_limited_group *least, const char *root);

/* Returns the least processor quota of the cgroups (cpu.max, cpu.cfs_quota_us) in thousandths of a
 * processor; UINT64_MAX: none. */
uint64_t mafat_groups_quota(const char *root);
/* Returns the number of processors that this process may keep busy: `allowed`, the number that its
 * affinity mask allows, but at most the quota rounded down, and at least 1. */
int mafat_groups_processors(int allowed, const char *root);

/* Memory of the machine; 0: unknown. */
struct mafat_machine_memory {
  uint64_t total_kb, available_kb;
};

/* Reads /proc/meminfo. Without /proc, calls sysinfo(2) and counts free memory and buffers as
 * available. */
void mafat_groups_find_memory(struct mafat_machine_memory *memory, const char *root);

/* Opens memory.pressure of the process's v2 cgroup, which counts how long the cgroup's tasks wait
 * for memory. Returns a descriptor that the caller closes; -1: there is no such file or cgroup. */
int mafat_groups_open_pressure(const char *root);

/* Finds the first line of the file root + path that begins with `key`, blanks if any, and a number;
 * reads that number. key "": the line begins with the number. False: there is no such line; "max"
 * is not a number. */
bool mafat_groups_number(const char *root, const char *path, const char *key, uint64_t *value);

#endif
