/* A deterministic random generator, and random weights: a seed gives the same values on every
 * machine. Needs no test framework. Included by all tests with random cases. */
#ifndef MAFAT_TESTS_SUPPORT_RANDOM_H
#define MAFAT_TESTS_SUPPORT_RANDOM_H

#include "network/network.h"

struct test_rng {
  uint64_t state;
};

struct test_rng test_rng(uint64_t seed);
uint32_t test_random(struct test_rng *rng);
/* Returns a random integer from `least` to `most`, both included. */
int test_random_int(struct test_rng *rng, int least, int most);
bool test_random_chance(struct test_rng *rng, int percent);

/* Writes random weights to a memory file (memfd) in the format of Darknet's weights files. The
 * values keep activations in range. Returns the file's descriptor, which the caller closes; -1:
 * an error. */
int test_random_weights(const struct mafat_network *n, uint64_t seed);

/* A random element of an array. */
#define TEST_PICK(rng, list) \
  (list)[test_random_int(rng, 0, (int)(sizeof(list) / sizeof *(list)) - 1)]

#endif
