/* Restricts a process to what it still has to do. An attacker who takes it over through a flaw in a
 * parser or decoder can only compute, read files, and write to what is open. SECURITY.md says what
 * remains possible. Included by programs/run_inference/session.h. */
#ifndef MAFAT_PROGRAM_SANDBOX_SANDBOX_H
#define MAFAT_PROGRAM_SANDBOX_SANDBOX_H

#include <stdbool.h>

/* Written besides open files: new files in the folder of each path, or the file itself. */
struct mafat_sandbox_permissions {
  const char *const *outputs;
  int n_outputs;
  const char *copies; /* a folder: while the model is read, what comes by a pipe is copied there;
                         NULL: nothing does */
  bool serving; /* connections are accepted at sockets that listen already (filter.h has the numbers
                   of their descriptors) */
  bool camera; /* frames are taken from one that is open */
};

struct mafat_sandbox {
  bool filter;       /* system calls are filtered (seccomp) */
  int landlock;      /* the kernel's version of it where paths are confined, too; else 0 */
  const char *lacks; /* why there is no filter; NULL */
  bool outputs, copies, serving, camera; /* some were wished for */
};

/* Before any foreign file is read, while there is one thread: threads, rings and reading are still
 * allowed. False, and sandbox->lacks: this kernel or machine has none. */
bool mafat_sandbox_begin(struct mafat_sandbox *sandbox,
                         const struct mafat_sandbox_permissions *permissions);

/* Restricts all threads, once everything is open: no new threads, no new rings. False: as above. */
bool mafat_sandbox_close(struct mafat_sandbox *sandbox);

#endif
