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
int test_random_int(struct test_rng *rng, int least, int most); /* both included */
bool test_random_chance(struct test_rng *rng, int percent);

/* Darknet's weights file with random values that keep activations in range, in a memory file.
 * Returns its descriptor, which the caller closes, or -1. */
int test_random_weights(const struct mafat_network *n, uint64_t seed);

/* A random element of an array. */
#define TEST_PICK(rng, list) \
  (list)[test_random_int(rng, 0, (int)(sizeof(list) / sizeof *(list)) - 1)]

#endif
