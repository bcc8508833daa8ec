/* Reads one field of /proc/self/status in kB, such as "VmRSS" or "VmHWM"; 0 if it is missing.
 * Included by network.c and outputs.c. */
#ifndef TESTS_DARKNET_STATUS_H
#define TESTS_DARKNET_STATUS_H

#include <stdio.h>
#include <string.h>

static long status_kb(const char *field)
{
  char line[256];
  long kb = 0;
  size_t length = strlen(field);
  FILE *status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status))
    if (strncmp(line, field, length) == 0 && line[length] == ':')
      sscanf(line + length + 1, "%ld", &kb);
  if (status) fclose(status);
  return kb;
}

#endif
