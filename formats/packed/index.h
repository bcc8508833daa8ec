/* The index of a packed file of version 2 or 3: operators with their parameters, or what an excerpt consists of
 * (graph.h); constants with their types and places, all by name. doc/packed.md describes its bytes. */
#ifndef MAFAT_FORMATS_PACKED_INDEX_H
#define MAFAT_FORMATS_PACKED_INDEX_H

#include "formats/packed/bytes.h"
#include "formats/packed/model.h"

/* p->n_layers and p->entries, which has so many, are there; fills the entries, and the graph
 * where it is asked for. MAFAT_EFORMAT, MAFAT_EUNSUPPORTED, MAFAT_ENOMEM. */
int mafat_packed_index_read(struct mafat_packed *p, const char *index, size_t bytes, const char *name, bool graph,
                            struct mafat_diagnostic *d);
/* Failures stay in `to`. */
void mafat_packed_index_write(const struct mafat_packed *p, const struct mafat_network *n,
                              const struct mafat_packed_origin *origin, struct mafat_bytes *to);

#endif
