/* Installs a filter of system calls (seccomp), built from a table. Included by
 * programs/mafat_serve/listeners.h and sandbox.c. */
#ifndef MAFAT_PROGRAM_SANDBOX_FILTER_H
#define MAFAT_PROGRAM_SANDBOX_FILTER_H

#include <stdbool.h>

/* Permissions of the process in addition to reading files, waiting and computing. */
struct mafat_filter_permissions {
  bool opening; /* start threads, create rings (io_uring, AIO), install another filter */
  bool outputs; /* create, rename and remove files */
  bool serving; /* accept connections, only on listeners with the numbers below */
  bool camera;  /* start a Video4Linux camera, get frames and return buffers */
};

/* Numbers of the descriptors of listeners, and of the files in which request bodies are stored.
 * Each count is a power of two, and each first number a multiple of it, so the filter checks a
 * range with one comparison. */
enum {
  MAFAT_SANDBOX_LISTENERS = 4,
  MAFAT_SANDBOX_FIRST_LISTENER = 124,
  MAFAT_SANDBOX_BODIES = 128,
  MAFAT_SANDBOX_FIRST_BODY = 128
};

/* Installs the filter for all threads of the process; it cannot be removed. Other system calls fail
 * with EPERM. Returns 0 or an errno: ENOSYS if the machine or kernel has no such filters. */
int mafat_filter_install(const struct mafat_filter_permissions *permissions);

/* Forbids what `opening` allowed, by a second, short filter. Returns 0 or an errno, as
 * mafat_filter_install does. */
int mafat_filter_narrow(void);

#endif
