/* What packed files of ONNX and TFLite models (version 3) hold of their graph: an excerpt of the model's own files, the
 * bytes that its reader asks for (base/excerpt.h). Opening one reads and imports that, by the same functions, which
 * cannot tell it from the model.
 *
 * So there is one reader of each format, and one set of checks between hostile bytes and a network, the one that is
 * fuzzed; a network written out field by field would need both for every kind of layer, and a new version with each. It
 * is exact: whatever an importer takes from numbers of the file (shapes, axes, limits of activations), it finds in the
 * excerpt. It is small: no weight is in it that nobody asked for, nor training data and descriptions. What an importer
 * of another day makes of it is compared, by the hash of the network with the place of each number that was packed:
 * where it differs, the file is refused. */
#ifndef MAFAT_FORMATS_PACKED_GRAPH_H
#define MAFAT_FORMATS_PACKED_GRAPH_H

#include "formats/packed/bytes.h"
#include "formats/packed/model.h"
#include "formats/readers.h"

/* The network of a file whose reader has graphs, some of whose inputs may be given as constants, and the excerpt that stands
 * for them. Errors of the readers. */
int mafat_packed_graph_read(struct mafat_network **out, struct mafat_excerpt **excerpt, struct mafat_model_source *source,
                            const struct mafat_given *given, struct mafat_diagnostic *d);

/* The network of a packed file that was opened with its graph, read from its excerpt. MAFAT_EFORMAT: that is
 * damaged. */
int mafat_packed_graph_network(struct mafat_network **out, const struct mafat_packed *p, struct mafat_model_source *source,
                               struct mafat_diagnostic *d);

/* Its part of the index: p->format, p->excerpt_hash, p->excerpt_bytes and, where it is wanted, p->excerpt. NULL, or
 * what is wrong with it. */
const char *mafat_packed_graph_index_read(struct mafat_packed *p, struct mafat_bytes_reader *from, bool wanted);
/* Failures stay in `to`. */
void mafat_packed_graph_index_write(const struct mafat_packed *p, const struct mafat_excerpt *excerpt,
                                    struct mafat_bytes *to);

/* The hash with where a network has its constants, and those that no file has. */
uint64_t mafat_packed_graph_hash(uint64_t hash, const struct mafat_network *n);

#endif
