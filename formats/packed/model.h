/* What a packed file says of itself and of its layers, once it has been read. */
#ifndef MAFAT_FORMATS_PACKED_MODEL_H
#define MAFAT_FORMATS_PACKED_MODEL_H

#include "formats/darknet/cfg.h"
#include "network/network.h"

#include <stdint.h>

/* Where a layer's weights lie in the file. */
struct mafat_packed_entry {
  uint64_t offset, bytes; /* 0 bytes: a layer without weights */
  uint64_t checksum;
};

struct mafat_packed {
  unsigned version;
  int n_layers;
  uint64_t network_hash;              /* of all that packing depends on in the network */
  uint64_t source_hash, source_bytes; /* of the weights file that it was made from */
  uint64_t data_at, file_bytes;       /* where the first layer's weights begin; where the file ends */
  struct mafat_packed_entry *entries; /* [layer] */
  enum mafat_fork fork;               /* whose words the graph is in, and how its weights were folded; version 1: auto */
  struct mafat_cfg *graph;            /* the network, as its reader takes it; NULL: there is none, or nobody asked */
};

#endif
