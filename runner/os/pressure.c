/* Reads pressure stall information (PSI) of the cgroup or the system. Called by api/model.c to
 * report how long runs waited for memory. Keeps one file descriptor open. */
#include "runner/os/pressure.h"

#include "runner/os/groups.h"
#include "runner/os/lines.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void mafat_pressure_open(struct mafat_pressure *p, const char *root)
{
  struct mafat_stall now;
  char path[512];
  *p = (struct mafat_pressure){mafat_groups_open_pressure(root), "cgroup"};
  if (p->fd < 0) {
    snprintf(path, sizeof path, "%s/proc/pressure/memory", root);
    *p = (struct mafat_pressure){open(path, O_RDONLY | O_CLOEXEC), "system"};
  }
  /* if the kernel was booted with psi=0, the file can be opened but not read */
  if (!mafat_pressure_read(p, &now)) mafat_pressure_close(p);
}

/* Parses "some avg10=0.00 avg60=0.00 avg300=0.00 total=0". */
static bool find_total(const char *text, const char *key, uint64_t *total_us)
{
  const char *line = strstr(text, key), *total = line ? strstr(line, "total=") : NULL;
  if (total) *total_us = strtoull(total + strlen("total="), NULL, 10);
  return total != NULL;
}

bool mafat_pressure_read(const struct mafat_pressure *p, struct mafat_stall *stall)
{
  char text[256];
  *stall = (struct mafat_stall){0};
  return mafat_lines_read(p->fd, text, sizeof text) && find_total(text, "some ", &stall->some_us) &&
         find_total(text, "full ", &stall->full_us);
}

void mafat_pressure_close(struct mafat_pressure *p)
{
  if (p->fd >= 0) close(p->fd);
  *p = (struct mafat_pressure){.fd = -1};
}
