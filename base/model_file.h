/* A model file that is read here and there, through a small window: what is large in it, its weights, is passed
 * over. Nothing of it stays in the page cache on our account. */
#ifndef MAFAT_BASE_MODEL_FILE_H
#define MAFAT_BASE_MODEL_FILE_H

#include "base/error.h"

#include <stdint.h>

enum { MAFAT_MODEL_WINDOW = 16 << 10 };

struct mafat_model_file {
  char *path; /* for messages */
  int fd;
  uint64_t bytes; /* its length */
  char *window;   /* MAFAT_MODEL_WINDOW bytes, of which `held` are those from byte `at` on */
  uint64_t at;
  size_t held;
};

/* Regular files are read where they are; pipes and the like are copied first, to a file that has no name.
 * MAFAT_EIO, MAFAT_ENOMEM. *out is NULL after a failure. */
int mafat_model_file_open(struct mafat_model_file **out, const char *path, struct mafat_diagnostic *d);
void mafat_model_file_close(struct mafat_model_file **file);

/* Bytes [at, at + n) of the file, n at most MAFAT_MODEL_WINDOW: *bytes is valid until the next call.
 * MAFAT_EFORMAT: the file ends before. */
int mafat_model_file_peek(struct mafat_model_file *f, uint64_t at, size_t n, const char **bytes, struct mafat_diagnostic *d);
/* The same of any length, copied. */
int mafat_model_file_read(struct mafat_model_file *f, uint64_t at, size_t n, void *to, struct mafat_diagnostic *d);

#endif
