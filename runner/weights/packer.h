/* Making and checking packed models (formats/packed/packed.h), in memory that does not
 * grow with the file. */
#ifndef MAFAT_RUNNER_WEIGHTS_PACKER_H
#define MAFAT_RUNNER_WEIGHTS_PACKER_H

#include "formats/packed/model.h"
#include "network/network.h"

/* Told of bytes done, now and then; may be NULL. */
struct mafat_packer_progress {
  void (*show)(void *context, uint64_t done, uint64_t total);
  void *context;
};

/* Packs the weights for n, Darknet's or a model's own, into an empty open file; `out_name` for messages. `origin`: what
 * n was read from, to lie in the file, too; NULL: the file will need its cfg. MAFAT_EFORMAT: the weights, as when a
 * model is opened; MAFAT_EINVAL: they are packed already; MAFAT_EIO, MAFAT_ENOMEM. */
int mafat_packer_write(const char *weights_path, const struct mafat_network *n,
                       const struct mafat_packed_origin *origin, int out_fd, const char *out_name,
                       const struct mafat_packer_progress *progress, const struct mafat_warning_sink *warnings,
                       struct mafat_diagnostic *d);

/* Reads a whole packed file and compares all its checksums; without its network.
 * MAFAT_EFORMAT names the layer that is damaged. */
int mafat_packer_check(const char *path, const struct mafat_packer_progress *progress, struct mafat_diagnostic *d);

#endif
