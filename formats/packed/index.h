/* Reads and writes the index of packed files of versions 2 to 5. It lists operators with their
 * parameters, or the ranges of an embedded graph (graph.h), and weights with types and offsets.
 * doc/packed.md describes the bytes. Included by formats/packed/packed.c. Allocates the cfg or
 * embedded graph, and the table of activations. */
#ifndef MAFAT_FORMATS_PACKED_INDEX_H
#define MAFAT_FORMATS_PACKED_INDEX_H

#include "formats/packed/bytes.h"
#include "formats/packed/model.h"

/* Reads an index of `bytes` bytes. Fills in p->entries and p->types, which the caller has allocated
 * for p->n_layers entries, and, if `graph`, the network. name: the file's path, for messages.
 * MAFAT_EFORMAT, MAFAT_EUNSUPPORTED, MAFAT_ENOMEM. */
int mafat_packed_index_read(struct mafat_packed *p, const char *index, size_t bytes,
                            const char *name, bool graph, struct mafat_diagnostic *d);
/* Writes the index. Failures are recorded in `to`. */
void mafat_packed_index_write(const struct mafat_packed *p, const struct mafat_network *n,
                              const struct mafat_packed_origin *origin, struct mafat_bytes *to);

#endif
