/* Writes and verifies packed models (formats/packed/packed.h). The memory that packing needs does
 * not grow with the file, with one exception: a layer whose weights have filters as their last
 * dimension in the file is packed as a whole, unless it is a connected layer of floats. Reads the
 * model's files, writes the output file, and allocates memory, which closing frees. Included by
 * api/packing/packing.h, programs/pack_weights/pack_weights.c and runner/calibrate/calibrate.c. */
#ifndef MAFAT_RUNNER_WEIGHTS_PACKER_H
#define MAFAT_RUNNER_WEIGHTS_PACKER_H

#include "base/model_source.h"
#include "formats/packed/model.h"
#include "network/network.h"

struct mafat_packer;

/* Starts packing the weights of n, which are in `source`, into an empty open file; messages call it
 * `out_name`. origin: cfg or graph of n, which is stored in the file too; NULL: nothing is stored,
 * and the packed file can be opened only with its cfg. All arguments must outlive the packer.
 * MAFAT_EFORMAT: the weights are not valid for n; MAFAT_EINVAL: they are already packed;
 * MAFAT_ELIMIT: a layer is too large; MAFAT_EIO; MAFAT_ENOMEM. */
int mafat_packer_open(struct mafat_packer **out, struct mafat_model_source *source,
                      const struct mafat_network *n, const struct mafat_packed_origin *origin,
                      int out_fd, const char *out_name, const struct mafat_warning_sink *warnings,
                      struct mafat_diagnostic *d);
/* Does one step of the work: hashes a megabyte, or packs part of a layer. *done: the file is
 * complete. After a failure, close the packer. */
int mafat_packer_step(struct mafat_packer *p, bool *done, struct mafat_diagnostic *d);
/* Returns the fraction of the work that is done, 0 to 1. */
double mafat_packer_share(const struct mafat_packer *p);
void mafat_packer_close(struct mafat_packer **packer);

/* Opens a packer, does all its steps, and closes it. */
int mafat_packer_write(const char *weights_path, const struct mafat_network *n,
                       const struct mafat_packed_origin *origin, int out_fd, const char *out_name,
                       struct mafat_diagnostic *d);

/* `show` is called with the number of bytes that are verified so far, and in all; it may be
 * NULL. */
struct mafat_packer_progress {
  void (*show)(void *context, uint64_t done, uint64_t total);
  void *context;
};

/* Reads a packed file and verifies all its checksums. Needs no cfg. `progress` may be NULL.
 * MAFAT_EFORMAT: the file is damaged; the diagnostic names the layer. */
int mafat_packer_check(const char *path, const struct mafat_packer_progress *progress,
                       struct mafat_diagnostic *d);

#endif
