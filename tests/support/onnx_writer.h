/* Writes small ONNX files for tests: messages of protocol buffers, and models made of them. Needs
 * no test framework; aborts when there is no memory. */
#ifndef MAFAT_TESTS_SUPPORT_ONNX_WRITER_H
#define MAFAT_TESTS_SUPPORT_ONNX_WRITER_H

#include <stddef.h>
#include <stdint.h>

/* ---- a message; begins as {0}, `data` is its maker's to free ---- */

struct test_message {
  char *data;
  size_t n, capacity;
};

void test_put_bytes(struct test_message *m, const void *data, size_t n);
void test_put_varint(struct test_message *m, uint64_t value);
/* A field, as the wire has it: a varint, 4 bytes, bytes behind their number. */
void test_put_int(struct test_message *m, int field, int64_t value);
void test_put_float(struct test_message *m, int field, float value);
void test_put_text(struct test_message *m, int field, const char *text);
void test_put_data(struct test_message *m, int field, const void *data, size_t n);
/* Ends the inner message. */
void test_put_message(struct test_message *m, int field, struct test_message *inner);

/* ---- tensors ---- */

enum test_onnx_style {
  TEST_ONNX_RAW,
  TEST_ONNX_TYPED,    /* in the field of their type, packed */
  TEST_ONNX_UNPACKED, /* there, one by one */
  TEST_ONNX_SPLIT,    /* there, packed in two runs */
  TEST_ONNX_EXTERNAL  /* location, offset, length */
};

struct test_onnx_tensor {
  const char *name;
  int type; /* as files number them */
  int rank;
  const int64_t *dims;
  const double *values; /* as many as the dimensions have elements */
  enum test_onnx_style style;
  const char *location;
  const char *offset, *length; /* NULL: not written */
};

struct test_message test_onnx_tensor(const struct test_onnx_tensor *t);

/* ---- models ---- */

/* `names` are divided by spaces; "-" is one that is left out. */
struct test_message test_onnx_node(const char *op_type, const char *name, const char *inputs,
                                   const char *outputs);
/* Attributes divided by spaces: axis=1 alpha=.5 mode=constant pads=[1,1,2,2] scales=[1.,2.]. A
 * number with a point is a float, what begins like none a string. */
void test_onnx_attributes(struct test_message *node, const char *attributes);
void test_onnx_tensor_attribute(struct test_message *node, const char *name,
                                const struct test_onnx_tensor *t);

/* A graph is a message, too: what these are put into. */
void test_onnx_add_node(struct test_message *graph, struct test_message *node);
/* The last four in one. */
void test_onnx_add(struct test_message *graph, const char *op_type, const char *inputs,
                   const char *outputs, const char *attributes);
void test_onnx_initializer(struct test_message *graph, const struct test_onnx_tensor *t);
/* Adds a raw float tensor. */
void test_onnx_floats(struct test_message *graph, const char *name, int rank, const int64_t *dims,
                      const double *values);
void test_onnx_int64s(struct test_message *graph, const char *name, int n, const int64_t *values);
/* A value of floats: a dimension of less than 0 is called "batch"; a rank of less than 0 is not
 * written. */
void test_onnx_input(struct test_message *graph, const char *name, int rank, const int64_t *dims);
/* The same of elements of a type, as files number them. */
void test_onnx_typed_input(struct test_message *graph, const char *name, int type, int rank,
                           const int64_t *dims);
/* The same of a list of int64. */
void test_onnx_int64_input(struct test_message *graph, const char *name, int64_t n);
void test_onnx_output(struct test_message *graph, const char *name, int rank, const int64_t *dims);

/* A file of the graph, which ends. */
struct test_message test_onnx_model(struct test_message *graph, int opset);

#endif
