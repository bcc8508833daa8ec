/* Changes that know what they change: of a cfg's text, a plan's, a message of protocol buffers, a
 * FlatBuffers file. A target's LLVMFuzzerCustomMutator asks for one of them, and now and then for
 * libFuzzer's own, which knows nothing.
 *
 * Each changes `data` of n bytes in place, where there is room for `most`, and returns how many
 * there are then. */
#ifndef MAFAT_TESTS_FUZZ_MUTATE_H
#define MAFAT_TESTS_FUZZ_MUTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* libFuzzer's. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t n, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t n, size_t most, unsigned seed);

size_t mutate_cfg(uint8_t *data, size_t n, size_t most, unsigned seed);
size_t mutate_plan(uint8_t *data, size_t n, size_t most, unsigned seed);
size_t mutate_wire(uint8_t *data, size_t n, size_t most, unsigned seed);
size_t mutate_flat(uint8_t *data, size_t n, size_t most, unsigned seed);

/* ---- what they share ---- */

struct mutation {
  uint8_t *data;
  size_t n, most;
  unsigned state;
};

/* Below `below`, which is not 0. */
static inline unsigned mutation_random(struct mutation *m, size_t below)
{
  m->state = m->state * 1664525u + 1013904223u;
  return (unsigned)((m->state >> 8) % below);
}

/* In place of `gone` bytes others; false: there is no room. What is put in may not lie in what is
 * moved. */
bool mutation_splice(struct mutation *m, size_t at, size_t gone, const void *bytes, size_t n);
/* The same, of bytes that lie in the data. */
bool mutation_copy(struct mutation *m, size_t to, size_t gone, size_t from, size_t n);
/* Mutates n bytes with libFuzzer; marks them as initialized for MemorySanitizer. Returns the new
 * number of bytes. */
size_t mutation_scramble(uint8_t *bytes, size_t n, size_t most);
/* A number that breaks things: ends of types, powers of two, what lies beside. */
long long mutation_number(struct mutation *m);

#endif
