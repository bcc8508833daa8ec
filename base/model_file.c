/* Reads a model file at random offsets through a 16 KiB window. Called by the ONNX, TFLite and
 * packed readers (formats/), by packing (runner/weights/packer.c), and by programs/make_weights.
 * Opens and reads files; copies a pipe to an unnamed temporary file. Allocates. */
#include "base/model_file.h"

#include "base/open_file.h"
#include "base/part.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static bool write_all(int fd, const char *from, size_t n)
{
  while (n > 0) {
    ssize_t put = write(fd, from, n);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    from += put;
    n -= (size_t)put;
  }
  return true;
}

/* Returns the most bytes to copy from a pipe, which may never end: at most the limit of protocol
 * buffers and flatbuffers (2 GiB), and at most 7/8 of the free space of the copy's file system. */
static uint64_t most_copied(int copy)
{
  const uint64_t most = INT32_MAX;
  struct statvfs fs;
  if (fstatvfs(copy, &fs) != 0) return most;
  uint64_t capacity = (uint64_t)fs.f_bavail * fs.f_frsize;
  return capacity - capacity / 8 < most ? capacity - capacity / 8 : most;
}

static int copy_to(int copy, const char *folder, struct mafat_model_file *f,
                   struct mafat_diagnostic *d)
{
  const uint64_t most = most_copied(copy);
  ssize_t got;
  while ((got = mafat_read_some(f->source->fd, f->window, MAFAT_MODEL_WINDOW, -1)) > 0) {
    f->bytes += (size_t)got;
    if (f->bytes > most)
      return mafat_fail(
          d, MAFAT_EIO,
          "%s: not a regular file: expected at most %llu bytes, copied to %.200s, found more",
          f->path, (unsigned long long)most, folder);
    if (!write_all(copy, f->window, (size_t)got)) break;
  }
  if (got == 0) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EIO, "%s: cannot %s: %s", f->path, got < 0 ? "read" : "copy it",
                    strerror(errno));
}

/* Copies a pipe to an unnamed file, which replaces it: a pipe cannot be read by offset. */
MAFAT_PART(opening)
static int spool(struct mafat_model_file *f, struct mafat_diagnostic *d)
{
  const char *folder = getenv("TMPDIR");
  char name[1024];
  if (!folder || !*folder) folder = "/tmp";
  int n = snprintf(name, sizeof name, "%s/mafat-XXXXXX", folder);
  int copy = n > 0 && (size_t)n < sizeof name ? mkostemp(name, O_CLOEXEC) : -1;
  if (copy < 0)
    return mafat_fail(d, MAFAT_EIO, "%s: cannot make a copy of it: %s: %s", f->path, name,
                      strerror(errno));
  unlink(name);
  int code = copy_to(copy, folder, f, d);
  if (code == MAFAT_OK) code = mafat_model_source_open_fd(&f->copy, copy, f->path, d);
  close(copy);
  if (code) return code;
  f->copy->allowance = f->source->allowance;
  f->source = f->copy;
  return MAFAT_OK;
}

static int check_kind(struct mafat_model_file *f, bool regular, struct mafat_diagnostic *d)
{
  const struct mafat_model_source *s = f->source;
  if (S_ISDIR(s->st.st_mode))
    return mafat_fail(d, MAFAT_EIO, "%s: expected a model file, found a directory", f->path);
  if (regular) return mafat_model_source_check_regular(s, "", d);
  return mafat_model_source_is_regular(s) ? MAFAT_OK : spool(f, d);
}

/* own: closing *out closes the source, and so does a failure. regular: pipes are refused. */
static int open_file(struct mafat_model_file **out, struct mafat_model_source *source, bool own,
                     bool regular, struct mafat_diagnostic *d)
{
  *out = NULL;
  struct mafat_model_file *f = calloc(1, sizeof *f);
  if (!f) {
    mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", source->path);
    if (own) mafat_model_source_close(&source);
    return MAFAT_ENOMEM;
  }
  f->source = source;
  if (own) f->own = source;
  f->path = source->path;
  f->bytes = source->bytes;
  f->opened = source->state;
  f->window = malloc(MAFAT_MODEL_WINDOW);
  int code = f->window ? check_kind(f, regular, d)
                       : mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", f->path);
  if (code == MAFAT_OK) *out = f;
  else mafat_model_file_close(&f);
  return code;
}

int mafat_model_file_open_source(struct mafat_model_file **out, struct mafat_model_source *source,
                                 struct mafat_diagnostic *d)
{
  return open_file(out, source, false, false, d);
}

int mafat_model_file_open(struct mafat_model_file **out, const char *path,
                          struct mafat_diagnostic *d)
{
  struct mafat_model_source *source;
  *out = NULL;
  int code = mafat_model_source_open(&source, path, d);
  return code ? code : open_file(out, source, true, false, d);
}

void mafat_model_file_close(struct mafat_model_file **file)
{
  if (!file || !*file) return;
  struct mafat_model_file *f = *file;
  if (mafat_model_source_is_regular(f->source)) mafat_model_source_drop(f->source, 0);
  mafat_model_source_close(&f->own);
  mafat_model_source_close(&f->copy);
  free(f->window);
  free(f);
  *file = NULL;
}

int mafat_model_file_same(const struct mafat_model_file *f, struct mafat_file_state *before,
                          struct mafat_diagnostic *d)
{
  if (!before->known) *before = f->opened;
  if (mafat_file_state_same(&f->opened, before)) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EIO, "%s: was written to or replaced while the model was read",
                    f->path);
}

/* ---- recording and embedded graphs ---- */

int mafat_model_file_note(struct mafat_model_file *f, struct mafat_embedded_graph *notes,
                          struct mafat_diagnostic *d)
{
  f->number = mafat_embedded_graph_add_file(notes, "", f->bytes);
  f->notes = notes;
  return f->number < 0 ? mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", f->path) : MAFAT_OK;
}

void mafat_model_file_embedded_graph(struct mafat_model_file *f,
                                     const struct mafat_embedded_graph *embedded_graph, uint64_t at)
{
  f->embedded_graph = embedded_graph;
  f->number = 0;
  f->embedded_graph_at = at;
  f->bytes = embedded_graph->files[0].bytes;
}

/* Returns the path relative to the model's folder. */
static const char *name_beside(const struct mafat_model_file *f, const char *path)
{
  const char *slash = strrchr(f->path, '/');
  size_t folder = slash ? (size_t)(slash + 1 - f->path) : 0;
  return strncmp(path, f->path, folder) == 0 ? path + folder : path;
}

/* Constants given by the user are recorded by their full path, so that is tried first. */
static int open_in_embedded_graph(struct mafat_model_file **out, const struct mafat_model_file *f,
                                  const char *path, struct mafat_diagnostic *d)
{
  const char *name = name_beside(f, path);
  int number = mafat_embedded_graph_find_file(f->embedded_graph, path);
  if (number < 0) number = mafat_embedded_graph_find_file(f->embedded_graph, name);
  if (number < 0)
    return mafat_fail(d, MAFAT_EFORMAT, "%s: does not contain the file \"%.100s\"", f->path, name);
  int code = open_file(out, f->source, false, false, d);
  if (code) return code;
  mafat_model_file_embedded_graph(*out, f->embedded_graph, f->embedded_graph_at);
  (*out)->number = number;
  (*out)->bytes = f->embedded_graph->files[number].bytes;
  return MAFAT_OK;
}

int mafat_model_file_open_beside(struct mafat_model_file **out, const struct mafat_model_file *f,
                                 const char *path, struct mafat_diagnostic *d)
{
  *out = NULL;
  if (f->embedded_graph) return open_in_embedded_graph(out, f, path, d);
  struct mafat_model_source *source;
  int code = mafat_model_source_open_regular(&source, path, d);
  if (code == MAFAT_OK) code = open_file(out, source, true, true, d);
  if (code || !f->notes) return code;
  (*out)->number = mafat_embedded_graph_add_file(f->notes, name_beside(f, path), (*out)->bytes);
  (*out)->notes = f->notes;
  if ((*out)->number >= 0) return MAFAT_OK;
  mafat_model_file_close(out);
  return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", path);
}

int mafat_model_file_open_given(struct mafat_model_file **out, const struct mafat_model_file *f,
                                const char *path, const char *input, struct mafat_diagnostic *d)
{
  int code = mafat_model_file_open_beside(out, f, path, d);
  if (code == MAFAT_OK && f->notes) mafat_embedded_graph_give(f->notes, (*out)->number, input);
  return code;
}

/* ---- reading ---- */

enum { WINDOWS_CACHED = 16 }; /* after this many windows, the file's cached pages are dropped */

int mafat_model_file_peek(struct mafat_model_file *f, uint64_t at, size_t n, const char **bytes,
                          struct mafat_diagnostic *d)
{
  uint64_t offset;
  *bytes = NULL;
  if (n > MAFAT_MODEL_WINDOW)
    return mafat_fail(d, MAFAT_EINVAL, "%s: a window of %zu bytes is too small for %zu", f->path,
                      (size_t)MAFAT_MODEL_WINDOW, n);
  if (at > f->bytes || n > f->bytes - at)
    return mafat_fail(d, MAFAT_EFORMAT,
                      "%s: ends in byte %llu, where %zu bytes are expected from byte %llu on",
                      f->path, (unsigned long long)f->bytes, n, (unsigned long long)at);
  if (f->notes) mafat_embedded_graph_add(f->notes, f->number, at, n);
  if (f->embedded_graph) {
    if (!mafat_embedded_graph_locate(&f->embedded_graph->files[f->number], at, n, &offset))
      return mafat_fail(
          d, MAFAT_EFORMAT,
          "%s: is damaged, or of another version: byte %llu of the model is not in it", f->path,
          (unsigned long long)at);
    at = f->embedded_graph_at + offset;
  }
  if (f->source->memory && at <= f->source->bytes && n <= f->source->bytes - at) {
    *bytes = f->source->memory + at;
    return MAFAT_OK;
  }
  if (at < f->at || at + n > f->at + f->held) {
    ssize_t got = mafat_model_source_read(f->source, f->window, MAFAT_MODEL_WINDOW, at);
    if (++f->n_windows % WINDOWS_CACHED == 0) mafat_model_source_drop(f->source, 0);
    f->at = at;
    f->held = got > 0 ? (size_t)got : 0;
    if (got < 0) return mafat_fail(d, MAFAT_EIO, "%s: cannot read: %s", f->path, strerror(errno));
    if (f->held < n)
      return mafat_fail(d, MAFAT_EIO, "%s: has become shorter while it was read", f->path);
  }
  *bytes = f->window + (at - f->at);
  return MAFAT_OK;
}

int mafat_model_file_read(struct mafat_model_file *f, uint64_t at, size_t n, void *to,
                          struct mafat_diagnostic *d)
{
  for (char *out = to; n > 0;) {
    const char *bytes;
    size_t part = n < MAFAT_MODEL_WINDOW ? n : MAFAT_MODEL_WINDOW;
    int code = mafat_model_file_peek(f, at, part, &bytes, d);
    if (code) return code;
    memcpy(out, bytes, part);
    out += part;
    at += part;
    n -= part;
  }
  return MAFAT_OK;
}
