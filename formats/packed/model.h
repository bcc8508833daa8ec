/* What a packed file says of itself and of its layers, once it has been read. */
#ifndef MAFAT_FORMATS_PACKED_MODEL_H
#define MAFAT_FORMATS_PACKED_MODEL_H

#include "base/excerpt.h"
#include "formats/darknet/cfg.h"
#include "formats/packed/activations.h"
#include "network/network.h"

#include <stdint.h>

/* Of the format. Version 1 is read, too. */
enum {
  MAFAT_PACKED_VERSION = 2,       /* of networks that a cfg describes */
  MAFAT_PACKED_GRAPH_VERSION = 3, /* of others */
  MAFAT_PACKED_ACTIVATIONS = 2,   /* more: of either, some of whose layers compute with whole numbers (activations.h) */
  MAFAT_PACKED_LAST_VERSION = MAFAT_PACKED_GRAPH_VERSION + MAFAT_PACKED_ACTIVATIONS
};

static inline bool mafat_packed_has_activations(unsigned version)
{
  return version > MAFAT_PACKED_GRAPH_VERSION;
}

/* Does it hold an excerpt of a model of another format than Darknet's? */
static inline bool mafat_packed_has_excerpt(unsigned version)
{
  return version == MAFAT_PACKED_GRAPH_VERSION || version == MAFAT_PACKED_LAST_VERSION;
}

/* Where a layer's weights lie in the file. */
struct mafat_packed_entry {
  uint64_t offset, bytes; /* 0 bytes: a layer without weights */
  uint64_t checksum;
};

/* What a network was read from, to lie in the file: one of them, or neither. */
struct mafat_packed_origin {
  const struct mafat_cfg *cfg; /* of its keys, those that were used */
  const struct mafat_excerpt *excerpt;
  const struct mafat_activations *activations;           /* by which the network was made of what was read; NULL: it is that */
  const struct mafat_activations_places *places;         /* [operator of that], beside them */
  float *const *factors; /* [layer]: what each channel that it puts out is multiplied by in the file: its filters are, and readers' weights divided; NULL: as it was read */
};

struct mafat_packed {
  unsigned version;
  int n_layers;
  uint64_t network_hash;              /* of all that packing depends on in the network */
  uint64_t source_hash, source_bytes; /* of the weights file that it was made from */
  uint64_t begin_bytes;               /* of what comes first: header, and index or table */
  uint64_t data_at, file_bytes;       /* where the first layer's weights begin; where the file ends */
  struct mafat_packed_entry *entries; /* [layer] */
  enum mafat_dtype *types;            /* [layer]: of its weights; float32 where there are none */
  enum mafat_fork fork;               /* whose words the graph is in, and how its weights were folded; version 1: auto */
  struct mafat_cfg *graph;            /* the network, as its reader takes it; NULL: there is none, or nobody asked */
  struct mafat_format format;         /* of the network. Of a graph, after the index: */
  uint64_t excerpt_bytes, excerpt_hash;
  struct mafat_excerpt *excerpt;      /* NULL: nobody asked */
  struct mafat_activations *activations; /* NULL: none, or nobody asked */
};

#endif
