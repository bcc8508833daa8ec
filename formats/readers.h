/* File formats: a row each, of a table in readers.c. The first row that accepts the first bytes of a file reads it. Nothing outside
 * formats/ knows one format from another: it asks for a property of the row, or of the network that came of it (struct mafat_format). */
#ifndef MAFAT_FORMATS_READERS_H
#define MAFAT_FORMATS_READERS_H

#include "base/model_file.h"
#include "formats/graph/given.h"
#include "network/network.h"

struct mafat_darknet_wish; /* formats/darknet/darknet.h */

/* How a network is to be read. Zeros: as the file has it. */
struct mafat_reading {
  const struct mafat_darknet_wish *wish;     /* of a cfg; NULL: none */
  const struct mafat_given *given;           /* inputs of a graph that are constants; NULL: none */
  const struct mafat_warning_sink *warnings; /* NULL: nobody */
};

/* What a plan has to know of a file of weights. */
struct mafat_weights_kind {
  bool packed;     /* in the kernels' order, with checksums (formats/packed) */
  bool transposed; /* its connected layers are (formats/darknet/constants.h) */
};

struct mafat_reader {
  struct mafat_format format;
  bool holds_weights; /* its files are networks with their weights */
  bool imports;       /* reading it enters the code that imports graphs (api/surroundings.h) */
  bool (*begins)(const char beginning[MAFAT_SOURCE_BEGINNING]);
  /* Reads a network. NULL: by `graph`. */
  int (*network)(struct mafat_network **out, struct mafat_model_source *source, const struct mafat_reading *how,
                 struct mafat_diagnostic *d);
  /* Reads a graph, from a file or from the excerpt of one in a packed file. NULL: the format has none that could be packed. */
  int (*graph)(struct mafat_network **out, struct mafat_model_file *file, const struct mafat_given *given,
               struct mafat_diagnostic *d);
  /* What the first bytes of a file of weights say. NULL: nothing. */
  void (*describe)(struct mafat_weights_kind *kind, const char beginning[MAFAT_SOURCE_BEGINNING]);
};

/* By the first bytes. What no format begins with is taken for a cfg, whose reader says what is wrong with it. */
const struct mafat_reader *mafat_reader_of(struct mafat_model_source *source);
/* The row of a format that has graphs, by its name; NULL: there is none. */
const struct mafat_reader *mafat_reader_of_graphs(const char *name);
struct mafat_weights_kind mafat_reader_weights_kind(struct mafat_model_source *source);

/* MAFAT_EINVAL: constants are given to a format that takes none; errors of the readers. */
int mafat_reader_network(struct mafat_network **out, struct mafat_model_source *source, const struct mafat_reading *how,
                         struct mafat_diagnostic *d);

#endif
