/* Table of the file formats (readers.c), with a struct mafat_reader for each. The first one that
 * accepts a file's first bytes reads it. Code outside formats/ never compares formats: it looks at
 * a property of the reader, or of the network's struct mafat_format. Included by api/, formats/
 * (darknet, onnx, packed, tflite) and runner/weights. Reads the first bytes of files. */
#ifndef MAFAT_FORMATS_READERS_H
#define MAFAT_FORMATS_READERS_H

#include "base/model_file.h"
#include "formats/graph/given.h"
#include "network/network.h"

struct mafat_darknet_overrides; /* formats/darknet/darknet.h */

/* Options of reading a network; zeros are the defaults. */
struct mafat_reading {
  const struct mafat_darknet_overrides *overrides;     /* for a cfg; NULL: none */
  const struct mafat_given *given; /* for a graph: inputs that are constants; NULL: none */
  const struct mafat_warning_sink *warnings; /* NULL: no warnings */
};

/* Properties of a weights file that a plan depends on. */
struct mafat_weights_kind {
  bool packed;     /* in the kernels' order, with checksums (formats/packed) */
  bool transposed; /* connected layers are stored transposed (formats/darknet/constants.h) */
};

struct mafat_reader {
  struct mafat_format format;
  bool holds_weights; /* files of this format hold the network and its weights */
  bool imports;       /* reading uses the import code for graphs (api/footprint.h) */
  bool (*begins)(const char beginning[MAFAT_SOURCE_BEGINNING]);
  /* Reads a network. NULL: use `graph`. */
  int (*network)(struct mafat_network **out, struct mafat_model_source *source,
                 const struct mafat_reading *how, struct mafat_diagnostic *d);
  /* Reads a graph from a file or from a packed file's embedded graph. NULL: the format has no
   * graphs that can be packed. */
  int (*graph)(struct mafat_network **out, struct mafat_model_file *file,
               const struct mafat_given *given, struct mafat_diagnostic *d);
  /* Sets the properties of a weights file from its first bytes. NULL: all properties are false. */
  void (*describe)(struct mafat_weights_kind *kind, const char beginning[MAFAT_SOURCE_BEGINNING]);
};

/* Finds the reader by the file's first bytes. An unknown file gets the reader of cfg files, which
 * reports the error. */
const struct mafat_reader *mafat_reader_of(struct mafat_model_source *source);
/* Finds the reader of a graph format by name; NULL: no graph format has this name. */
const struct mafat_reader *mafat_reader_of_graphs(const char *name);
struct mafat_weights_kind mafat_reader_weights_kind(struct mafat_model_source *source);

/* Reads the network. MAFAT_EINVAL: constants given to a format without graphs; errors of the
 * readers. */
int mafat_reader_network(struct mafat_network **out, struct mafat_model_source *source,
                         const struct mafat_reading *how, struct mafat_diagnostic *d);

#endif
