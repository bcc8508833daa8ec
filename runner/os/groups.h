/* Cgroups of this process (v1, v2 or both): free memory, processor quota and pressure file. `root`
 * is prepended to every path: "" for this system; tests pass folders with their own proc and sys.
 * Allocates nothing. Included by api/choose.c, programs/mafat/doctor.c,
 * runner/calibrate/calibrate.c and runner/os. */
#ifndef MAFAT_RUNNER_OS_GROUPS_H
#define MAFAT_RUNNER_OS_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runner/os/lines.h"

/* Others' bytes up to here are not counted: every prediction has as much for a launcher and for
 * pages that processors charge ahead (MAFAT_DEFAULT_RESERVE_BYTES, MAFAT_CHARGE_AHEAD). */
enum { MAFAT_GROUPS_UNCOUNTED = 512 << 10 };

struct mafat_limited_group {
  uint64_t limit;  /* UINT64_MAX: none */
  uint64_t others; /* bytes of it that others hold and the kernel cannot drop; at most the limit */
  uint64_t droppable; /* bytes of cached file pages that no process maps */
  /* folder of the cgroup that is charged against the limit; "": not visible */
  char folder[MAFAT_PATH_ROOM];
  bool v2, throttles; /* throttles: the limit is memory.high */
};

/* Finds the cgroup with the least free memory, limit less others, among the process's cgroups and
 * their visible ancestors: v1 (memory.limit_in_bytes) and v2 (memory.max, memory.high). Limits of
 * at least the machine's memory, of swap (memsw) and soft limits are ignored. */
void mafat_groups_find_limit(struct mafat_limited_group *least, const char *root);

/* Returns the least processor quota of the cgroups (cpu.max, cpu.cfs_quota_us) in thousandths of a
 * processor; UINT64_MAX: none. */
uint64_t mafat_groups_quota(const char *root);
/* Returns the processors that this process may keep busy: those that its affinity allows, at most
 * the quota rounded down; at least 1. */
int mafat_groups_processors(int allowed, const char *root);

/* Memory of the machine; 0: unknown. */
struct mafat_machine_memory {
  uint64_t total_kb, available_kb;
};

/* Reads /proc/meminfo. Without /proc, by sysinfo(2): free memory is then what is available. */
void mafat_groups_find_memory(struct mafat_machine_memory *memory, const char *root);

/* Opens memory.pressure of the process's v2 cgroup, which counts how long its tasks wait for
 * memory. -1: there is no such cgroup, or the kernel does not count. */
int mafat_groups_open_pressure(const char *root);

/* Reads the number after `key` in the first line of a file that begins with `key` and a number.
 * key "": a line that begins with a number. False: there is none; "max" is not a number. */
bool mafat_groups_number(const char *root, const char *path, const char *key, uint64_t *value);

#endif
