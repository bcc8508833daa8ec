/* 64-bit FNV-1a, byte by byte (Fowler, Noll and Vo). Written here so that golden hashes do not
 * depend on the library. Included by this folder's files. */
#ifndef MAFAT_TESTS_GOLDEN_HASH_H
#define MAFAT_TESTS_GOLDEN_HASH_H

#include <stddef.h>
#include <stdint.h>

#define GOLDEN_HASH_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t golden_hash(uint64_t hash, const void *data, size_t bytes)
{
  const unsigned char *byte = data;
  for (size_t i = 0; i < bytes; i++) hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
  return hash;
}

#endif
