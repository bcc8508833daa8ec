/* Wraps Check's _mark_point, which writes to a file at every assertion that holds, to know where
 * a test died. That takes most of the time of suites with many comparisons, so this writes once
 * a millisecond. Needs the linker option --wrap=_mark_point. */
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

void __real__mark_point(const char *file, int line);
void __wrap__mark_point(const char *file, int line);

/* Atomic, since tests also assert in their own threads. */
void __wrap__mark_point(const char *file, int line)
{
  static _Atomic int64_t last_ns;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  int64_t now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
  if (now_ns - atomic_load_explicit(&last_ns, memory_order_relaxed) < 1000000) return;
  atomic_store_explicit(&last_ns, now_ns, memory_order_relaxed);
  __real__mark_point(file, line);
}
