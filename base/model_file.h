/* Reads a model file at random offsets through a small buffer, the window, so that weights can be
 * skipped. Closing it drops its pages from the page cache. The ranges that are read can be
 * recorded, and an embedded graph (base/embedded_graph.h) can be read in place of the file.
 * Included by formats/, programs/make_weights and runner/weights. Opens and reads files; copies a
 * pipe to an unnamed temporary file. Allocates. */
#ifndef MAFAT_BASE_MODEL_FILE_H
#define MAFAT_BASE_MODEL_FILE_H

#include "base/embedded_graph.h"
#include "base/model_source.h"

enum { MAFAT_MODEL_WINDOW = 16 << 10 };

struct mafat_model_file {
  const char *path; /* for messages */
  struct mafat_model_source *source; /* file, pipe's copy or memory that is read */
  /* source opened for this file alone; NULL: the source is the caller's */
  struct mafat_model_source *own;
  struct mafat_model_source *copy;   /* copy of a pipe; NULL: none */
  uint64_t bytes; /* file length */
  struct mafat_file_state opened; /* file state when it was opened; unknown for a pipe */
  char *window;   /* MAFAT_MODEL_WINDOW bytes; the first `held` are the file's from offset `at` */
  uint64_t at;
  size_t held;
  unsigned n_windows; /* windows read so far; after every few, the file's pages are dropped from the
                         page cache */
  struct mafat_embedded_graph *notes; /* records the ranges that are read; NULL: no recording */
  /* embedded graph read in place of the model's files; NULL: none */
  const struct mafat_embedded_graph *embedded_graph;
  int number;                          /* index of this file in `notes` or `embedded_graph` */
  uint64_t embedded_graph_at;                 /* offset of the embedded graph in its file */
};

/* Opens a file over a source, which must outlive the file. A pipe is first copied to an unnamed
 * file: at most 2 GiB, and at most 7/8 of the free space there. Returns MAFAT_EIO or MAFAT_ENOMEM;
 * *out is NULL after a failure. */
int mafat_model_file_open_source(struct mafat_model_file **out, struct mafat_model_source *source,
                                 struct mafat_diagnostic *d);
/* Opens a path, with a source of its own. */
int mafat_model_file_open(struct mafat_model_file **out, const char *path,
                          struct mafat_diagnostic *d);
void mafat_model_file_close(struct mafat_model_file **file);
/* Opens another regular file of the model, below its folder. Pipes are refused: a model must not
 * make its reader wait or copy. If the model's ranges are recorded, so are this file's; if the
 * model is read from an embedded graph, so is this file. MAFAT_EFORMAT: the graph has no such
 * file. */
int mafat_model_file_open_beside(struct mafat_model_file **out, const struct mafat_model_file *file,
                                 const char *path, struct mafat_diagnostic *d);
/* Opens the file that the user gave as the constant value of `input`, in any folder. In an embedded
 * graph, `path` is its name there. Pipes are refused, because the values are read more than
 * once. */
int mafat_model_file_open_given(struct mafat_model_file **out, const struct mafat_model_file *file,
                                const char *path, const char *input, struct mafat_diagnostic *d);
/* Checks that the file is unchanged since *before. If that is unknown, sets it to the state at
 * opening. MAFAT_EIO: the file was written to or replaced. */
int mafat_model_file_same(const struct mafat_model_file *file, struct mafat_file_state *before,
                          struct mafat_diagnostic *d);
/* Starts recording the ranges that are read. MAFAT_ENOMEM. */
int mafat_model_file_note(struct mafat_model_file *file, struct mafat_embedded_graph *notes,
                          struct mafat_diagnostic *d);
/* From now on reads the model from the embedded graph that is stored at byte `at` of the file. */
void mafat_model_file_embedded_graph(struct mafat_model_file *file,
                                     const struct mafat_embedded_graph *embedded_graph,
                                     uint64_t at);

/* Points *bytes to bytes [at, at + n) of the file, valid until the next call; n is at most
 * MAFAT_MODEL_WINDOW. MAFAT_EFORMAT: the file ends earlier. */
int mafat_model_file_peek(struct mafat_model_file *f, uint64_t at, size_t n, const char **bytes,
                          struct mafat_diagnostic *d);
/* Copies n bytes from offset `at`, for any n. */
int mafat_model_file_read(struct mafat_model_file *f, uint64_t at, size_t n, void *to,
                          struct mafat_diagnostic *d);

#endif
