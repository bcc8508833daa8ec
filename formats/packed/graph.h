/* The embedded graph of packed ONNX and TFLite models (version 3): those bytes of the model's files
 * that the format's reader requests (base/embedded_graph.h). Opening a packed file runs the same
 * reader on these bytes.
 *
 * The reason: each format has one reader, with one set of checks against hostile files. A second
 * serialization would need a second reader and second checks for every kind of layer. The importer
 * finds exactly the values that it uses, without weights and unused metadata, so the graph is
 * small. If another version of the importer makes a different network, the hash of the network and
 * of its constants' locations differs, and the file is rejected.
 *
 * Included by api/packing and formats/packed. Reads model files; allocates networks and embedded
 * graphs, which the caller closes. */
#ifndef MAFAT_FORMATS_PACKED_GRAPH_H
#define MAFAT_FORMATS_PACKED_GRAPH_H

#include "formats/packed/bytes.h"
#include "formats/packed/model.h"
#include "formats/readers.h"

/* Reads the network of an ONNX or TFLite file, and records the embedded graph for it. given: inputs
 * to be replaced by constants. The caller closes both. Fails with the errors of the format's
 * reader. */
int mafat_packed_graph_read(struct mafat_network **out,
                            struct mafat_embedded_graph **embedded_graph,
                            struct mafat_model_source *source, const struct mafat_given *given,
                            struct mafat_diagnostic *d);

/* Reads the network from the embedded graph of packed file p. MAFAT_EFORMAT: damaged. */
int mafat_packed_graph_network(struct mafat_network **out, const struct mafat_packed *p,
                               struct mafat_model_source *source, struct mafat_diagnostic *d);

/* Reads the embedded graph's part of the index: p->format, p->embedded_graph_hash,
 * p->embedded_graph_bytes and, if `wanted`, p->embedded_graph. Returns NULL or the error. */
const char *mafat_packed_graph_index_read(struct mafat_packed *p, struct mafat_bytes_reader *from,
                                          bool wanted);
/* Writes the embedded graph's part of the index. Failures are recorded in `to`. */
void mafat_packed_graph_index_write(const struct mafat_packed *p,
                                    const struct mafat_embedded_graph *embedded_graph,
                                    struct mafat_bytes *to);

/* Extends a hash by the locations of the network's constants, and by the values of constants that
 * are in no file. */
uint64_t mafat_packed_graph_hash(uint64_t hash, const struct mafat_network *n);

#endif
