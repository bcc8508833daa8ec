/* Counters of the kernel for a cgroup, a process and the whole system. Reads /proc and the cgroup's
 * files. Included by watch.h. */
#ifndef MAFAT_MEMORY_LIMIT_COUNTERS_H
#define MAFAT_MEMORY_LIMIT_COUNTERS_H

#include <stdint.h>
#include <sys/types.h>

#include "programs/memory_limit/group.h"

/* Value of a counter that this machine lacks, or that could not be read. */
#define NOT_COUNTED (-1)

/* Bytes now in a group, with groups below it. */
struct group_memory {
  int64_t usage_bytes; /* all that is charged: also kernel memory, and what a batch is ahead */
  int64_t anon_bytes, cache_bytes, swap_bytes;
};

/* Counted since the group was made. Pages where it does not say bytes. */
struct group_events {
  int64_t peak_bytes, swap_peak_bytes, limit_hits, oom_kills;
  int64_t major_faults, refaults_anon, refaults_file, swap_ins, swap_outs;
};

/* Memory of a process at its exit. */
struct process_memory {
  int64_t vm_hwm_bytes, resident_anon_bytes, read_bytes;
};

/* The whole system's swap traffic since the start. */
struct system_swap {
  int64_t in_bytes, out_bytes;
};

void counters_memory(const struct limit_group *g, struct group_memory *memory);
void counters_events(const struct limit_group *g, struct group_events *events);
void counters_process(pid_t pid, struct process_memory *process);
/* Bytes of the process now, also when its first thread has ended and others run on; 0: all have. */
int64_t counters_resident(pid_t pid);

/* Opens /proc/vmstat; where that fails, nothing is counted. */
struct counters_system {
  struct vmstat_info *info;
  uint64_t in_pages, out_pages; /* at the start */
  long page_bytes;
};
void counters_system_open(struct counters_system *s);
/* Reads at most once a second, as vmstat(1) does, unless it is to be `fresh`. */
struct system_swap counters_system_read(struct counters_system *s, int fresh);
void counters_system_close(struct counters_system *s);

#endif
