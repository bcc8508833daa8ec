/* Restricts the process, by filter.h and landlock.h, to what it still has to do. An attacker who
 * controls it through a flaw in a parser or decoder can only compute, read files, and write to open
 * descriptors and outputs. SECURITY.md lists what remains possible. Included by
 * programs/run_inference/session.h. */
#ifndef MAFAT_PROGRAM_SANDBOX_SANDBOX_H
#define MAFAT_PROGRAM_SANDBOX_SANDBOX_H

#include <stdbool.h>

/* Permissions in addition to writing to open descriptors. */
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

/* Called before any foreign file is read, with a single thread. Threads, rings and reading are
 * still allowed. Returns false and sets sandbox->lacks if the kernel or machine has no filters. */
bool mafat_sandbox_begin(struct mafat_sandbox *sandbox,
                         const struct mafat_sandbox_permissions *permissions);

/* Called when everything is open: from now on no thread can start threads or create rings. Returns
 * false as mafat_sandbox_begin does. */
bool mafat_sandbox_close(struct mafat_sandbox *sandbox);

#endif
