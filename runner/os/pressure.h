/* How long the tasks of a memory group had to wait for memory (PSI): that of the v2 group that the process is in
 * or, where there is none, of the whole system. */
#ifndef MAFAT_RUNNER_OS_PRESSURE_H
#define MAFAT_RUNNER_OS_PRESSURE_H

#include <stdbool.h>
#include <stdint.h>

struct mafat_pressure {
  int fd;            /* -1: the system does not say */
  const char *scope; /* "cgroup", "system"; NULL as well */
};

/* Microseconds since it began: some of the tasks waited, all of them did. */
struct mafat_stall {
  uint64_t some_us, full_us;
};

/* root: runner/os/groups.h. */
void mafat_pressure_open(struct mafat_pressure *p, const char *root);
/* False, and zeros: it is not known. */
bool mafat_pressure_read(const struct mafat_pressure *p, struct mafat_stall *stall);
void mafat_pressure_close(struct mafat_pressure *p);

#endif
