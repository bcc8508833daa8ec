/* Reads and writes the index of packed files of versions 2 to 5. It holds operators with
 * parameters, or the parts of an embedded graph (graph.h), and constants with types and offsets,
 * all by name. Byte format: doc/packed.md. Included by formats/packed/packed.c. Allocates the
 * entries and the embedded network. */
#ifndef MAFAT_FORMATS_PACKED_INDEX_H
#define MAFAT_FORMATS_PACKED_INDEX_H

#include "formats/packed/bytes.h"
#include "formats/packed/model.h"

/* Fills p->entries, which has p->n_layers entries, and the graph if requested. MAFAT_EFORMAT,
 * MAFAT_EUNSUPPORTED, MAFAT_ENOMEM. */
int mafat_packed_index_read(struct mafat_packed *p, const char *index, size_t bytes,
                            const char *name, bool graph, struct mafat_diagnostic *d);
/* Failures are recorded in `to`. */
void mafat_packed_index_write(const struct mafat_packed *p, const struct mafat_network *n,
                              const struct mafat_packed_origin *origin, struct mafat_bytes *to);

#endif
