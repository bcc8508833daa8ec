/* Writes small .tflite files that are described by plain structs. Included by tests and fuzz
 * targets. Needs no test framework. */
#ifndef MAFAT_TESTS_SUPPORT_TFLITE_WRITER_H
#define MAFAT_TESTS_SUPPORT_TFLITE_WRITER_H

#include <stddef.h>
#include <stdint.h>

enum { TEST_TFLITE_RANK = 8, TEST_TFLITE_LIST = 8, TEST_TFLITE_FIELDS = 8 };

/* A field of an operator's options. bytes: 1 or 4, the size of the value; 0: a list of n
 * integers. */
struct test_tflite_field {
  int number, bytes;
  int32_t value;
  float real; /* replaces `value` unless 0 */
  int n;
  int32_t list[TEST_TFLITE_LIST];
};

struct test_tflite_tensor {
  const char *name;
  int type;               /* the schema's number of the element type */
  int rank;
  int32_t shape[TEST_TFLITE_RANK];
  const void *data;       /* of constants, `bytes` bytes; else NULL */
  size_t bytes;
  const int32_t *signature; /* [rank], dimensions of -1 are dynamic; NULL: no signature */
  int n_scales, variable, sparse;
  const float *scales;      /* [n_scales]; NULL: each scale is .5 and each zero point 3 */
  const int64_t *zero_points; /* [n_zero_points], ignored if `scales` is NULL */
  int n_zero_points, dimension;
};

struct test_tflite_operator {
  int code;
  const char *custom;     /* name, for code 32 */
  int n_inputs, n_outputs;
  int32_t inputs[TEST_TFLITE_LIST], outputs[TEST_TFLITE_LIST];
  int options;            /* the schema's number of the type of options; 0: no options */
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
  int n_codes;     /* number of `codes`, up to 4096; 0: each operator has a code of its own */
  const int *codes;
  int n_subgraphs; /* 0: means 1 */
  int version;     /* 0: means 3 */
  int n_means;     /* number of means and deviations of the first input; 0: no metadata */
  float means[4], deviations[4];
};

/* Returns the bytes of the file, *n of them; the caller frees them. */
char *test_tflite_write(const struct test_tflite_model *m, size_t *n);
/* Writes the file to a memory file (memfd). Returns its descriptor, which the caller closes; -1:
 * an error. */
int test_tflite_file(const struct test_tflite_model *m);

/* Writes a FlexBuffers map, whose values are floats or integers, to `to`. Returns its length in
 * bytes. The keys must be sorted. */
struct test_flex_entry {
  const char *key;
  int32_t whole;
  float real; /* replaces `whole` unless 0 */
};
size_t test_flex_write(const struct test_flex_entry *entries, int n, char to[512]);

#endif
