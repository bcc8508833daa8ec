/* The files of a model, opened once and passed to all that read them while it is opened. */
#ifndef MAFAT_API_MODEL_FILES_H
#define MAFAT_API_MODEL_FILES_H

#include "formats/readers.h"

struct mafat_model_files {
  struct mafat_model_source *model;
  struct mafat_model_source *weights; /* `model` where it holds them; NULL: there is no such file, or none was named */
};

/* weights: NULL: the model's own, where it holds them. A file of weights that cannot be opened is left out: opening it again, once a
 * plan is known to fit, says why. MAFAT_EIO, MAFAT_ENOMEM. */
int mafat_model_files_open(struct mafat_model_files *files, const char *model, const char *weights, struct mafat_diagnostic *d);
void mafat_model_files_close(struct mafat_model_files *files);
/* Opens the file of weights that was left out. */
int mafat_model_files_open_weights(struct mafat_model_files *files, const char *weights, struct mafat_diagnostic *d);

/* The network of the file at that path. wish: for a cfg; given: inputs of a graph that are constants; NULL: none. Errors of the readers. */
int mafat_model_network(struct mafat_network **out, const char *path, const struct mafat_darknet_wish *wish,
                        const struct mafat_given *given, const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d);

#endif
