/* The embedded graph of packed ONNX and TFLite models (version 3): the bytes of the model's own
 * files that its reader requests (base/embedded_graph.h). Opening a packed file runs the same
 * reader on these bytes.
 *
 * So each format has one reader and one set of checks against hostile files, which is fuzzed; a
 * second serialization would need both for every kind of layer. The result is exact, because the
 * importer finds every value that it uses (shapes, axes, limits of activations). It is small,
 * because weights and metadata that were not requested are not in it. If another version of the
 * importer makes a different network, the hash of the network and of its constants' locations
 * differs. The file is then rejected.
 *
 * Included by api/packing and formats/packed. Allocates. */
#ifndef MAFAT_FORMATS_PACKED_GRAPH_H
#define MAFAT_FORMATS_PACKED_GRAPH_H

#include "formats/packed/bytes.h"
#include "formats/packed/model.h"
#include "formats/readers.h"

/* Reads the network of a model file of a graph format, and the embedded graph for it. Some inputs
 * may be given as constants. Errors of the readers. */
int mafat_packed_graph_read(struct mafat_network **out,
                            struct mafat_embedded_graph **embedded_graph,
                            struct mafat_model_source *source, const struct mafat_given *given,
                            struct mafat_diagnostic *d);

/* Reads the network of an opened packed file from its embedded graph. MAFAT_EFORMAT: damaged. */
int mafat_packed_graph_network(struct mafat_network **out, const struct mafat_packed *p,
                               struct mafat_model_source *source, struct mafat_diagnostic *d);

/* Reads its part of the index: p->format, p->embedded_graph_hash, p->embedded_graph_bytes and, if
 * `wanted`, p->embedded_graph. Returns NULL or the error. */
const char *mafat_packed_graph_index_read(struct mafat_packed *p, struct mafat_bytes_reader *from,
                                          bool wanted);
/* Writes its part of the index. Failures are recorded in `to`. */
void mafat_packed_graph_index_write(const struct mafat_packed *p,
                                    const struct mafat_embedded_graph *embedded_graph,
                                    struct mafat_bytes *to);

/* Extends a hash by the locations of the network's constants, and by constants that are in no
 * file. */
uint64_t mafat_packed_graph_hash(uint64_t hash, const struct mafat_network *n);

#endif
