/* FNV-1a by words, and the order-independent checksum of layers. Called by formats/packed,
 * runner/weights and api/rank_identity.c. Pure functions. */
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
    /* byte-wise FNV mixes upper bits into lower ones; word-wise FNV needs this */
    hash ^= hash >> 32;
    at += n;
    bytes -= n;
  }
  return hash;
}

static uint32_t coefficient_of(uint64_t at)
{
  return (uint32_t)(at / sizeof(uint32_t)) * 0x9e3779b1u;
}

/* Returns the checksum of n bytes inside one word. The checksums of a word's parts add up. */
static uint64_t checksum_part(const char *from, uint64_t at, size_t n)
{
  uint32_t word = 0;
  memcpy((char *)&word + at % sizeof word, from, n);
  return (uint64_t)word * (coefficient_of(at) | 1);
}

uint64_t mafat_packed_checksum(const void *part, uint64_t at, size_t bytes)
{
  const char *from = part;
  size_t before = (size_t)(-at % sizeof(uint32_t));
  if (before > bytes) before = bytes;
  uint64_t sum = before ? checksum_part(from, at, before) : 0;
  from += before;
  at += before;
  bytes -= before;
  uint32_t coefficient = coefficient_of(at);
  size_t n = bytes / sizeof(uint32_t);
  for (size_t i = 0; i < n; i++, coefficient += 0x9e3779b1u) {
    uint32_t word;
    memcpy(&word, from + i * sizeof word, sizeof word);
    sum += (uint64_t)word * (coefficient | 1);
  }
  size_t left = bytes % sizeof(uint32_t), done = n * sizeof(uint32_t);
  return left ? sum + checksum_part(from + done, at + done, left) : sum;
}
