/* Restricts the process: no new privileges, Landlock, seccomp. Called by
 * programs/run_inference/session.c, before run_inference and mafat_serve read files that may come
 * from strangers. The restrictions cannot be undone. */
#include "programs/shared/sandbox/sandbox.h"

#include "programs/shared/sandbox/filter.h"
#include "programs/shared/sandbox/landlock.h"

#include <errno.h>
#include <sys/prctl.h>

static const char *reason(int error)
{
  return error == ENOSYS   ? "the kernel or machine has no filters"
         : error == EACCES ? "no right to"
                           : "the kernel refused it";
}

static bool install(struct mafat_sandbox *s, bool opening)
{
  const struct mafat_filter_permissions permissions = {.opening = opening,
                                                       .outputs =
                                                           s->outputs || (opening && s->copies),
                                                       .serving = s->serving,
                                                       .camera = s->camera};
  const bool same_outputs = s->outputs || !s->copies;
  int error = !opening && same_outputs ? mafat_filter_narrow() : mafat_filter_install(&permissions);
  s->filter = error == 0;
  s->lacks = error ? reason(error) : 0;
  return s->filter;
}

bool mafat_sandbox_begin(struct mafat_sandbox *s,
                         const struct mafat_sandbox_permissions *permissions)
{
  *s = (struct mafat_sandbox){.outputs = permissions->n_outputs > 0,
                              .copies = permissions->copies != 0,
                              .serving = permissions->serving,
                              .camera = permissions->camera};
  /* Without this, an executed set-user-ID program could get more rights, although the filter
   * restricts its calls. */
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    s->lacks = reason(errno);
    return false;
  }
  s->landlock =
      mafat_landlock_enter(permissions->outputs, permissions->n_outputs, permissions->copies);
  return install(s, true);
}

bool mafat_sandbox_close(struct mafat_sandbox *s)
{
  return s->filter && install(s, false);
}
