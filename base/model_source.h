/* One file of a model: opened once, identified once, and passed to all that read it. It is a regular file, a pipe, or bytes in the caller's
 * memory. Regular files and memory are read by offset: readers do not disturb each other. */
#ifndef MAFAT_BASE_MODEL_SOURCE_H
#define MAFAT_BASE_MODEL_SOURCE_H

#include "base/error.h"
#include "base/file_state.h"

#include <sys/types.h>

enum { MAFAT_SOURCE_BEGINNING = 16 };

struct mafat_reader; /* formats/readers.h */

struct mafat_model_source {
  char *path;         /* for messages, and for the folder of the model's other files */
  int fd;             /* -1: in memory */
  bool shared;        /* the caller has the same open file: its flags and position stay as they are */
  const char *memory; /* the caller's bytes; NULL: a file */
  struct stat st;     /* when it was opened; in memory: zeros */
  uint64_t bytes;     /* length of a regular file or of the memory; else 0 */
  struct mafat_file_state state;
  char beginning[MAFAT_SOURCE_BEGINNING]; /* first bytes, then zeros, once they have been asked for */
  const struct mafat_reader *reader; /* of its format; NULL: nobody has asked yet */
};

/* Opens whatever the path leads to, and waits for the writer of a pipe.
 * MAFAT_EIO, MAFAT_ENOMEM. *out is NULL after a failure. */
int mafat_model_source_open(struct mafat_model_source **out, const char *path, struct mafat_diagnostic *d);
/* The same for a file that has to be regular: waits for nobody. */
int mafat_model_source_open_regular(struct mafat_model_source **out, const char *path, struct mafat_diagnostic *d);
/* A descriptor, which stays the caller's. */
int mafat_model_source_open_fd(struct mafat_model_source **out, int fd, const char *name, struct mafat_diagnostic *d);
/* Memory, which stays the caller's and has to outlive all that is opened from the source. */
int mafat_model_source_open_memory(struct mafat_model_source **out, const void *data, size_t bytes, const char *name,
                                   struct mafat_diagnostic *d);
void mafat_model_source_close(struct mafat_model_source **source);

static inline bool mafat_model_source_is_regular(const struct mafat_model_source *s)
{
  return s->memory || S_ISREG(s->st.st_mode);
}

/* Reads the first bytes into s->beginning. They stay in a pipe for its reader, and are waited for. There are none of a device, or where
 * reading fails: whoever reads the file says so. */
void mafat_model_source_look(struct mafat_model_source *s);

/* MAFAT_EIO, with `why` at the end, for all but regular files and memory. */
int mafat_model_source_check_regular(const struct mafat_model_source *s, const char *why, struct mafat_diagnostic *d);

/* Is the file at that path as it was before? MAFAT_EIO. */
int mafat_model_source_same(const struct mafat_file_state *now, const struct mafat_file_state *before, const char *path,
                            struct mafat_diagnostic *d);

/* n bytes from `at` on, of a regular file or memory; fewer only at the end. -1: errno. */
ssize_t mafat_model_source_read(const struct mafat_model_source *s, void *to, size_t n, uint64_t at);
/* Drops the first so many bytes (0: all) of a file from the page cache. */
void mafat_model_source_drop(const struct mafat_model_source *s, uint64_t bytes);

#endif
