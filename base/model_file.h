/* A model file that is read here and there, through a small window: what is large in it, its weights, is passed
 * over. Nothing of it stays in the page cache on our account. What is asked for can be noted, and an excerpt of
 * the file that has no more than that (excerpt.h) be read in its place. */
#ifndef MAFAT_BASE_MODEL_FILE_H
#define MAFAT_BASE_MODEL_FILE_H

#include "base/excerpt.h"
#include "base/model_source.h"

enum { MAFAT_MODEL_WINDOW = 16 << 10 };

struct mafat_model_file {
  const char *path; /* for messages */
  struct mafat_model_source *source; /* that is read */
  struct mafat_model_source *own;    /* opened for this file alone; NULL: it is the caller's */
  struct mafat_model_source *copy;   /* of a pipe; NULL: none */
  uint64_t bytes; /* its length */
  struct mafat_file_state opened; /* as it was then; of a pipe: not known */
  char *window;   /* MAFAT_MODEL_WINDOW bytes, of which `held` are those from byte `at` on */
  uint64_t at;
  size_t held;
  struct mafat_excerpt *notes;         /* where it is noted what is asked for; NULL: nobody wants to know */
  const struct mafat_excerpt *excerpt; /* this is read in place of a model's files; NULL: of a file as it is */
  int number;                          /* of either, its file */
  uint64_t excerpt_at;                 /* where the excerpt begins */
};

/* Reads a source, which has to outlive the file. Pipes are copied first, to a file that has no name: at most 2 GiB, and
 * at most seven eighths of the space that is free there.
 * MAFAT_EIO, MAFAT_ENOMEM. *out is NULL after a failure. */
int mafat_model_file_open_source(struct mafat_model_file **out, struct mafat_model_source *source, struct mafat_diagnostic *d);
/* The same, with a source of its own. */
int mafat_model_file_open(struct mafat_model_file **out, const char *path, struct mafat_diagnostic *d);
void mafat_model_file_close(struct mafat_model_file **file);
/* Another of the model's files, which lies below its folder, a regular one: what a model names is neither waited for nor
 * copied. It is noted where the model is, and out of the excerpt where that is one. MAFAT_EFORMAT: that has no such file. */
int mafat_model_file_open_beside(struct mafat_model_file **out, const struct mafat_model_file *file, const char *path,
                                 struct mafat_diagnostic *d);
/* The same of a file that is the constant of an input, wherever it lies; in an excerpt what it is called there. A pipe's numbers
 * would be read once, and are asked for again. */
int mafat_model_file_open_given(struct mafat_model_file **out, const struct mafat_model_file *file, const char *path,
                                const char *input, struct mafat_diagnostic *d);
/* Is the file as it was when it was opened before? Where nobody knows how it was, it is known from now on. MAFAT_EIO: it was written to
 * or replaced. */
int mafat_model_file_same(const struct mafat_model_file *file, struct mafat_file_state *before, struct mafat_diagnostic *d);
/* From here on it is noted what is asked for. MAFAT_ENOMEM. */
int mafat_model_file_note(struct mafat_model_file *file, struct mafat_excerpt *notes, struct mafat_diagnostic *d);
/* From here on the file is the model that the excerpt is of, which begins at that byte, and ends in the file. */
void mafat_model_file_excerpt(struct mafat_model_file *file, const struct mafat_excerpt *excerpt, uint64_t at);

/* Bytes [at, at + n) of the file, n at most MAFAT_MODEL_WINDOW: *bytes is valid until the next call.
 * MAFAT_EFORMAT: the file ends before. */
int mafat_model_file_peek(struct mafat_model_file *f, uint64_t at, size_t n, const char **bytes, struct mafat_diagnostic *d);
/* The same of any length, copied. */
int mafat_model_file_read(struct mafat_model_file *f, uint64_t at, size_t n, void *to, struct mafat_diagnostic *d);

#endif
