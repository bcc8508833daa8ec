/* Runs random integer models (integer_graph.h) and compares their outputs with the rule.
 * Included by integer suites. */
#ifndef MAFAT_TESTS_SUPPORT_INTEGER_RUNS_H
#define MAFAT_TESTS_SUPPORT_INTEGER_RUNS_H

#include "network/network.h"
#include "runner/kernels/kernels.h"
#include "tests/support/integer_graph.h"

struct test_integer_run {
  const char *path, *plan; /* path: weights, in the model's file or a packed one */
  bool packed, keeps_all;  /* options of the plan */
  int threads;
  const struct mafat_kernels *kernels; /* NULL: the best */
};

/* Opens the model, runs it twice and compares. Returns an error if the weights are refused, at
 * opening or in a run. */
int test_integer_run(const struct test_integer_graph *g, const struct mafat_network *n,
                     const struct test_integer_run *run, struct mafat_diagnostic *d);

/* Runs common plans, the one with the smallest arena and random ones, at random levels. None may
 * be refused. */
void test_integer_run_plans(struct test_integer_graph *g, const struct mafat_network *n,
                            const char *path, bool packed);

#endif
