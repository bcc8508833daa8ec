/* Locates the constants in Darknet's .weights files.
 *
 * A file has a header of three int32 (major, minor, revision) and `seen` (8 bytes from version 0.2
 * on, else 4; some exporters write the other size). In the oldest files three floats stand in place
 * of the integers. Then come the layers, each with its biases, [scales, means, variances] and
 * weights; in connected layers the weights come before [scales, means, variances]. All values are
 * little-endian float32. If major or minor exceeds 1000, the weights of connected layers are stored
 * transposed.
 *
 * Included by formats/darknet/darknet.c and runner/weights/weights_file.c. Allocates the table of
 * locations. */
#ifndef MAFAT_FORMATS_DARKNET_CONSTANTS_H
#define MAFAT_FORMATS_DARKNET_CONSTANTS_H

#include "network/constant.h"
#include "network/network.h"

enum { MAFAT_DARKNET_LEAST_HEADER = 16 }; /* bytes needed to read a header */

struct mafat_darknet_header {
  uint64_t bytes;  /* size of the header; the first layer follows */
  bool transposed; /* connected layers are stored transposed */
};

/* Reads the header from the first MAFAT_DARKNET_LEAST_HEADER bytes of a file of file_bytes.
 * MAFAT_EFORMAT: not a header; the message begins with `name`. */
int mafat_darknet_header_read(struct mafat_darknet_header *h, const char *beginning,
                              uint64_t file_bytes, const char *name, struct mafat_diagnostic *d);

/* If the file's length fits the other size of `seen` (4 or 8 bytes) but not the size that h->bytes
 * includes, changes h->bytes and returns true. n->constants must have been located with the usual
 * header. */
bool mafat_darknet_header_fit(struct mafat_darknet_header *h, const struct mafat_network *n,
                              uint64_t file_bytes);

/* True for a header of the size that Darknet writes today, with connected layers not transposed. */
bool mafat_darknet_header_is_usual(const struct mafat_darknet_header *h);

/* Computes the locations of all constants in a file with header h. NULL: the usual header, of
 * version 0.2. The caller frees *out. MAFAT_ENOMEM. */
int mafat_darknet_constants(struct mafat_constants **out, const struct mafat_network *n,
                            const struct mafat_darknet_header *h);

/* Compares the file's length with what the whole cfg needs. A shorter file is an error, and so is a
 * longer one if there is a detection head. Otherwise a longer file only gets a warning: the cfg may
 * be the backbone of a larger network. If layers were left out (n->cut), the length has no upper
 * limit. MAFAT_EFORMAT; MAFAT_EUNSUPPORTED: weights of another fork. */
int mafat_darknet_check_length(const struct mafat_constants *c, const struct mafat_network *n,
                               uint64_t file_bytes, const char *name,
                               const struct mafat_warning_sink *warnings,
                               struct mafat_diagnostic *d);

#endif
