/* Files of a model, opened once and shared by all its readers. Included by api/,
 * programs/make_weights, experiments/planners and experiments/separable. Opens and reads files, and
 * allocates on the heap. */
#ifndef MAFAT_API_MODEL_FILES_H
#define MAFAT_API_MODEL_FILES_H

#include "formats/readers.h"
#include "include/mafat_file.h"

struct mafat_model_files {
  struct mafat_model_source *model;
  struct mafat_model_source *weights; /* equal to `model` if the model file contains the weights;
                                         NULL: the weights file is not named or was not opened */
};

/* Opens the files; close them also after a failure. If `weights` is NULL, the model file is used,
 * if it contains the weights. If the weights file cannot be opened, files->weights is NULL;
 * mafat_model_files_open_weights reports the error later, once a plan fits. MAFAT_EIO,
 * MAFAT_ENOMEM; MAFAT_EINVAL: a file without path, descriptor or data. */
int mafat_model_files_open(struct mafat_model_files *files, const struct mafat_file *model,
                           const struct mafat_file *weights, struct mafat_diagnostic *d);
void mafat_model_files_close(struct mafat_model_files *files);
/* Opens the weights file, unless it is open. */
int mafat_model_files_open_weights(struct mafat_model_files *files,
                                   const struct mafat_file *weights, struct mafat_diagnostic *d);
/* Bytes of in-memory files that are not resident yet. */
size_t mafat_model_files_absent_bytes(const struct mafat_model_files *files);

/* Copies of the structs that an API caller passed; they may have the size of another version of
 * the library. */
struct mafat_files_taken {
  struct mafat_file model, weights;
  const struct mafat_file *own_weights; /* points to `weights`; NULL: the caller gave none */
};
/* Copies the structs; `weights` may be NULL. MAFAT_EINVAL: a size field is not set. */
int mafat_model_files_take(struct mafat_files_taken *taken, const struct mafat_file *model,
                           const struct mafat_file *weights, struct mafat_diagnostic *d);
/* Returns the file's name for messages. */
const char *mafat_model_files_name(const struct mafat_file *file);

/* Reads the network of the file at `path`; the caller closes *out. overrides: options for a cfg;
 * given: constants for a graph's inputs; each may be NULL. Returns the errors of
 * formats/readers.h. */
int mafat_model_network(struct mafat_network **out, const char *path,
                        const struct mafat_darknet_overrides *overrides,
                        const struct mafat_given *given, const struct mafat_warning_sink *warnings,
                        struct mafat_diagnostic *d);

#endif
