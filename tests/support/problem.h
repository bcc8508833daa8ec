/* One layer of a kind that no cfg can have, against what it means: the last of a small network,
 * made by hand. Its operands are slices and bands of a picture, of the picture's middle, and of
 * these without what is below zero. */
#ifndef MAFAT_TESTS_SUPPORT_PROBLEM_H
#define MAFAT_TESTS_SUPPORT_PROBLEM_H

#include "tests/support/support.h"

struct test_problem {
  struct mafat_network *network;
  struct mafat_layer *layer; /* the last */
  float *input;              /* [c][h][w] */
  double tolerance;          /* of the larger of an output and 1: 2e-6 */
  int output;                /* which of its outputs is asked for: the first */
};

/* Two middles of those sizes, of a picture that is as large as they need and has about so many
 * channels; values between -1 and 1. The layer has no operand yet, and is of that kind. */
void test_problem_open(struct test_problem *p, struct test_rng *rng, enum mafat_layer_type type,
                       struct mafat_shape one, struct mafat_shape two);
void test_problem_close(struct test_problem *p);
/* An operand of exactly that shape, whose height and width are one of the middles'. */
void test_problem_add(struct test_problem *p, struct test_rng *rng, struct mafat_shape shape);
/* Once it has all operands and parameters; again for another output. */
void test_problem_infer(struct test_problem *p);
/* A value of an operand. */
double test_problem_at(const struct test_problem *p, int operand, int c, int y, int x);
/* Runs the network by all levels and by plans of all kinds, with one to three threads, in arenas
 * full of NaN: each time the outputs are what the meaning says, and those of a level the same bits.
 */
void test_problem_check(const struct test_problem *p, const struct test_meaning *meaning);

#endif
