/* Hashes that identify the network of a packed file. Included by formats/packed/packed.c. Pure
 * functions. */
#ifndef MAFAT_FORMATS_PACKED_IDENTITY_H
#define MAFAT_FORMATS_PACKED_IDENTITY_H

#include "network/network.h"

/* Returns the hash of all properties of a network that packed weights depend on. version: format
 * version of the packed file. */
uint64_t mafat_packed_network_hash(const struct mafat_network *n, unsigned version);
/* Like mafat_packed_network_hash, without the quantization parameters. For a float network, both
 * hashes are equal. */
uint64_t mafat_packed_shapes_hash(const struct mafat_network *n, unsigned version);

#endif
