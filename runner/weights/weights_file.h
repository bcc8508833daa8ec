/* An open weights file, Darknet's own (formats/darknet/constants.h) or a packed one
 * (formats/packed/packed.h), checked against its network as far as that goes without
 * reading the weights. */
#ifndef MAFAT_RUNNER_WEIGHTS_WEIGHTS_FILE_H
#define MAFAT_RUNNER_WEIGHTS_WEIGHTS_FILE_H

#include "formats/darknet/darknet.h"
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
int mafat_weights_file_open(struct mafat_weights_file **out, const char *path, enum mafat_reads_method method,
                            const struct mafat_network *n, const struct mafat_warning_sink *warnings,
                            struct mafat_diagnostic *d);
void mafat_weights_file_close(struct mafat_weights_file **file);

/* What a packed file holds beside its weights, of whatever network. */
int mafat_weights_file_describe(struct mafat_packed **out, struct mafat_reads *reads, const char *name,
                                struct mafat_diagnostic *d);
/* The network that a packed file holds. MAFAT_EFORMAT: it holds none; what its reader gives. */
int mafat_weights_file_network(struct mafat_network **out, const char *path, const struct mafat_darknet_wish *wish,
                               const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d);

/* Gives a network the types that a packed file has its weights in, which is of it: before a plan is made for both.
 * A file that ends with its first bytes, or its header, has none to give: it is taken for one of floats. MAFAT_EFORMAT, MAFAT_EUNSUPPORTED, MAFAT_EIO, as when it is opened. */
int mafat_weights_file_types(struct mafat_network *n, const char *path, struct mafat_diagnostic *d);

#endif
