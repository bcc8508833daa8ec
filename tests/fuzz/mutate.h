/* Structured mutations of a cfg, a plan, a protocol buffer message and a FlatBuffers file, for a
 * target's LLVMFuzzerCustomMutator. Each sometimes calls libFuzzer's own mutation. Included by
 * mutators and fuzz targets.
 *
 * Each changes `data` of n bytes in place, in a buffer of `most` bytes, and returns the new
 * size. */
#ifndef MAFAT_TESTS_FUZZ_MUTATE_H
#define MAFAT_TESTS_FUZZ_MUTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* libFuzzer's own mutation. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t n, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed);

size_t mutate_cfg(uint8_t *data, size_t n, size_t most, unsigned seed);
size_t mutate_plan(uint8_t *data, size_t n, size_t most, unsigned seed);
size_t mutate_wire(uint8_t *data, size_t n, size_t most, unsigned seed);
size_t mutate_flat(uint8_t *data, size_t n, size_t most, unsigned seed);

/* ---- shared steps ---- */

struct mutation {
  uint8_t *data;
  size_t n, most;
  unsigned state;
};

/* A random number below `below`, which is at least 1. */
static inline unsigned mutation_random(struct mutation *m, size_t below)
{
  m->state = m->state * 1664525u + 1013904223u;
  return (unsigned)((m->state >> 8) % below);
}

/* Replaces `gone` bytes at `at` by n bytes, which must not be in the moved part of the data.
 * False: too little space. */
bool mutation_splice(struct mutation *m, size_t at, size_t gone, const void *bytes, size_t n);
/* The same with n bytes at offset `from` of the data. */
bool mutation_copy(struct mutation *m, size_t to, size_t gone, size_t from, size_t n);
/* Mutates n bytes with libFuzzer. Returns the new size. */
size_t mutation_scramble(uint8_t *bytes, size_t n, size_t most);
/* A number that often breaks code: limits of types, powers of two, and their neighbours. */
long long mutation_number(struct mutation *m);

#endif
