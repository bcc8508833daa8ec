/* Hashes and checksums of packed files and of the files they were made from. Included by api/ and
 * formats/packed. Pure functions. */
#ifndef MAFAT_FORMATS_PACKED_HASH_H
#define MAFAT_FORMATS_PACKED_HASH_H

#include <stddef.h>
#include <stdint.h>

/* FNV-1a over 64-bit words; the last may be short. `hash`: of the preceding multiple of 8 bytes, or
 * MAFAT_HASH_START. */
#define MAFAT_HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t mafat_hash(uint64_t hash, const void *data, size_t bytes);

/* Checksum of bytes [at, at + bytes) of a layer: sum of its 32-bit words, each times an odd number
 * of its own, modulo 2^64. Independent of the order and division of the parts; a short last word is
 * padded with 0. */
uint64_t mafat_packed_checksum(const void *part, uint64_t at, size_t bytes);

#endif
