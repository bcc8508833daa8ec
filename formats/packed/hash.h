/* Hashes and checksums of packed files and of the files they were made from. Included by api/ and
 * formats/packed; called by runner/weights. Pure functions. */
#ifndef MAFAT_FORMATS_PACKED_HASH_H
#define MAFAT_FORMATS_PACKED_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Extends a hash by some bytes, by FNV-1a over 64-bit words. `hash`: MAFAT_HASH_START, or the hash
 * of the preceding bytes; the number of these bytes must be a multiple of 8. */
#define MAFAT_HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t mafat_hash(uint64_t hash, const void *data, size_t bytes);

/* Returns the checksum of bytes [at, at + bytes) of a layer: the sum of its 32-bit words, each
 * times an odd number that depends on its position, modulo 2^64. The checksums of a layer's parts
 * add up, however it is divided. A short last word is padded with 0. */
uint64_t mafat_packed_checksum(const void *part, uint64_t at, size_t bytes);

#endif
