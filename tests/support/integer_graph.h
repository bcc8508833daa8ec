/* Random models of integers as .tflite files, and what each of their operators puts out by the
 * written rule (tests/kernels/integer_rule.h), one after the other, in plain C: what running them
 * must give, to the bit. */
#ifndef MAFAT_TESTS_SUPPORT_INTEGER_GRAPH_H
#define MAFAT_TESTS_SUPPORT_INTEGER_GRAPH_H

#include "tests/support/random.h"
#include "tests/support/tflite_writer.h"

enum { TEST_INTEGER_TENSORS = 64, TEST_INTEGER_OPERATORS = 16 };

/* A tensor that is no constant: numbers as the file has them, rows of columns of channels. */
struct test_integer_map {
  int tensor, h, w, c;
  float scale;
  int zero;
  bool flat;   /* of two dimensions: a row of channels */
  bool places; /* no numbers: 32-bit places of the largest */
  int16_t *at;
};

struct test_integer_graph {
  struct test_tflite_model model;
  struct test_tflite_tensor tensors[TEST_INTEGER_TENSORS];
  struct test_tflite_operator operators[TEST_INTEGER_OPERATORS];
  struct test_integer_map maps[TEST_INTEGER_OPERATORS + 1]; /* the first is the input */
  int n_maps;
  bool is_signed;
  struct test_rng rng;
  void *owned[4 * TEST_INTEGER_TENSORS];
  int n_owned;
  char names[TEST_INTEGER_TENSORS][8];
};

void test_integer_graph_open(struct test_integer_graph *g, uint64_t seed);
void test_integer_graph_close(struct test_integer_graph *g);
/* The file of one of them, to be freed. */
char *test_integer_graph_write(unsigned number, size_t *n);
/* The map that output `index` of the model is. */
const struct test_integer_map *test_integer_graph_output(const struct test_integer_graph *g,
                                                         int index);

#endif
