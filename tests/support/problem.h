/* Tests one layer of a kind that no cfg has: its outputs must match its definition. It is the last
 * layer of a small network read from a cfg text. Its operands are slices and bands of rows of five
 * maps: the picture, two regions cropped from it, and each region after relu. Included by the
 * suites in tests/unit/kinds. */
#ifndef MAFAT_TESTS_SUPPORT_PROBLEM_H
#define MAFAT_TESTS_SUPPORT_PROBLEM_H

#include "tests/support/support.h"

struct test_problem {
  struct mafat_network *network;
  struct mafat_layer *layer; /* the last layer, under test */
  float *input;              /* [c][h][w] */
  /* largest error of an output, relative to the larger of 1 and the output's magnitude; 2e-6 at
   * first */
  double tolerance;
  int output;                /* index of the output to compare; 0 at first */
};

/* Makes the network: a picture of random values in -1..1, two crops of it with the heights and
 * widths of `one` and `two`, and the layer, which has this kind and no operand yet.
 * test_problem_close frees the network. */
void test_problem_open(struct test_problem *p, struct test_rng *rng, enum mafat_layer_type type,
                       struct mafat_shape one, struct mafat_shape two);
void test_problem_close(struct test_problem *p);
/* Adds an operand of exactly this shape to the layer. Its height and width must be those of `one`
 * or of `two`. */
void test_problem_add(struct test_problem *p, struct test_rng *rng, struct mafat_shape shape);
/* Infers shapes. Call it when all operands and parameters are set, and again after p->output
 * changes. */
void test_problem_infer(struct test_problem *p);
/* Returns the exact value of an operand at (c, y, x). */
double test_problem_at(const struct test_problem *p, int operand, int c, int y, int x);
/* Runs the network at each kernel level, and at the best one by plans of all kinds with one to
 * three threads, in arenas filled with NaN. The outputs must match the definition; those of all
 * plans must have the same bits. */
void test_problem_check(const struct test_problem *p, const struct test_meaning *meaning);

#endif
