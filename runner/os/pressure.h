/* Pressure stall information (PSI): time that tasks waited for memory, in the process's v2 cgroup
 * or else in the whole system. Opens one file and keeps it open; allocates nothing. Included by
 * api/model.h. */
#ifndef MAFAT_RUNNER_OS_PRESSURE_H
#define MAFAT_RUNNER_OS_PRESSURE_H

#include <stdbool.h>
#include <stdint.h>

struct mafat_pressure {
  int fd;            /* -1: not available */
  const char *scope; /* "cgroup" or "system" */
};

/* Microseconds in which some tasks waited, and in which all tasks waited, since the cgroup or the
 * system started. */
struct mafat_stall {
  uint64_t some_us, full_us;
};

/* Opens the cgroup's file, or else the system's; p->fd is -1 if neither can be read. root:
 * runner/os/groups.h. */
void mafat_pressure_open(struct mafat_pressure *p, const char *root);
/* Reads the times. Returns false and sets them to 0 if they are unknown. */
bool mafat_pressure_read(const struct mafat_pressure *p, struct mafat_stall *stall);
void mafat_pressure_close(struct mafat_pressure *p);

#endif
