/* Reads and writes the header and index of packed models. A packed model holds a network and its
 * weights in the kernels' order, so that parts of layers can be read and used directly.
 *
 * pack_weights writes packed files; doc/packed.md describes the bytes. Version 1 has no network and
 * needs its cfg. Version 2 embeds a cfg, version 3 the graph of an ONNX or TFLite model (graph.h).
 * Versions 4 and 5 are versions 2 and 3 with a table of quantized activations (activations.h),
 * versions 6 to 9 are versions 2 to 5 with options.
 * The weights themselves are handled in runner/weights. All sizes are checked before use.
 *
 * Included by api/, formats/packed and runner/weights. Reads the file; allocates struct
 * mafat_packed, which mafat_packed_close frees. Writes no files. */
#ifndef MAFAT_FORMATS_PACKED_PACKED_H
#define MAFAT_FORMATS_PACKED_PACKED_H

#include "formats/packed/hash.h"
#include "formats/packed/model.h"
#include "formats/readers.h"

enum {
  MAFAT_PACKED_ALIGNMENT = 4096, /* alignment of each layer's weights, in bytes */
  MAFAT_PACKED_MAGIC_BYTES = 8, /* length of the word with which each packed file begins */
  MAFAT_PACKED_BEGINNING = 16,  /* bytes up to the version, inclusive */
  MAFAT_PACKED_HEADER = 88      /* bytes of the header */
};

extern const struct mafat_reader mafat_packed_reader, mafat_packed_graph_reader;

/* True for the first bytes of a packed file of any version. */
bool mafat_packed_begins(const char beginning[MAFAT_PACKED_MAGIC_BYTES]);
/* True for the first bytes of a packed file that holds an embedded graph. */
bool mafat_packed_imports(const char beginning[MAFAT_PACKED_BEGINNING]);

void mafat_packed_close(struct mafat_packed **packed);

/* ---- reading ---- */

/* Reads and checks header and index. Unless n is NULL, also checks that the file was packed for
 * network n. graph: also reads the cfg or the embedded graph's ranges. MAFAT_EFORMAT: damaged, or
 * packed for another network; MAFAT_EUNSUPPORTED: another version, type, or order of weights;
 * MAFAT_ENOMEM; errors of reading. */
int mafat_packed_open(struct mafat_packed **out, struct mafat_model_source *from,
                      const struct mafat_network *n, bool graph, struct mafat_diagnostic *d);
/* Reads the network of a packed file. MAFAT_EFORMAT: the file holds no network, or is damaged; also
 * errors of the readers of cfgs and graphs. */
int mafat_packed_network(struct mafat_network **out, struct mafat_model_source *source,
                         const struct mafat_reading *how, struct mafat_diagnostic *d);
/* Sets the weight types of network n, which was read from another file, to those of its packed
 * weights, and its options to those that this file stores. Called before the network is planned. A
 * file that ends after its header has no types and counts as float32. Errors of
 * mafat_packed_open. */
int mafat_packed_types(struct mafat_network *n, struct mafat_model_source *source,
                       struct mafat_diagnostic *d);

/* Sets the weight types of the network's layers. MAFAT_EFORMAT: a layer does not support its
 * type. */
int mafat_packed_give_types(const struct mafat_packed *p, struct mafat_network *n, const char *name,
                            struct mafat_diagnostic *d);

/* Compares a layer's checksum. MAFAT_EFORMAT: it differs. n: for the layer's name; may be NULL. */
int mafat_packed_check_layer(const struct mafat_packed *p, const char *name,
                             const struct mafat_network *n, int layer, uint64_t checksum,
                             struct mafat_diagnostic *d);

/* ---- writing ---- */

/* Computes the layout of a file for a network. layer_bytes: bytes of each layer's packed weights.
 * The caller fills in checksums and source later, and closes *out. origin NULL: the network is not
 * stored. MAFAT_ENOMEM; MAFAT_ELIMIT: too large to address or to index. */
int mafat_packed_make(struct mafat_packed **out, const struct mafat_network *n,
                      const struct mafat_packed_origin *origin, const uint64_t *layer_bytes);
/* Serializes header and index of a complete packed file, p->begin_bytes bytes; the caller frees
 * *beginning. MAFAT_ENOMEM. */
int mafat_packed_seal(const struct mafat_packed *p, const struct mafat_network *n,
                      const struct mafat_packed_origin *origin, char **beginning);

#endif
