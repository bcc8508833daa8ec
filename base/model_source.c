/* Opens, identifies and reads one file of a model. Called by api/, by the readers (base/, formats/)
 * and by runner/weights. Opens file descriptors and allocates; drops pages from the page cache. */
#include "base/model_source.h"

#include "base/open_file.h"
#include "base/part.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Copies the first bytes of a pipe without consuming them (tee). Blocks until the pipe has data. */
MAFAT_PART(opening) static void look_into_pipe(struct mafat_model_source *s)
{
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  ssize_t n = tee(s->fd, ends[1], sizeof s->beginning, 0);
  if (n > 0 && read(ends[0], s->beginning, (size_t)n) != n)
    memset(s->beginning, 0, sizeof s->beginning);
  close(ends[0]);
  close(ends[1]);
}

MAFAT_PART(opening) void mafat_model_source_look(struct mafat_model_source *s)
{
  if (S_ISFIFO(s->st.st_mode)) look_into_pipe(s);
  else if (mafat_model_source_is_regular(s))
    mafat_model_source_read(s, s->beginning, sizeof s->beginning, 0);
}

static int identify(struct mafat_model_source *s, struct mafat_diagnostic *d)
{
  if (s->fd < 0 || fstat(s->fd, &s->st) != 0)
    return mafat_fail(d, MAFAT_EIO, "%s: cannot open: %s", s->path, strerror(errno));
  if (!S_ISREG(s->st.st_mode)) return MAFAT_OK;
  s->bytes = (uint64_t)s->st.st_size;
  s->state = mafat_file_state(&s->st);
  posix_fadvise(s->fd, 0, 0, POSIX_FADV_RANDOM); /* no read-ahead: it could read weights, too */
  return MAFAT_OK;
}

static int make(struct mafat_model_source **out, const char *path, struct mafat_diagnostic *d)
{
  struct mafat_model_source *s = *out = calloc(1, sizeof *s);
  if (s) s->fd = -1;
  if (s && (s->path = strdup(path))) return MAFAT_OK;
  mafat_model_source_close(out);
  return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", path);
}

static int open_path(struct mafat_model_source **out, const char *path, bool waits,
                     struct mafat_diagnostic *d)
{
  int code = make(out, path, d);
  if (code) return code;
  (*out)->fd =
      waits ? mafat_open_file(path) : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  /* O_NONBLOCK keeps open() from waiting at a FIFO; reads must block again */
  if (!waits && (*out)->fd >= 0) fcntl((*out)->fd, F_SETFL, 0);
  code = identify(*out, d);
  if (code) mafat_model_source_close(out);
  return code;
}

MAFAT_PART(opening)
int mafat_model_source_open(struct mafat_model_source **out, const char *path,
                            struct mafat_diagnostic *d)
{
  return open_path(out, path, true, d);
}

int mafat_model_source_open_regular(struct mafat_model_source **out, const char *path,
                                    struct mafat_diagnostic *d)
{
  return open_path(out, path, false, d);
}

int mafat_model_source_open_fd(struct mafat_model_source **out, int fd, const char *name,
                               struct mafat_diagnostic *d)
{
  int code = make(out, name, d);
  if (code) return code;
  (*out)->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  (*out)->shared = true;
  code = identify(*out, d);
  if (code) mafat_model_source_close(out);
  return code;
}

int mafat_model_source_open_memory(struct mafat_model_source **out, const void *data, size_t bytes,
                                   const char *name, struct mafat_diagnostic *d)
{
  int code = make(out, name, d);
  if (code) return code;
  (*out)->memory = data;
  (*out)->bytes = bytes;
  return MAFAT_OK;
}

void mafat_model_source_close(struct mafat_model_source **source)
{
  if (!source || !*source) return;
  if ((*source)->fd >= 0) close((*source)->fd);
  free((*source)->path);
  free(*source);
  *source = NULL;
}

int mafat_model_source_check_regular(const struct mafat_model_source *s, const char *why,
                                     struct mafat_diagnostic *d)
{
  if (mafat_model_source_is_regular(s)) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EIO, "%s: expected a regular file, found %s%s", s->path,
                    mafat_file_kind(s->st.st_mode), why);
}

int mafat_model_source_same(const struct mafat_file_state *now,
                            const struct mafat_file_state *before, const char *path,
                            struct mafat_diagnostic *d)
{
  if (mafat_file_state_same(now, before)) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EIO, "%s: was written to or replaced after its network was read",
                    path);
}

/* Reads whole aligned blocks. Needed if another reader has set O_DIRECT on the shared
 * descriptor. */
static ssize_t read_blocks(int fd, char *to, size_t n, uint64_t at)
{
  enum { BLOCK = 4096 };
  _Alignas(BLOCK) char block[BLOCK];
  size_t done = 0;
  while (done < n) {
    size_t skip = (size_t)((at + done) % BLOCK),
           wanted = n - done < BLOCK - skip ? n - done : BLOCK - skip;
    ssize_t got = mafat_read_some(fd, block, BLOCK, (off_t)(at + done - skip));
    if (got < 0) return -1;
    size_t there = (size_t)got > skip ? (size_t)got - skip : 0;
    memcpy(to + done, block + skip, there < wanted ? there : wanted);
    done += there < wanted ? there : wanted;
    if (there < wanted) break;
  }
  return (ssize_t)done;
}

ssize_t mafat_model_source_read(const struct mafat_model_source *s, void *to, size_t n, uint64_t at)
{
  if (!s->memory) {
    ssize_t got = mafat_read_some(s->fd, to, n, (off_t)at);
    return got < 0 && errno == EINVAL ? read_blocks(s->fd, to, n, at) : got;
  }
  uint64_t left = at < s->bytes ? s->bytes - at : 0;
  if (n > left) n = (size_t)left;
  memcpy(to, s->memory + (n ? at : 0), n);
  return (ssize_t)n;
}

void mafat_model_source_drop(const struct mafat_model_source *s, uint64_t bytes)
{
  if (s->fd >= 0 && !s->stays) posix_fadvise(s->fd, 0, (off_t)bytes, POSIX_FADV_DONTNEED);
}
