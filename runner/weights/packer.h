/* Making and checking packed models (formats/packed/packed.h), in memory that does not grow with the file. A layer that the weights file
 * has with its filters last fills all its panels at once, and is there as a whole, unless it is connected and its floats stay floats. */
#ifndef MAFAT_RUNNER_WEIGHTS_PACKER_H
#define MAFAT_RUNNER_WEIGHTS_PACKER_H

#include "base/model_source.h"
#include "formats/packed/model.h"
#include "network/network.h"

struct mafat_packer;

/* Packs the weights for n, Darknet's or a model's own, into an empty open file, a step at a time; `out_name` for messages. `origin`: what
 * n was read from, to lie in the file, too; NULL: the file will need its cfg. All stays the caller's, until the packer is closed.
 * MAFAT_EFORMAT: the weights, as when a model is opened; MAFAT_EINVAL: they are packed already; MAFAT_EIO, MAFAT_ENOMEM. */
int mafat_packer_open(struct mafat_packer **out, struct mafat_model_source *source, const struct mafat_network *n,
                      const struct mafat_packed_origin *origin, int out_fd, const char *out_name,
                      const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d);
/* A megabyte, or a part of a layer. *done: the file is whole. After a failure it is closed. */
int mafat_packer_step(struct mafat_packer *p, bool *done, struct mafat_diagnostic *d);
/* Of the work: what is done. */
double mafat_packer_share(const struct mafat_packer *p);
void mafat_packer_close(struct mafat_packer **packer);

/* All of it in one go. */
int mafat_packer_write(const char *weights_path, const struct mafat_network *n, const struct mafat_packed_origin *origin, int out_fd,
                       const char *out_name, struct mafat_diagnostic *d);

/* Told of bytes done, now and then; may be NULL. */
struct mafat_packer_progress {
  void (*show)(void *context, uint64_t done, uint64_t total);
  void *context;
};

/* Reads a whole packed file and compares all its checksums; without its network.
 * MAFAT_EFORMAT names the layer that is damaged. */
int mafat_packer_check(const char *path, const struct mafat_packer_progress *progress, struct mafat_diagnostic *d);

#endif
