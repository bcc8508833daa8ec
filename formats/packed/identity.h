/* Which network a packed file is of. */
#ifndef MAFAT_FORMATS_PACKED_IDENTITY_H
#define MAFAT_FORMATS_PACKED_IDENTITY_H

#include "network/network.h"

/* Hash of all that packing depends on in a network, as a version of the format has it. */
uint64_t mafat_packed_network_hash(const struct mafat_network *n, unsigned version);
/* The same as it was before it had what whole numbers mean: of networks of floats it is that one. */
uint64_t mafat_packed_shapes_hash(const struct mafat_network *n, unsigned version);

#endif
