/* Filter of system calls, built from a table. Included by programs/mafat_serve/listeners.h and
 * sandbox.c. */
#ifndef MAFAT_PROGRAM_SANDBOX_FILTER_H
#define MAFAT_PROGRAM_SANDBOX_FILTER_H

#include <stdbool.h>

/* Allowed besides reading, waiting and computing. */
struct mafat_filter_permissions {
  bool opening; /* threads, rings, and another filter */
  bool outputs; /* files are made, renamed and removed */
  bool serving; /* connections are accepted: by descriptors of the numbers below, and no others */
  bool camera;  /* Video4Linux is started, gives frames and takes buffers back */
};

/* Each a power of two of them, at a multiple of it: so one comparison knows them. */
enum {
  MAFAT_SANDBOX_LISTENERS = 4,
  MAFAT_SANDBOX_FIRST_LISTENER = 124,
  MAFAT_SANDBOX_BODIES = 128,
  MAFAT_SANDBOX_FIRST_BODY = 128
};

/* For all threads of the process, for good; whatever else is called fails with EPERM. 0 or an
 * errno: ENOSYS where the machine or kernel has no such filters. */
int mafat_filter_install(const struct mafat_filter_permissions *permissions);

/* Removes what `opening` allowed, with a few comparisons for every call instead of the whole
 * list a second time. Returns the same as above. */
int mafat_filter_narrow(void);

#endif
