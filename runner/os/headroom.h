/* Room in a memory group before it is needed. When a group reaches its limit the kernel takes pages from it: cached
 * ones that nobody needs any more (the file system's records, which came in with every file that was opened on a cold
 * machine), code that comes back with the next call, or ours, into swap. It looks at a few of each, and keeps those
 * that were used since it looked last. So once, before the first run, as much memory as the run will take is touched,
 * and with it, over and over, everything else that is ours: what the kernel finds unused then are the others, and
 * runs find room. Nothing is done where all of it fits anyway. */
#ifndef MAFAT_RUNNER_OS_HEADROOM_H
#define MAFAT_RUNNER_OS_HEADROOM_H

#include <stddef.h>

/* So that what the process's groups (root: runner/os/groups.h) will be charged fits, as far as cached pages stand in
 * its way: charge_bytes, of which here_bytes are there, but no more than the least limit. Returns how many bytes had to
 * go; 0: none. Takes as much memory as is still to come, for the time being. */
size_t mafat_headroom_make(size_t charge_bytes, size_t here_bytes, const char *root);

/* What more can be charged to the process's groups before they reach a limit; SIZE_MAX where they have none. */
size_t mafat_headroom_left(const char *root);

#endif
