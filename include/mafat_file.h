/* Opens models from descriptors and from memory. Sizes, defaults, errors and ownership are described in mafat.h. */
#ifndef MAFAT_FILE_H
#define MAFAT_FILE_H

#include "mafat.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One file of a model: at a path, or else open already, or in memory. */
struct mafat_file {
  size_t size;
  const char *path; /* opened, unless there is a descriptor or data: then it names the file in messages, and its folder has what an ONNX
                       file of a descriptor stores outside. What is in memory has no folder */
  bool has_fd;
  int fd;           /* with has_fd: open for reading. Its position and flags stay; of a pipe the next bytes are read */
  const void *data; /* (bytes) must stay as it is until what was opened is closed. Counted in the budget */
  size_t bytes;
};

/* Does the file hold its own weights: ONNX, TFLite, or packed? By its first bytes; a path of
 * /dev/stdin or /dev/fd/3 keeps them to be read again. */
MAFAT_API bool mafat_holds_weights(const char *path);
/* The same; a pipe keeps the bytes. */
MAFAT_API bool mafat_file_holds_weights(const struct mafat_file *file);

struct mafat_query;
struct mafat_pack;
struct mafat_pack_options;

/* As mafat_model_open, mafat_query_open and mafat_pack_open, whose paths these files take the place of. */
MAFAT_API int mafat_model_open_files(struct mafat_model **out, const struct mafat_file *model,
                                     const struct mafat_file *weights,
                                     const struct mafat_model_options *options,
                                     struct mafat_diagnostic *d);
MAFAT_API int mafat_query_open_files(struct mafat_query **out, const struct mafat_file *model,
                                     const struct mafat_file *weights,
                                     const struct mafat_model_options *options,
                                     struct mafat_diagnostic *d);
MAFAT_API int mafat_pack_open_files(struct mafat_pack **out, const struct mafat_file *model,
                                    const struct mafat_file *weights, const char *out_path,
                                    const struct mafat_pack_options *options,
                                    struct mafat_diagnostic *d);

/* Fields of struct mafat_model_options in order: "size:size_t memory_bytes:size_t plan:char* ...".
 * A binding of another language builds the struct from them. */
MAFAT_API const char *mafat_model_options_fields(void);

#ifdef __cplusplus
}
#endif

#endif
