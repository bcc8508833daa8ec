/* Hashes and checksums of packed files, and of what they were made from. */
#ifndef MAFAT_FORMATS_PACKED_HASH_H
#define MAFAT_FORMATS_PACKED_HASH_H

#include <stddef.h>
#include <stdint.h>

/* FNV-1a by words of 64 bits; the last may be short. `hash`: of what came before, in
 * multiples of 8 bytes, or MAFAT_HASH_START. */
#define MAFAT_HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t mafat_hash(uint64_t hash, const void *data, size_t bytes);

/* Sum of words [first, first + bytes / 4) of a layer, each times an odd number of its own,
 * modulo 2^64: it does not depend on the order in which they are met. */
uint64_t mafat_packed_checksum(const void *words, uint64_t first, size_t bytes);

#endif
