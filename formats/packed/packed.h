/* A packed model: a network and its weights in the order that the kernels take them, so
 * that parts of layers can be read and used as they are. Made by pack_weights; described
 * byte by byte in doc/packed.md. Version 1 holds no network: it is run with the cfg that
 * it was made for. Version 2 holds a cfg, version 3 an excerpt of an ONNX or TFLite model (graph.h).
 *
 * Here are header and index, as bytes that somebody else reads and writes; the weights
 * themselves are runner/weights' affair. All sizes are checked before they are used. */
#ifndef MAFAT_FORMATS_PACKED_PACKED_H
#define MAFAT_FORMATS_PACKED_PACKED_H

#include "formats/packed/hash.h"
#include "formats/packed/model.h"
#include "formats/readers.h"

enum {
  MAFAT_PACKED_ALIGNMENT = 4096, /* of each layer's weights */
  MAFAT_PACKED_MAGIC_BYTES = 8,
  MAFAT_PACKED_BEGINNING = 16,
  MAFAT_PACKED_HEADER = 88
};

extern const struct mafat_reader mafat_packed_reader, mafat_packed_graph_reader;

/* Do these bytes begin a packed file, of whatever version? */
bool mafat_packed_begins(const char beginning[MAFAT_PACKED_MAGIC_BYTES]);
/* One whose network is imported, as ONNX and TFLite files are? */
bool mafat_packed_imports(const char beginning[MAFAT_PACKED_BEGINNING]);

void mafat_packed_close(struct mafat_packed **packed);

/* ---- reading ---- */

/* Reads header and index, and checks them: against the network, too, unless it is NULL.
 * `graph`: with the network that is in it. MAFAT_EFORMAT: damaged, or of another network;
 * MAFAT_EUNSUPPORTED: of another version, type or order. MAFAT_ENOMEM; what reading gives. */
int mafat_packed_open(struct mafat_packed **out, struct mafat_model_source *from, const struct mafat_network *n,
                      bool graph, struct mafat_diagnostic *d);
/* The network of a packed file. MAFAT_EFORMAT: it holds none, or is damaged; errors of the readers. */
int mafat_packed_network(struct mafat_network **out, struct mafat_model_source *source, const struct mafat_reading *how,
                         struct mafat_diagnostic *d);
/* Gives a network, which the file has to be packed for, the types of its weights: before a plan is made for both. A file that ends with
 * its header has none to give: it is taken for one of floats. Errors of mafat_packed_open. */
int mafat_packed_types(struct mafat_network *n, struct mafat_model_source *source, struct mafat_diagnostic *d);

/* The types that its weights have to the network's layers. MAFAT_EFORMAT: one is of a layer that takes no such type. */
int mafat_packed_give_types(const struct mafat_packed *p, struct mafat_network *n, const char *name, struct mafat_diagnostic *d);

/* MAFAT_EFORMAT, saying so, when the sum of all words of a layer is not what it should be.
 * n: for its name, may be NULL. */
int mafat_packed_check_layer(const struct mafat_packed *p, const char *name, const struct mafat_network *n, int layer,
                             uint64_t checksum, struct mafat_diagnostic *d);

/* ---- writing ---- */

/* Lays out a file for a network whose layers have so many bytes of weights, of their types; checksums and
 * source are left to be filled in. The origin may be NULL; all stay the caller's. MAFAT_ENOMEM;
 * MAFAT_ELIMIT: more than can be addressed, or than an index can say. */
int mafat_packed_make(struct mafat_packed **out, const struct mafat_network *n,
                      const struct mafat_packed_origin *origin, const uint64_t *layer_bytes);
/* Header and index of a packed file that is complete, p->begin_bytes: *beginning is the
 * caller's to free. MAFAT_ENOMEM. */
int mafat_packed_seal(const struct mafat_packed *p, const struct mafat_network *n,
                      const struct mafat_packed_origin *origin, char **beginning);

#endif
