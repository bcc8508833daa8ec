/* Model files: opens models from descriptors and from memory, and detects formats. For bindings of
 * other languages it lists the fields of the options. Sizes, defaults, errors and ownership are
 * described in mafat.h. */
#ifndef MAFAT_FILE_H
#define MAFAT_FILE_H

#include "mafat.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One file of a model: a path, an open descriptor, or bytes in memory. */
struct mafat_file {
  size_t size;
  const char *path; /* opened if there is no descriptor and no data. With a descriptor it names the
                       file in messages, and an ONNX file's external data is in its folder. With
                       data it is only a name */
  bool has_fd;
  int fd;           /* if has_fd: open for reading. Its position and flags do not change; a pipe is
                       read from its next byte */
  const void *data; /* (bytes) must not change until the model, dry run or pack is closed. The
                       budget counts them */
  size_t bytes;
};

/* True if the file holds its own weights (ONNX, TFLite, packed), by its first bytes. These bytes
 * can be read again, also from /dev/stdin and /dev/fd/N. */
MAFAT_API bool mafat_holds_weights(const char *path);
/* Like mafat_holds_weights, for a struct mafat_file. The bytes can be read again, also from a
 * pipe. */
MAFAT_API bool mafat_file_holds_weights(const struct mafat_file *file);

struct mafat_dry_run;
struct mafat_pack;
struct mafat_pack_options;

/* Like mafat_model_open, mafat_dry_run_open and mafat_pack_open, with files instead of paths. */
MAFAT_API int mafat_model_open_files(struct mafat_model **out, const struct mafat_file *model,
                                     const struct mafat_file *weights,
                                     const struct mafat_model_options *options,
                                     struct mafat_diagnostic *d);
MAFAT_API int mafat_dry_run_open_files(struct mafat_dry_run **out, const struct mafat_file *model,
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
