/* Reads and writes the index of packed files of versions 2 to 5. The index lists the layers with
 * their parameters (from a cfg), or the byte ranges of an embedded graph (graph.h), and the type
 * and size of each layer's weights. doc/packed.md describes the bytes. Included by
 * formats/packed/packed.c. Reading allocates the cfg or embedded graph, and the table of
 * activations, in the struct mafat_packed; mafat_packed_close frees them. */
#ifndef MAFAT_FORMATS_PACKED_INDEX_H
#define MAFAT_FORMATS_PACKED_INDEX_H

#include "formats/packed/bytes.h"
#include "formats/packed/model.h"

/* Reads an index of `bytes` bytes. Fills in p->entries and p->types, which the caller has allocated
 * for p->n_layers entries, and, if `graph` is true, also the network (a cfg or the ranges of an
 * embedded graph). name: the file's path, for messages. MAFAT_EFORMAT, MAFAT_EUNSUPPORTED,
 * MAFAT_ENOMEM. */
int mafat_packed_index_read(struct mafat_packed *p, const char *index, size_t bytes,
                            const char *name, bool graph, struct mafat_diagnostic *d);
/* Appends the index to `to`. If memory runs out, sets to->failed. */
void mafat_packed_index_write(const struct mafat_packed *p, const struct mafat_network *n,
                              const struct mafat_packed_origin *origin, struct mafat_bytes *to);

#endif
