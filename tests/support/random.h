/* A deterministic generator of random numbers, and weights made of them: the same seed
 * gives the same on every machine. Needs no test framework. */
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

/* Darknet's file of random numbers that keep activations in range, in memory: a
 * descriptor, or -1. */
int test_random_weights(const struct mafat_network *n, uint64_t seed);

/* One of an array. */
#define TEST_PICK(rng, list) \
  (list)[test_random_int(rng, 0, (int)(sizeof(list) / sizeof *(list)) - 1)]

#endif
