/* An open weights file, Darknet's own or a packed one (packed_file.h), checked
 * against its network as far as that goes without reading the weights.
 *
 * Darknet's: a header of three int32 (major, minor, revision) and `seen` (8 bytes
 * from version 0.2 on, else 4), then per layer biases, [scales, means, variances],
 * weights (connected layers: weights, then [scales, means, variances]), all
 * little-endian fp32. major or minor above 1000 means that connected layers are
 * stored transposed. */
#ifndef MAFAT_RUNNER_WEIGHTS_WEIGHTS_FILE_H
#define MAFAT_RUNNER_WEIGHTS_WEIGHTS_FILE_H

#include "network/network.h"
#include "runner/weights/packed_file.h"
#include "runner/weights/reads.h"

struct mafat_weights_file {
  char *name; /* its path, for messages */
  struct mafat_reads *reads;
  bool packed, transposed;
  uint64_t layers_at; /* where the first layer begins */
  struct mafat_packed_header header;   /* packed */
  struct mafat_packed_entry *entries;  /* packed: [layer] */
};

/* What tells the kinds of files apart: a packed one's magic bytes, Darknet's major and minor. */
enum { MAFAT_WEIGHTS_BEGINNING = MAFAT_PACKED_MAGIC_BYTES };

/* Are connected layers transposed in a file of Darknet's that begins so? */
bool mafat_weights_file_transposes(const char beginning[MAFAT_WEIGHTS_BEGINNING]);

/* The file's length is checked against the whole cfg. Too short is MAFAT_EFORMAT
 * naming bytes and layer; a surplus is an error with a detection head, a warning
 * without. */
int mafat_weights_file_open(struct mafat_weights_file **out, const char *path, enum mafat_reads_method method,
                            const struct mafat_network *n, const struct mafat_warning_sink *warnings,
                            struct mafat_diagnostic *d);
void mafat_weights_file_close(struct mafat_weights_file **file);

#endif
