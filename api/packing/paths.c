/* Checks paths of a packing, creates the temporary file and renames it. Called by pack.c. Locks,
 * links and removes files. */
#include "api/packing/paths.h"

#include "base/error.h"
#include "base/file_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_file(const char *path, const struct stat *other)
{
  struct stat st;
  return stat(path, &st) == 0 && mafat_is_one_file(&st, other);
}

/* Fails if `path`, to be written, is one of the inputs. */
static int check_apart(const struct mafat_pack_paths *p, const char *path,
                       struct mafat_diagnostic *d)
{
  struct stat out;
  const char *same = NULL;
  if (stat(path, &out) != 0) return MAFAT_OK;
  if (is_file(p->weights, &out)) same = p->cfg ? "weights" : "model";
  if (p->cfg && is_file(p->cfg, &out)) same = "cfg";
  return same
             ? mafat_fail(d, MAFAT_EINVAL,
                          "%s: expected another file for the output, found the %s", path, same)
             : MAFAT_OK;
}

int mafat_pack_paths_check(const struct mafat_pack_paths *p, struct mafat_diagnostic *d)
{
  struct stat in, out;
  bool exists = lstat(p->out, &out) == 0;
  if (exists && !p->replace)
    return mafat_fail(d, MAFAT_EINVAL, "%s: exists; %s replaces it", p->out, p->replace_name);
  if (exists && !S_ISREG(out.st_mode) && !S_ISLNK(out.st_mode))
    return mafat_fail(d, MAFAT_EINVAL, "%s: exists, and is no regular file: not replaced", p->out);
  if (p->given) return check_apart(p, p->path, d);
  if (stat(p->weights, &in) != 0 || access(p->weights, R_OK) != 0)
    return mafat_fail(d, MAFAT_EIO, "%s: cannot open: %s", p->weights, strerror(errno));
  if (!S_ISREG(in.st_mode))
    return mafat_fail(d, MAFAT_EIO, "%s: expected a regular file", p->weights);
  /* a symbolic link is replaced, not its target, so it need not be checked */
  int code = exists && S_ISREG(out.st_mode) ? check_apart(p, p->out, d) : MAFAT_OK;
  return code ? code : check_apart(p, p->path, d);
}

static int check_constants(const struct mafat_network *n, const char *path,
                           struct mafat_diagnostic *d)
{
  struct stat in, out;
  bool exists = stat(path, &out) == 0;
  for (int i = 0; i < n->n_files; i++) {
    if (stat(n->files[i], &in) != 0 || access(n->files[i], R_OK) != 0)
      return mafat_fail(d, MAFAT_EINVAL, "%s: cannot open: %s", n->files[i], strerror(errno));
    if (!S_ISREG(in.st_mode))
      return mafat_fail(d, MAFAT_EINVAL, "%s: expected a regular file", n->files[i]);
    if (exists && is_file(n->files[i], &out))
      return mafat_fail(
          d, MAFAT_EINVAL,
          "%s: expected another file for the output, found constants of the model", path);
  }
  return MAFAT_OK;
}

int mafat_pack_paths_check_network(const struct mafat_pack_paths *p, const struct mafat_network *n,
                                   struct mafat_diagnostic *d)
{
  int code = check_constants(n, p->path, d);
  return code ? code : check_constants(n, p->out, d);
}

static int check_read(const struct mafat_pack_paths *p, const char *read, const char *what,
                      struct mafat_diagnostic *d)
{
  const char *written[] = {p->path, p->out};
  struct stat out;
  for (int i = 0; read && i < 2; i++)
    if (lstat(written[i], &out) == 0 && is_file(read, &out)) /* lstat: links are replaced */
      return mafat_fail(d, MAFAT_EINVAL, "%s: expected another file for the output, found %s",
                        written[i], what);
  return MAFAT_OK;
}

int mafat_pack_paths_check_read(const struct mafat_pack_paths *p,
                                const struct mafat_pack_options *o, struct mafat_diagnostic *d)
{
  int code = check_read(p, o->measure, "a picture that is read", d);
  for (int i = 0; i < o->n_calibrate && code == MAFAT_OK; i++)
    code = check_read(p, o->calibrate[i], "a picture that is read", d);
  for (int i = 0; i < o->n_constants && code == MAFAT_OK; i++) { /* names may contain a = */
    for (const char *at = strchr(o->constants[i], '='); at && code == MAFAT_OK;
         at = strchr(at + 1, '='))
      code = check_read(p, at + 1, "a constant that is read", d);
  }
  return code;
}

/* True if the path no longer names this file: another process may have renamed it before it was
 * locked. */
static bool is_renamed(int fd, const char *path)
{
  struct stat mine, named;
  if (fstat(fd, &mine) != 0) return false; /* unknown */
  return stat(path, &named) == 0 ? !mafat_is_one_file(&named, &mine) : errno == ENOENT;
}

/* Creates the temporary file and locks it. A file that a killed process has left is overwritten. If
 * another process holds the lock, because it is writing the file, this fails; file systems without
 * locks do not detect that. */
int mafat_pack_paths_create(const struct mafat_pack_paths *p, int *fd, struct mafat_diagnostic *d)
{
  *fd = open(p->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (*fd < 0) return mafat_fail(d, MAFAT_EIO, "%s: %s", p->path, strerror(errno));
  bool taken =
      (flock(*fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) || is_renamed(*fd, p->path);
  if (!taken && ftruncate(*fd, 0) == 0) return MAFAT_OK;
  int code = taken ? mafat_fail(d, MAFAT_EIO, "%s: another process writes it", p->path)
                   : mafat_fail(d, MAFAT_EIO, "%s: %s", p->path, strerror(errno));
  if (!taken) unlink(p->path);
  close(*fd);
  *fd = -1;
  return code;
}

int mafat_pack_paths_finish(const struct mafat_pack_paths *p, struct mafat_diagnostic *d)
{
  /* link() fails if the name exists by now. Some file systems have no hard links: there,
   * rename() */
  if (!p->replace && link(p->path, p->out) == 0) {
    unlink(p->path);
    return MAFAT_OK;
  }
  if (!p->replace && errno == EEXIST)
    return mafat_fail(d, MAFAT_EIO, "%s: exists; %s replaces it", p->out, p->replace_name);
  return rename(p->path, p->out) == 0 ? MAFAT_OK
                                      : mafat_fail(d, MAFAT_EIO, "%s: %s", p->out, strerror(errno));
}
