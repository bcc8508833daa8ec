/* Hashes and checksums of packed files, and of what they were made from. */
#ifndef MAFAT_FORMATS_PACKED_HASH_H
#define MAFAT_FORMATS_PACKED_HASH_H

#include <stddef.h>
#include <stdint.h>

/* FNV-1a by words of 64 bits; the last may be short. `hash`: of what came before, in
 * multiples of 8 bytes, or MAFAT_HASH_START. */
#define MAFAT_HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t mafat_hash(uint64_t hash, const void *data, size_t bytes);

/* Sum of the words of 32 bits in bytes [at, at + bytes) of a layer, whatever their types, each times an odd number of its own,
 * modulo 2^64: it does not depend on the order in which they are met, nor on how they are cut; what is missing in the last is 0. */
uint64_t mafat_packed_checksum(const void *part, uint64_t at, size_t bytes);

#endif
