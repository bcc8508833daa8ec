/* Implements memory_limit --check: reports what this machine can do. Reads /proc and cgroup files.
 * Included by memory_limit.c. */
#ifndef MAFAT_MEMORY_LIMIT_CHECK_H
#define MAFAT_MEMORY_LIMIT_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "programs/memory_limit/group.h"
#include "programs/memory_limit/options.h"
#include "programs/memory_limit/place.h"

enum { MAX_SWAPS = 32, MAX_CONTROLLERS = 32 };

struct swap_area {
  char device[256], type[32];
  int64_t size_bytes, used_bytes;
  int priority;
};

struct limit_check {
  bool possible;  /* limits can be set here */
  struct why why; /* reason, if limits cannot be set */
  char controllers[MAX_CONTROLLERS][32];
  int n_controllers;
  /* what cgroups have here: limits of swap, memory.peak, cgroup.kill, sets of CPUs */
  bool swap_accounting, peak, kill, cpuset;
  /* of the machine; -1: unknown */
  int64_t memory_bytes, available_bytes, swap_bytes, swap_free_bytes;
  struct swap_area swaps[MAX_SWAPS];
  int n_swaps;
};

/* Examines the machine. g: a cgroup that was made as a trial; NULL: none could be made. */
void check_machine(struct limit_check *c, const struct limit_group *g);
/* Writes what check_machine found to fd. Returns false if fd cannot be written. */
bool check_write(int fd, const struct limit_check *c, const struct limit_place *p,
                 enum format format);

#endif
