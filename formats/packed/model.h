/* Contents of a packed file's header and index. Included by formats/packed and runner/weights.
 * Pure inline functions. */
#ifndef MAFAT_FORMATS_PACKED_MODEL_H
#define MAFAT_FORMATS_PACKED_MODEL_H

#include "base/embedded_graph.h"
#include "formats/darknet/cfg.h"
#include "formats/packed/activations.h"
#include "network/network.h"
#include "network/picture.h"

#include <stdint.h>

/* Versions that are written. Version 1, without a network, can still be read. */
enum {
  MAFAT_PACKED_VERSION = 2,       /* networks from a cfg */
  MAFAT_PACKED_GRAPH_VERSION = 3, /* networks with an embedded graph */
  /* added to either for networks with quantized activations (activations.h) */
  MAFAT_PACKED_ACTIVATIONS = 2,
  /* added to any of these for files with options (struct mafat_stored_options) */
  MAFAT_PACKED_OPTIONS = 4,
  MAFAT_PACKED_LAST_VERSION =
      MAFAT_PACKED_GRAPH_VERSION + MAFAT_PACKED_ACTIVATIONS + MAFAT_PACKED_OPTIONS
};

/* True if `version` is 2 plus a sum that contains `part`, a power of two. */
static inline bool mafat_packed_has(unsigned version, unsigned part)
{
  return version >= MAFAT_PACKED_VERSION && (version - MAFAT_PACKED_VERSION) & part;
}

static inline bool mafat_packed_has_activations(unsigned version)
{
  return mafat_packed_has(version, MAFAT_PACKED_ACTIVATIONS);
}

/* True if files of this version hold an embedded graph, that is, an ONNX or TFLite model. */
static inline bool mafat_packed_has_embedded_graph(unsigned version)
{
  return mafat_packed_has(version, MAFAT_PACKED_GRAPH_VERSION - MAFAT_PACKED_VERSION);
}

static inline bool mafat_packed_has_options(unsigned version)
{
  return mafat_packed_has(version, MAFAT_PACKED_OPTIONS);
}

/* Location of a layer's weights in the file. */
struct mafat_packed_entry {
  uint64_t offset, bytes; /* bytes 0: no weights */
  uint64_t checksum;
};

/* Source of a network, to be stored in the file: a cfg, an embedded graph, or none. */
struct mafat_packed_origin {
  const struct mafat_cfg *cfg; /* only the keys that were used are stored */
  const struct mafat_embedded_graph *embedded_graph;
  const struct mafat_stored_options *options; /* NULL or none of them: nothing is stored */
  /* table that converted the network; NULL: not converted */
  const struct mafat_activations *activations;
  /* [operator of the source network]; NULL without activations */
  const struct mafat_activations_places *places;
  /* [layer][output channel]: equalization multiplied the channel's filter by this factor, and
   * divided the weights of the layers that read the channel by it; NULL: none */
  float *const *factors;
};

struct mafat_packed {
  unsigned version;
  int n_layers;
  uint64_t network_hash;              /* identity.h */
  uint64_t source_hash, source_bytes; /* hash and size of the original weights file */
  uint64_t begin_bytes;               /* bytes of the header and the index (version 1: table) */
  uint64_t data_at, file_bytes;       /* offset of the first layer's weights; size of the file */
  struct mafat_packed_entry *entries; /* [layer] */
  enum mafat_dtype *types;            /* [layer]: of the weights; float32 for layers without */
  /* Darknet fork that the cfg is for, and by whose rule normalization was folded into the weights;
   * version 1: auto */
  enum mafat_fork fork;
  struct mafat_cfg *graph;            /* the network; NULL: none, or not requested */
  /* format of an embedded graph, known after the index was read */
  struct mafat_format format;
  uint64_t embedded_graph_bytes, embedded_graph_hash;
  struct mafat_embedded_graph *embedded_graph;      /* NULL: not requested */
  struct mafat_activations *activations; /* NULL: none, or not requested */
  struct mafat_stored_options options;   /* zeros: the file has none */
};

#endif
