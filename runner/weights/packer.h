/* Writes and verifies packed models (formats/packed/packed.h). The memory that it needs does not
 * grow with the file, except that a layer stored with filters as its last dimension is packed as a
 * whole, unless it is connected and stays float. Allocates, maps, reads and writes files. Included
 * by api/packing/packing.h, programs/pack_weights/pack_weights.c and runner/calibrate/calibrate.c.
 */
#ifndef MAFAT_RUNNER_WEIGHTS_PACKER_H
#define MAFAT_RUNNER_WEIGHTS_PACKER_H

#include "base/model_source.h"
#include "formats/packed/model.h"
#include "network/network.h"

struct mafat_packer;

/* Starts packing the weights for n (Darknet's or a model's own) into an empty open file; `out_name`
 * is for messages. `origin`: cfg or graph of n, which the file will contain, too; NULL: it will
 * not, and need its cfg. All arguments must outlive the packer. MAFAT_EFORMAT: as when a model is
 * opened; MAFAT_EINVAL: already packed; MAFAT_EIO, MAFAT_ENOMEM. */
int mafat_packer_open(struct mafat_packer **out, struct mafat_model_source *source,
                      const struct mafat_network *n, const struct mafat_packed_origin *origin,
                      int out_fd, const char *out_name, const struct mafat_warning_sink *warnings,
                      struct mafat_diagnostic *d);
/* Does one step: a megabyte, or part of a layer. *done: the file is complete. After a failure,
 * close the packer. */
int mafat_packer_step(struct mafat_packer *p, bool *done, struct mafat_diagnostic *d);
/* Returns the fraction of the work done, 0 to 1. */
double mafat_packer_share(const struct mafat_packer *p);
void mafat_packer_close(struct mafat_packer **packer);

/* Packs everything at once. */
int mafat_packer_write(const char *weights_path, const struct mafat_network *n,
                       const struct mafat_packed_origin *origin, int out_fd, const char *out_name,
                       struct mafat_diagnostic *d);

/* Callback with the bytes verified so far; may be NULL. */
struct mafat_packer_progress {
  void (*show)(void *context, uint64_t done, uint64_t total);
  void *context;
};

/* Reads a packed file and verifies all checksums, without its network. MAFAT_EFORMAT names the
 * damaged layer. */
int mafat_packer_check(const char *path, const struct mafat_packer_progress *progress,
                       struct mafat_diagnostic *d);

#endif
