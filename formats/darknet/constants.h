/* Darknet's .weights files: a header of three int32 (major, minor, revision) and `seen` (8 bytes
 * from version 0.2 on, else 4), then per layer biases, [scales, means, variances], weights
 * (connected layers: weights, then [scales, means, variances]), all little-endian fp32. major or
 * minor above 1000 means that connected layers are stored transposed. */
#ifndef MAFAT_FORMATS_DARKNET_CONSTANTS_H
#define MAFAT_FORMATS_DARKNET_CONSTANTS_H

#include "network/constant.h"
#include "network/network.h"

enum { MAFAT_DARKNET_LEAST_HEADER = 16 }; /* bytes that a header can be read from */

struct mafat_darknet_header {
  uint64_t bytes;  /* where the first layer begins */
  bool transposed; /* connected layers are */
};

/* From the first bytes of a file of so many, of which it needs MAFAT_DARKNET_LEAST_HEADER.
 * MAFAT_EFORMAT, with `name`, where there is none. */
int mafat_darknet_header_read(struct mafat_darknet_header *h, const char *beginning, uint64_t file_bytes,
                              const char *name, struct mafat_diagnostic *d);

/* Of the version that Darknet writes, connected layers not transposed? */
bool mafat_darknet_header_is_usual(const struct mafat_darknet_header *h);

/* What lies where behind such a header; NULL: the usual one, of version 0.2. MAFAT_ENOMEM. */
int mafat_darknet_constants(struct mafat_constants **out, const struct mafat_network *n,
                            const struct mafat_darknet_header *h);

/* The file must hold what the whole cfg asks for, no less, and with a detection head no more: a
 * backbone cut from a longer file is legitimate, and warned of. Of a network that is cut nobody
 * knows how much more. MAFAT_EFORMAT names bytes and layer; MAFAT_EUNSUPPORTED: another fork's. */
int mafat_darknet_check_length(const struct mafat_constants *c, const struct mafat_network *n, uint64_t file_bytes,
                               const char *name, const struct mafat_warning_sink *warnings, struct mafat_diagnostic *d);

#endif
