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
  struct mafat_constants *constants;
  struct mafat_packed *packed; /* NULL: Darknet's */
};

/* The file's length is checked against the whole cfg. Too short is MAFAT_EFORMAT
 * naming bytes and layer; a surplus is an error with a detection head, a warning
 * without. */
int mafat_weights_file_open(struct mafat_weights_file **out, const char *path, enum mafat_reads_method method,
                            const struct mafat_network *n, const struct mafat_warning_sink *warnings,
                            struct mafat_diagnostic *d);
void mafat_weights_file_close(struct mafat_weights_file **file);

/* What a packed file holds beside its weights, of whatever network; with that network where
 * `graph` asks for it. */
int mafat_weights_file_describe(struct mafat_packed **out, struct mafat_reads *reads, const char *name, bool graph,
                                struct mafat_diagnostic *d);

#endif
