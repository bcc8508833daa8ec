/* Runs random integer models (integer_graph.h) and compares their outputs with the values
 * computed there. A difference fails the test. Included by suites of integer models. */
#ifndef MAFAT_TESTS_SUPPORT_INTEGER_RUNS_H
#define MAFAT_TESTS_SUPPORT_INTEGER_RUNS_H

#include "network/network.h"
#include "runner/kernels/kernels.h"
#include "tests/support/integer_graph.h"

struct test_integer_run {
  const char *path, *plan; /* `path`: the model's file, or a packed file of its weights */
  bool packed, keeps_all;  /* options of the plan */
  int threads;
  const struct mafat_kernels *kernels; /* NULL: the processor's best level */
};

/* Opens the weights, runs the model twice and compares the outputs. Returns an error if opening
 * or running fails. */
int test_integer_run(const struct test_integer_graph *g, const struct mafat_network *n,
                     const struct test_integer_run *run, struct mafat_diagnostic *d);

/* Runs the model by common plans, by the plan with the smallest arena, and by random plans, at
 * random kernel levels. A plan that is refused fails the test. */
void test_integer_run_plans(struct test_integer_graph *g, const struct mafat_network *n,
                            const char *path, bool packed);

#endif
