/* Makes room in a memory cgroup before it is needed.
 *
 * When a cgroup reaches its limit, the kernel reclaims pages: cached files that nobody needs, but
 * also our code, which the next call reads again, and our data, which it swaps out. It scans a few
 * pages of each LRU list and keeps those used since the last scan. So before the first run this
 * module once touches as much memory as the run will need, and meanwhile touches all other pages of
 * the process repeatedly. The kernel then reclaims pages that are not the process's, such as the
 * file system's metadata. If everything fits, nothing is done. Maps memory temporarily; reads /proc
 * and the cgroup's files. Included by api/footprint.c and api/model.c. */
#ifndef MAFAT_RUNNER_OS_HEADROOM_H
#define MAFAT_RUNNER_OS_HEADROOM_H

#include <stddef.h>

/* Reclaims cached pages until the predicted charge fits the process's cgroups. charge_bytes is the
 * predicted charge; if it exceeds the cgroup's limit, the limit counts instead. here_bytes is how
 * much of it is already resident. root: runner/os/groups.h. Returns the number of bytes that had to
 * be reclaimed; 0: none. */
size_t mafat_headroom_make(size_t charge_bytes, size_t here_bytes, const char *root);

/* Returns the number of bytes that can still be charged before a cgroup reaches its limit; SIZE_MAX
 * without a limit. */
size_t mafat_headroom_left(const char *root);

#endif
