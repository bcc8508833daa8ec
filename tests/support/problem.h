/* Tests one layer of a kind that no cfg can have against its definition. It is the last layer of
 * a small network made by hand. Its operands are slices and bands of a picture, of the picture's
 * middle, and of these after relu. Included by the suites in tests/unit/kinds. */
#ifndef MAFAT_TESTS_SUPPORT_PROBLEM_H
#define MAFAT_TESTS_SUPPORT_PROBLEM_H

#include "tests/support/support.h"

struct test_problem {
  struct mafat_network *network;
  struct mafat_layer *layer; /* the last layer, under test */
  float *input;              /* [c][h][w] */
  double tolerance;          /* relative to the larger of an output and 1; 2e-6 at first */
  int output;                /* index of the output to compare; 0 at first */
};

/* Makes the network: a picture large enough for two middles of these sizes, with about as many
 * channels, and values in -1..1. The layer has this kind and no operand yet. */
void test_problem_open(struct test_problem *p, struct test_rng *rng, enum mafat_layer_type type,
                       struct mafat_shape one, struct mafat_shape two);
void test_problem_close(struct test_problem *p);
/* Adds an operand of exactly this shape; height and width are one of the middles'. */
void test_problem_add(struct test_problem *p, struct test_rng *rng, struct mafat_shape shape);
/* Infers shapes. Call when all operands and parameters are set, and again for another output. */
void test_problem_infer(struct test_problem *p);
/* A value of an operand. */
double test_problem_at(const struct test_problem *p, int operand, int c, int y, int x);
/* Runs the network at all levels by plans of all kinds with one to three threads, in arenas
 * filled with NaN. Outputs must match the definition; those of one level must have the same
 * bits. */
void test_problem_check(const struct test_problem *p, const struct test_meaning *meaning);

#endif
