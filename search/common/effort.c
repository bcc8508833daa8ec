/* Reads the clock for deadlines of searches. Called by search/best, search/fdt and
 * search/common/front.c, and through effort.h by search/least and search/motes. Touches nothing. */
#include "search/common/effort.h"

#include <time.h>

long long mafat_effort_now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (long long)t.tv_sec * 1000000000 + t.tv_nsec;
}
