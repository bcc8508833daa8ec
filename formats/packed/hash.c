#include "formats/packed/hash.h"

#include <string.h>

uint64_t mafat_hash(uint64_t hash, const void *data, size_t bytes)
{
  const char *at = data;
  for (; bytes > 0;) {
    uint64_t word = 0;
    size_t n = bytes < sizeof word ? bytes : sizeof word;
    memcpy(&word, at, n);
    hash = (hash ^ word) * UINT64_C(0x100000001b3);
    hash ^= hash >> 32; /* FNV by bytes lets upper bits reach lower ones by itself */
    at += n;
    bytes -= n;
  }
  return hash;
}

uint64_t mafat_packed_checksum(const void *words, uint64_t first, size_t bytes)
{
  const char *at = words;
  uint64_t sum = 0;
  uint32_t coefficient = (uint32_t)first * 0x9e3779b1u;
  for (size_t i = 0; i < bytes / 4; i++, coefficient += 0x9e3779b1u) {
    uint32_t word;
    memcpy(&word, at + 4 * i, sizeof word);
    sum += (uint64_t)word * (coefficient | 1);
  }
  return sum;
}
