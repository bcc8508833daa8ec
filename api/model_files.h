/* Files of a model, opened once and shared by all its readers. Included by api/ and
 * programs/make_weights. Opens and reads files. */
#ifndef MAFAT_API_MODEL_FILES_H
#define MAFAT_API_MODEL_FILES_H

#include "formats/readers.h"
#include "include/mafat_file.h"

struct mafat_model_files {
  struct mafat_model_source *model;
  struct mafat_model_source *weights; /* equal to `model` if that contains the weights; NULL: not
                                         found or not named */
};

/* Opens the files. weights NULL: the model's own, if it contains them. A weights file that cannot
 * be opened is left out; mafat_model_files_open_weights reports the error later, once a plan fits.
 * MAFAT_EIO, MAFAT_ENOMEM; MAFAT_EINVAL: a file without path, descriptor or data. */
int mafat_model_files_open(struct mafat_model_files *files, const struct mafat_file *model,
                           const struct mafat_file *weights, struct mafat_diagnostic *d);
void mafat_model_files_close(struct mafat_model_files *files);
/* Opens the weights file that was left out. */
int mafat_model_files_open_weights(struct mafat_model_files *files,
                                   const struct mafat_file *weights, struct mafat_diagnostic *d);
/* Bytes of in-memory files that are not resident yet. */
size_t mafat_model_files_absent_bytes(const struct mafat_model_files *files);

/* Copies of the caller's structs; NULL stays NULL. MAFAT_EINVAL: a size field is not set. */
struct mafat_files_taken {
  struct mafat_file model, weights;
  const struct mafat_file *own_weights; /* `weights`; NULL: not given */
};
int mafat_model_files_take(struct mafat_files_taken *taken, const struct mafat_file *model,
                           const struct mafat_file *weights, struct mafat_diagnostic *d);
/* Name of the source in messages. */
const char *mafat_model_files_name(const struct mafat_file *file);

/* Reads the network of the file at `path`. overrides: for a cfg; given: constants for a graph's
 * inputs; NULL: none. Errors of the readers. */
int mafat_model_network(struct mafat_network **out, const char *path,
                        const struct mafat_darknet_overrides *overrides,
                        const struct mafat_given *given, const struct mafat_warning_sink *warnings,
                        struct mafat_diagnostic *d);

#endif
