/* An open weights file, Darknet's own (formats/darknet/constants.h) or a packed one
 * (formats/packed/packed.h), checked against its network as far as that goes without
 * reading the weights. */
#ifndef MAFAT_RUNNER_WEIGHTS_WEIGHTS_FILE_H
#define MAFAT_RUNNER_WEIGHTS_WEIGHTS_FILE_H

#include "formats/packed/packed.h"
#include "network/constant.h"
#include "runner/weights/reads.h"

struct mafat_weights_file {
  char *name; /* its path, for messages */
  struct mafat_reads *reads;
  const struct mafat_constants *constants; /* the network's, where the file is as usual */
  struct mafat_constants *own_constants;   /* else */
  struct mafat_packed *packed; /* NULL: Darknet's */
};

/* The file's length is checked against the whole cfg. Too short is MAFAT_EFORMAT
 * naming bytes and layer; a surplus is an error with a detection head, a warning
 * without. */
int mafat_weights_file_open(struct mafat_weights_file **out, struct mafat_model_source *source, enum mafat_reads_method method,
                            const struct mafat_network *n, const struct mafat_warning_sink *warnings,
                            struct mafat_diagnostic *d);
void mafat_weights_file_close(struct mafat_weights_file **file);

#endif
