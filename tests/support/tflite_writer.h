/* Small .tflite files for tests, from a description as plain data. Needs no test framework. */
#ifndef MAFAT_TESTS_SUPPORT_TFLITE_WRITER_H
#define MAFAT_TESTS_SUPPORT_TFLITE_WRITER_H

#include <stddef.h>
#include <stdint.h>

enum { TEST_TFLITE_RANK = 8, TEST_TFLITE_LIST = 8, TEST_TFLITE_FIELDS = 8 };

/* A field of an operator's options. bytes: 1 or 4, or 0: a list of n numbers. */
struct test_tflite_field {
  int number, bytes;
  int32_t value;
  float real; /* where it is not 0, in place of value */
  int n;
  int32_t list[TEST_TFLITE_LIST];
};

struct test_tflite_tensor {
  const char *name;
  int type;               /* as in the schema */
  int rank;
  int32_t shape[TEST_TFLITE_RANK];
  const void *data;       /* of a constant */
  size_t bytes;
  const int32_t *signature; /* (rank), NULL: none */
  int n_scales, variable, sparse;
  const float *scales;      /* (n_scales); NULL: all .5, and a zero point of 3 */
  const int64_t *zero_points; /* (n_zero_points) beside these */
  int n_zero_points, dimension;
};

struct test_tflite_operator {
  int code;
  const char *custom;     /* of code 32 */
  int n_inputs, n_outputs;
  int32_t inputs[TEST_TFLITE_LIST], outputs[TEST_TFLITE_LIST];
  int options;            /* the schema's number for them; 0: none */
  int n_fields;
  struct test_tflite_field fields[TEST_TFLITE_FIELDS];
  const void *custom_options;
  size_t custom_bytes;
};

struct test_tflite_model {
  const struct test_tflite_tensor *tensors;
  const struct test_tflite_operator *operators;
  int n_tensors, n_operators;
  int n_inputs, n_outputs;
  int32_t inputs[TEST_TFLITE_LIST], outputs[TEST_TFLITE_LIST];
  int n_codes;     /* 0: each operator has one of its own, of which a file may have 4096 */
  const int *codes;
  int n_subgraphs; /* 0: one */
  int version;     /* 0: 3 */
  int n_means;     /* 0: no metadata; else of the first input, as many means as deviations */
  float means[4], deviations[4];
};

/* The file in memory, to be freed, of *n bytes. */
char *test_tflite_write(const struct test_tflite_model *m, size_t *n);
/* The same as a file without a name: its descriptor; -1: a failure. */
int test_tflite_file(const struct test_tflite_model *m);

/* A map of FlexBuffers whose values are floats or integers, in `to`: its length. Keys are to be in
 * order. */
struct test_flex_entry {
  const char *key;
  int32_t whole;
  float real; /* where it is not 0 */
};
size_t test_flex_write(const struct test_flex_entry *entries, int n, char to[512]);

#endif
