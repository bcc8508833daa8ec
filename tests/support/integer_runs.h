/* Runs of random models of integers (integer_graph.h): what they put out is compared with what the
 * rule says. */
#ifndef MAFAT_TESTS_SUPPORT_INTEGER_RUNS_H
#define MAFAT_TESTS_SUPPORT_INTEGER_RUNS_H

#include "network/network.h"
#include "runner/kernels/kernels.h"
#include "tests/support/integer_graph.h"

struct test_integer_run {
  const char *path, *plan; /* of the weights: the model's file, or a packed one */
  bool packed, keeps_all;  /* of the plan's options */
  int threads;
  const struct mafat_kernels *kernels; /* NULL: the best */
};

/* Opens, runs twice and compares; where the weights are refused, in opening or in a run, the code,
 * with a diagnostic. */
int test_integer_run(const struct test_integer_graph *g, const struct mafat_network *n,
                     const struct test_integer_run *run, struct mafat_diagnostic *d);

/* The plans that anybody uses the one of the least arena and random ones, at any level, none of
 * them refused. */
void test_integer_run_plans(struct test_integer_graph *g, const struct mafat_network *n,
                            const char *path, bool packed);

#endif
