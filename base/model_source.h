/* One file of a model: opened once, identified once, and shared by all its readers. It is a regular
 * file, a pipe, or bytes in the caller's memory. Regular files and memory are read by offset, so
 * readers do not disturb each other. Included by api/, base/, formats/darknet and runner/weights;
 * called by formats/readers.c and formats/packed. Opens file descriptors and allocates; drops pages
 * from the page cache. */
#ifndef MAFAT_BASE_MODEL_SOURCE_H
#define MAFAT_BASE_MODEL_SOURCE_H

#include "base/allowance.h"
#include "base/error.h"
#include "base/file_state.h"

#include <sys/types.h>

enum { MAFAT_SOURCE_BEGINNING = 16 };

struct mafat_reader; /* formats/readers.h */

struct mafat_model_source {
  char *path;         /* for messages, and for the folder of the model's other files */
  int fd;             /* -1: in memory */
  bool shared; /* descriptor of the caller's open file: its flags and position must not change */
  const char *memory; /* the caller's bytes; NULL: a file */
  struct stat st;     /* result of fstat at opening; zeros for memory */
  uint64_t bytes;     /* length of a regular file or of the memory; 0 for a pipe */
  struct mafat_file_state state;
  /* first bytes, zero-padded; filled by mafat_model_source_look */
  char beginning[MAFAT_SOURCE_BEGINNING];
  const struct mafat_reader *reader; /* reader of its format; NULL: not detected yet */
  bool stays; /* the file stays in the page cache: readers do not drop its pages; set by the code
                 that opened it */
  struct mafat_allowance *allowance; /* memory for reading the model; NULL: no limit */
};

/* Opens any path, and waits for the writer of a pipe. Returns MAFAT_EIO or MAFAT_ENOMEM; *out is
 * NULL after a failure. */
int mafat_model_source_open(struct mafat_model_source **out, const char *path,
                            struct mafat_diagnostic *d);
/* Opens a path that should be a regular file. Never waits for a pipe's writer. */
int mafat_model_source_open_regular(struct mafat_model_source **out, const char *path,
                                    struct mafat_diagnostic *d);
/* Duplicates a descriptor, which stays the caller's. */
int mafat_model_source_open_fd(struct mafat_model_source **out, int fd, const char *name,
                               struct mafat_diagnostic *d);
/* Wraps memory, which stays the caller's and must outlive everything opened from the source. */
int mafat_model_source_open_memory(struct mafat_model_source **out, const void *data, size_t bytes,
                                   const char *name, struct mafat_diagnostic *d);
void mafat_model_source_close(struct mafat_model_source **source);

static inline bool mafat_model_source_is_regular(const struct mafat_model_source *s)
{
  return s->memory || S_ISREG(s->st.st_mode);
}

/* Reads the first bytes into s->beginning. If it is a pipe, waits for its bytes, and leaves them in
 * the pipe. A device, or a failed read, leaves zeros: the reader reports the error later. */
void mafat_model_source_look(struct mafat_model_source *s);

/* Returns MAFAT_EIO, with `why` appended to the message, unless it is a regular file or memory. */
int mafat_model_source_check_regular(const struct mafat_model_source *s, const char *why,
                                     struct mafat_diagnostic *d);

/* Compares two states of the file at that path. MAFAT_EIO: it was changed. */
int mafat_model_source_same(const struct mafat_file_state *now,
                            const struct mafat_file_state *before, const char *path,
                            struct mafat_diagnostic *d);

/* Reads n bytes from offset `at` of a regular file or memory; fewer only at its end. -1: errno is
 * set. */
ssize_t mafat_model_source_read(const struct mafat_model_source *s, void *to, size_t n,
                                uint64_t at);
/* Drops the first `bytes` bytes (0: all) of a file from the page cache, unless it stays there. */
void mafat_model_source_drop(const struct mafat_model_source *s, uint64_t bytes);

#endif
