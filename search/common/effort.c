/* The clock of the searches' deadlines. Called by search/best, search/fdt and
 * search/common/front.c, and through effort.h by search/least and search/motes. Only reads the
 * clock. */
#include "search/common/effort.h"

#include <time.h>

long long mafat_effort_now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}
