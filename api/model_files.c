/* Opens the files of a model once for all readers. Called by api/model.c, api/dry_run.c,
 * api/packing/pack.c and, through include/mafat_file.h, by programs/run_inference. Opens and reads
 * files; asks the kernel what is in the page cache. */
#include "api/model_files.h"

#include "base/part.h"
#include "base/sized.h"
#include "predictor/cost/predict.h"
#include "runner/os/headroom.h"
#include "runner/os/pages.h"
#include "runner/weights/reads.h"

#include <string.h>
#include <unistd.h>

MAFAT_PART(run) const char *mafat_model_files_name(const struct mafat_file *file)
{
  return file->path ? file->path : file->data ? "model in memory" : "open file";
}

/* True if the file is in the page cache and should stay there for the program's next start. That
 * needs headroom in the cgroup for the file and ROOM bytes more: with less, the kernel would
 * reclaim the file before a run. A file that does not stay is read with O_DIRECT, or its pages are
 * dropped after the read. */
MAFAT_PART(run) static bool stays_cached(const struct mafat_model_source *s)
{
  enum { ROOM = 32 << 20 };
  if (!mafat_read_queue_is_cached(s)) return false;
  size_t left = mafat_headroom_left("");
  return left > ROOM && left - ROOM > s->bytes;
}

MAFAT_PART(run)
static int open_source(struct mafat_model_source **out, const struct mafat_file *f, bool regular,
                     struct mafat_diagnostic *d)
{
  const char *name = mafat_model_files_name(f);
  if (f->data) return mafat_model_source_open_memory(out, f->data, f->bytes, name, d);
  if (f->has_fd) return mafat_model_source_open_fd(out, f->fd, name, d);
  if (!f->path)
    return mafat_fail(d, MAFAT_EINVAL, "expected a file with a path, a descriptor or data");
  return regular ? mafat_model_source_open_regular(out, f->path, d)
                 : mafat_model_source_open(out, f->path, d);
}

MAFAT_PART(run)
static int open_file(struct mafat_model_source **out, const struct mafat_file *f, bool regular,
                     struct mafat_diagnostic *d)
{
  int code = open_source(out, f, regular, d);
  if (code == MAFAT_OK) (*out)->stays = stays_cached(*out);
  return code;
}

/* True if the path is the model's, which is already open. */
MAFAT_PART(run)
static bool is_model(const struct mafat_file *weights, const struct mafat_model_source *model)
{
  return weights->path && !weights->data && !weights->has_fd && !model->memory &&
         strcmp(weights->path, model->path) == 0;
}

MAFAT_PART(run)
int mafat_model_files_open_weights(struct mafat_model_files *files,
                                   const struct mafat_file *weights, struct mafat_diagnostic *d)
{
  if (files->weights) return MAFAT_OK;
  if (weights ? is_model(weights, files->model) : mafat_reader_of(files->model)->holds_weights)
    files->weights = files->model;
  return files->weights || !weights ? MAFAT_OK : open_file(&files->weights, weights, true, d);
}

int mafat_model_files_open(struct mafat_model_files *files, const struct mafat_file *model,
                           const struct mafat_file *weights, struct mafat_diagnostic *d)
{
  *files = (struct mafat_model_files){NULL, NULL};
  int code = open_file(&files->model, model, false, d);
  if (code == MAFAT_OK) code = mafat_model_files_open_weights(files, weights, d);
  return files->model && code == MAFAT_EIO ? MAFAT_OK : code;
}

int mafat_model_files_take(struct mafat_files_taken *taken, const struct mafat_file *model,
                           const struct mafat_file *weights, struct mafat_diagnostic *d)
{
  taken->own_weights = weights ? &taken->weights : NULL;
  int code = mafat_sized_take(&taken->model, sizeof taken->model, model, d);
  return code ? code : mafat_sized_take(&taken->weights, sizeof taken->weights, weights, d);
}

static size_t absent_bytes(const struct mafat_model_source *s)
{
  uint64_t entries[MAFAT_PAGES_AT_ONCE];
  uintptr_t from = (uintptr_t)s->memory / MAFAT_PAGE,
            to = ((uintptr_t)s->memory + s->bytes + MAFAT_PAGE - 1) / MAFAT_PAGE;
  size_t absent = 0, n = 1;
  int fd = mafat_pages_open();
  for (; fd >= 0 && from < to && n > 0; from += n) {
    n = mafat_pages_read(fd, from, to, entries);
    for (size_t i = 0; i < n; i++) absent += !mafat_page_is_there(entries[i]);
  }
  if (fd >= 0) close(fd);
  return absent * MAFAT_PAGE;
}

size_t mafat_model_files_absent_bytes(const struct mafat_model_files *files)
{
  const struct mafat_model_source *weights = files->weights == files->model ? NULL : files->weights;
  return (files->model->memory ? absent_bytes(files->model) : 0) +
         (weights && weights->memory ? absent_bytes(weights) : 0);
}

MAFAT_PART(run) void mafat_model_files_close(struct mafat_model_files *files)
{
  if (files->weights != files->model) mafat_model_source_close(&files->weights);
  mafat_model_source_close(&files->model);
  files->weights = NULL;
}

bool mafat_file_holds_weights(const struct mafat_file *file)
{
  struct mafat_files_taken taken;
  struct mafat_model_source *s;
  if (!file || mafat_model_files_take(&taken, file, NULL, NULL) != MAFAT_OK) return false;
  if (!taken.model.data && !taken.model.has_fd) return mafat_holds_weights(taken.model.path);
  bool holds =
      open_source(&s, &taken.model, false, NULL) == MAFAT_OK && mafat_reader_of(s)->holds_weights;
  mafat_model_source_close(&s);
  return holds;
}
