/* Replaces Check's _mark_point, so that tests run faster. Check calls it at every assertion that
 * holds and writes the position to a file, to know where a test died. This version writes at most
 * once a millisecond. Called through the linker option --wrap=_mark_point. */
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

void __real__mark_point(const char *file, int line);
void __wrap__mark_point(const char *file, int line);

/* The time of the last mark is atomic, because tests also assert in threads of their own. */
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
