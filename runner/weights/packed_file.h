/* A packed weights file: the weights of a network in the order that the kernels
 * take them (packing.h), so that parts of layers can be read and used as they
 * are. Made from a .weights file by pack_weights.
 *
 *   header, 4096 bytes:  magic, byte order, version, number of layers; what
 *                        packing depends on in the network, hashed; hash and length
 *                        of the .weights file; checksums of the table and of itself
 *   table:               {offset, bytes, checksum} of every layer, then zeros up to
 *                        the next multiple of 4096
 *   images:              mafat_packed_floats(layer) floats each, in the order of
 *                        layers, each at a multiple of 4096; zeros between and behind
 *
 * Everything is little-endian. An image's checksum does not depend on the order in
 * which its words are met, so that it can be taken of parts as they are read. */
#ifndef MAFAT_RUNNER_WEIGHTS_PACKED_FILE_H
#define MAFAT_RUNNER_WEIGHTS_PACKED_FILE_H

#include "network/network.h"

#include <stdint.h>

enum { MAFAT_PACKED_ALIGNMENT = 4096, MAFAT_PACKED_VERSION = 1, MAFAT_PACKED_MAGIC_BYTES = 8 };

extern const char mafat_packed_magic[MAFAT_PACKED_MAGIC_BYTES];

struct mafat_packed_header {
  char magic[MAFAT_PACKED_MAGIC_BYTES];
  uint32_t byte_order;    /* 0x01020304 */
  uint32_t version;
  uint64_t n_layers;
  uint64_t network_hash;
  uint64_t source_hash, source_bytes; /* of the .weights file */
  uint64_t table_checksum;
  uint64_t header_checksum; /* of all before it */
};

struct mafat_packed_entry {
  uint64_t offset, bytes; /* 0 bytes: a layer without weights */
  uint64_t checksum;
};

/* FNV-1a by words of 64 bits; the last may be short. `hash`: of what came before, in
 * multiples of 8 bytes, or MAFAT_HASH_START. */
#define MAFAT_HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t mafat_hash(uint64_t hash, const void *data, size_t bytes);

/* Sum of words [first, first + bytes / 4) of an image, each times an odd number of its
 * own, modulo 2^64. */
uint64_t mafat_packed_checksum(const void *words, uint64_t first, size_t bytes);

/* Of all that packing depends on in a network. */
uint64_t mafat_packed_network_hash(const struct mafat_network *n);

/* Where the first image begins, and where the file ends. The latter is 0 on overflow. */
uint64_t mafat_packed_images_at(int n_layers);
uint64_t mafat_packed_file_bytes(const struct mafat_network *n);
/* Offsets and bytes of the layers; checksums are left alone. */
void mafat_packed_lay_out(const struct mafat_network *n, struct mafat_packed_entry *entries);

/* Completes a header for entries that are complete: magic, checksums and all but the
 * source's hash and length. */
void mafat_packed_seal(const struct mafat_network *n, const struct mafat_packed_entry *entries,
                       struct mafat_packed_header *header);

/* Is this the header of a packed file of this network (NULL: of any), of so many bytes?
 * `name` for messages. MAFAT_EFORMAT, MAFAT_EUNSUPPORTED (another version). */
int mafat_packed_check_header(const struct mafat_packed_header *header, const char *name, uint64_t file_bytes,
                              const struct mafat_network *n, struct mafat_diagnostic *d);
/* And its table, of header->n_layers entries? MAFAT_EFORMAT. */
int mafat_packed_check_table(const struct mafat_packed_header *header, const struct mafat_packed_entry *entries,
                             const char *name, uint64_t file_bytes, const struct mafat_network *n,
                             struct mafat_diagnostic *d);
/* MAFAT_EFORMAT, saying so, when the sum of all words of a layer is not what it should be. */
int mafat_packed_check_layer(const struct mafat_packed_entry *entry, uint64_t checksum, const char *name,
                             const struct mafat_network *n, int layer, struct mafat_diagnostic *d);

#endif
