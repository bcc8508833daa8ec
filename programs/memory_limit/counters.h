/* Counters of the kernel for a cgroup, a process and the whole system. Reads /proc and the cgroup's
 * files; counters_system_open allocates. Included by watch.h. */
#ifndef MAFAT_MEMORY_LIMIT_COUNTERS_H
#define MAFAT_MEMORY_LIMIT_COUNTERS_H

#include <stdint.h>
#include <sys/types.h>

#include "programs/memory_limit/group.h"

/* Value of a counter that this machine lacks, or that could not be read. */
#define NOT_COUNTED (-1)

/* Current bytes of a cgroup, including the cgroups below it. */
struct group_memory {
  int64_t usage_bytes; /* all charges, with kernel memory and pages charged in advance */
  int64_t anon_bytes, cache_bytes, swap_bytes;
};

/* Counters since the cgroup was made. Faults, refaults and swap count pages. */
struct group_events {
  int64_t peak_bytes, swap_peak_bytes, limit_hits, oom_kills;
  int64_t major_faults, refaults_anon, refaults_file, swap_ins, swap_outs;
};

/* Memory of a process at its exit. */
struct process_memory {
  int64_t vm_hwm_bytes, resident_anon_bytes, read_bytes; /* peak of resident bytes; resident
                                                            anonymous bytes; bytes read from disk */
};

/* The whole system's swap traffic since counters_system_open. */
struct system_swap {
  int64_t in_bytes, out_bytes;
};

void counters_memory(const struct limit_group *g, struct group_memory *memory);
void counters_events(const struct limit_group *g, struct group_events *events);
void counters_process(pid_t pid, struct process_memory *process);
/* Resident bytes of the process, even if its first thread has ended and others still run; 0: all
 * have ended. */
int64_t counters_resident(pid_t pid);

/* The system's counters in /proc/vmstat; info NULL: it cannot be opened, and nothing is counted. */
struct counters_system {
  struct vmstat_info *info;
  uint64_t in_pages, out_pages; /* counters of swapped pages when opened */
  long page_bytes;
};
void counters_system_open(struct counters_system *s);
/* Returns the swap traffic. Reads the counters at most once a second, as vmstat(1) does, unless
 * `fresh` is true. */
struct system_swap counters_system_read(struct counters_system *s, int fresh);
void counters_system_close(struct counters_system *s);

#endif
