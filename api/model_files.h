/* The files of a model, opened once and passed to all that read them while it is opened. */
#ifndef MAFAT_API_MODEL_FILES_H
#define MAFAT_API_MODEL_FILES_H

#include "formats/readers.h"
#include "include/mafat_file.h"

struct mafat_model_files {
  struct mafat_model_source *model;
  struct mafat_model_source *weights; /* `model` where it holds them; NULL: there is no such file, or none was named */
};

/* weights: NULL: the model's own, where it holds them. A file of weights that cannot be opened is left out: opening it again, once a
 * plan is known to fit, says why. MAFAT_EIO, MAFAT_ENOMEM; MAFAT_EINVAL: a file without path, descriptor and data. */
int mafat_model_files_open(struct mafat_model_files *files, const struct mafat_file *model, const struct mafat_file *weights,
                           struct mafat_diagnostic *d);
void mafat_model_files_close(struct mafat_model_files *files);
/* Opens the file of weights that was left out. */
int mafat_model_files_open_weights(struct mafat_model_files *files, const struct mafat_file *weights, struct mafat_diagnostic *d);
/* Bytes of files in memory that are not resident yet. */
size_t mafat_model_files_absent_bytes(const struct mafat_model_files *files);

/* Copies of what the caller has; NULL stays NULL. MAFAT_EINVAL: a size was not set. */
struct mafat_files_taken {
  struct mafat_file model, weights;
  const struct mafat_file *own_weights; /* `weights`, or NULL: none were given */
};
int mafat_model_files_take(struct mafat_files_taken *taken, const struct mafat_file *model, const struct mafat_file *weights,
                           struct mafat_diagnostic *d);
/* The source's name in messages. */
const char *mafat_model_files_name(const struct mafat_file *file);

/* The network of the file at that path. wish: for a cfg; given: inputs of a graph that are constants; NULL: none. Errors of the readers. */
int mafat_model_network(struct mafat_network **out, const char *path, const struct mafat_darknet_wish *wish,
                        const struct mafat_given *given, const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d);

#endif
