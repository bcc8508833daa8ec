/* Random models of 8-bit integers as .tflite files. The output of each operator is computed in
 * plain C by the rule in tests/kernels/integer_rule.h; running the model must give exactly these
 * values. Included by suites of integer models and by fuzz targets. Needs no test framework. */
#ifndef MAFAT_TESTS_SUPPORT_INTEGER_GRAPH_H
#define MAFAT_TESTS_SUPPORT_INTEGER_GRAPH_H

#include "tests/support/random.h"
#include "tests/support/tflite_writer.h"

enum { TEST_INTEGER_TENSORS = 64, TEST_INTEGER_OPERATORS = 16 };

/* A tensor that is not constant. `at` has its quantized values, [row][column][channel]. */
struct test_integer_map {
  int tensor, h, w, c;
  float scale;
  int zero;
  bool flat;   /* two dimensions: one row of channels */
  bool places; /* `at` has the 32-bit indices of an argmax, not quantized values */
  int16_t *at;
};

struct test_integer_graph {
  struct test_tflite_model model;
  struct test_tflite_tensor tensors[TEST_INTEGER_TENSORS];
  struct test_tflite_operator operators[TEST_INTEGER_OPERATORS];
  struct test_integer_map maps[TEST_INTEGER_OPERATORS + 1]; /* maps[0] is the input */
  int n_maps;
  bool is_signed;
  struct test_rng rng;
  void *owned[4 * TEST_INTEGER_TENSORS];
  int n_owned;
  char names[TEST_INTEGER_TENSORS][8];
};

void test_integer_graph_open(struct test_integer_graph *g, uint64_t seed);
void test_integer_graph_close(struct test_integer_graph *g);
/* Makes model `number`. Returns the contents of its file, *n bytes, which the caller frees. */
char *test_integer_graph_write(unsigned number, size_t *n);
/* Returns the map that is output `index` of the model. */
const struct test_integer_map *test_integer_graph_output(const struct test_integer_graph *g,
                                                         int index);

#endif
