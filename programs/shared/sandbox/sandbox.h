/* Restricts the process, by filter.h and landlock.h, to what it still has to do. An attacker who
 * controls it through a flaw in a parser or decoder can only compute, read files, and write to open
 * descriptors and outputs. SECURITY.md lists what remains possible. Included by
 * programs/run_inference/session.h. */
#ifndef MAFAT_PROGRAM_SANDBOX_SANDBOX_H
#define MAFAT_PROGRAM_SANDBOX_SANDBOX_H

#include <stdbool.h>

/* Permissions of the process in addition to reading files and writing to open descriptors. */
struct mafat_sandbox_permissions {
  const char *const *outputs; /* (n_outputs) paths of files to be written */
  int n_outputs;
  const char *copies; /* folder for copies of a model that is read from a pipe; NULL: none */
  bool serving; /* accept connections on open listeners (filter.h has their numbers) */
  bool camera; /* get frames from an open camera */
};

struct mafat_sandbox {
  bool filter;       /* system calls are filtered (seccomp) */
  int landlock;      /* version of Landlock, if it restricts paths; else 0 */
  const char *lacks; /* why there is no filter; NULL: there is one */
  bool outputs, copies, serving, camera; /* the permissions that were given */
};

/* Applies the restrictions that allow opening a model: the process may still start threads, create
 * rings (io_uring) and read files. Call it with a single thread, before any file of other people is
 * read. Returns false and sets sandbox->lacks if the kernel or the machine has no filters. */
bool mafat_sandbox_begin(struct mafat_sandbox *sandbox,
                         const struct mafat_sandbox_permissions *permissions);

/* Adds restrictions when everything is open: from then on no thread can start threads or create
 * rings. Returns false and sets sandbox->lacks if this cannot be forbidden. */
bool mafat_sandbox_close(struct mafat_sandbox *sandbox);

#endif
