/* Mutates inputs of a known structure: a cfg, a plan, a protocol buffer message or a FlatBuffers
 * file. Called from a fuzz target's LLVMFuzzerCustomMutator. Included by mutators and fuzz
 * targets.
 *
 * Each function mutate_... changes the n bytes of `data` in place, in a buffer of `most` bytes,
 * and returns the new number of bytes. It sometimes calls libFuzzer's own mutation instead. */
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
  uint8_t *data; /* (n) bytes, in a buffer of `most` bytes */
  size_t n, most;
  unsigned state; /* of the random numbers; the seed at first */
};

/* A random number below `below`, which is at least 1. */
static inline unsigned mutation_random(struct mutation *m, size_t below)
{
  m->state = m->state * 1664525u + 1013904223u;
  return (unsigned)((m->state >> 8) % below);
}

/* Replaces the `gone` bytes at offset `at` by n bytes. `bytes` must not point to data after the
 * offset `at`, because that data is moved first. False: too little space. */
bool mutation_splice(struct mutation *m, size_t at, size_t gone, const void *bytes, size_t n);
/* Replaces the `gone` bytes at offset `to` by a copy of the n bytes at offset `from` of the
 * data. */
bool mutation_copy(struct mutation *m, size_t to, size_t gone, size_t from, size_t n);
/* Mutates n bytes with libFuzzer's own mutation. Returns the new number of bytes, at most
 * `most`. */
size_t mutation_scramble(uint8_t *bytes, size_t n, size_t most);
/* A number that often breaks code: limits of types, powers of two, and their neighbours. */
long long mutation_number(struct mutation *m);

#endif
