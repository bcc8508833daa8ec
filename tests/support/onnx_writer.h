/* Writes small ONNX files: protocol buffer messages, and models made from them. Needs no test
 * framework; aborts without memory. Included by tests and fuzz targets. */
#ifndef MAFAT_TESTS_SUPPORT_ONNX_WRITER_H
#define MAFAT_TESTS_SUPPORT_ONNX_WRITER_H

#include <stddef.h>
#include <stdint.h>

/* ---- messages: start as {0}; the caller frees `data` ---- */

struct test_message {
  char *data;
  size_t n, capacity;
};

void test_put_bytes(struct test_message *m, const void *data, size_t n);
void test_put_varint(struct test_message *m, uint64_t value);
/* Append a field: a varint, a float of 4 bytes, or bytes after their number. */
void test_put_int(struct test_message *m, int field, int64_t value);
void test_put_float(struct test_message *m, int field, float value);
void test_put_text(struct test_message *m, int field, const char *text);
void test_put_data(struct test_message *m, int field, const void *data, size_t n);
/* Appends the inner message as a field and frees it. */
void test_put_message(struct test_message *m, int field, struct test_message *inner);

/* ---- tensors ---- */

enum test_onnx_style {
  TEST_ONNX_RAW,
  TEST_ONNX_TYPED,    /* in the field of the type (int32_data etc.), packed */
  TEST_ONNX_UNPACKED, /* in the field of the type, each element with a tag */
  TEST_ONNX_SPLIT,    /* in the field of the type, packed in two halves */
  TEST_ONNX_EXTERNAL  /* in another file, at location, offset, length */
};

struct test_onnx_tensor {
  const char *name;
  int type; /* the number of the element type in onnx.proto */
  int rank;
  const int64_t *dims;
  const double *values; /* one for each element */
  enum test_onnx_style style;
  const char *location;
  const char *offset, *length; /* NULL: not written */
};

struct test_message test_onnx_tensor(const struct test_onnx_tensor *t);

/* ---- models ---- */

/* A node. Names of inputs and outputs are separated by spaces; "-" is an input or output that is
 * left out. */
struct test_message test_onnx_node(const char *op_type, const char *name, const char *inputs,
                                   const char *outputs);
/* Adds attributes to a node. They are separated by spaces: axis=1 alpha=.5 mode=constant
 * pads=[1,1,2,2] scales=[1.,2.]. A number with a point is a float; a value that does not begin
 * like a number is a string. */
void test_onnx_attributes(struct test_message *node, const char *attributes);
void test_onnx_tensor_attribute(struct test_message *node, const char *name,
                                const struct test_onnx_tensor *t);

/* A graph is a message, too. These functions append to the graph and free the message they
 * append. */
void test_onnx_add_node(struct test_message *graph, struct test_message *node);
/* Makes a node with attributes and appends it. */
void test_onnx_add(struct test_message *graph, const char *op_type, const char *inputs,
                   const char *outputs, const char *attributes);
void test_onnx_initializer(struct test_message *graph, const struct test_onnx_tensor *t);
/* Appends a float constant, stored as raw_data. */
void test_onnx_floats(struct test_message *graph, const char *name, int rank, const int64_t *dims,
                      const double *values);
void test_onnx_int64s(struct test_message *graph, const char *name, int n, const int64_t *values);
/* Appends a float input. A negative dimension is written as the name "batch". A negative rank:
 * the shape is not written. */
void test_onnx_input(struct test_message *graph, const char *name, int rank, const int64_t *dims);
/* Like test_onnx_input, for elements of another type, given by its number in onnx.proto. */
void test_onnx_typed_input(struct test_message *graph, const char *name, int type, int rank,
                           const int64_t *dims);
/* Like test_onnx_input, for a list of n int64. */
void test_onnx_int64_input(struct test_message *graph, const char *name, int64_t n);
void test_onnx_output(struct test_message *graph, const char *name, int rank, const int64_t *dims);

/* Makes the bytes of a file that holds the graph, and frees the graph. */
struct test_message test_onnx_model(struct test_message *graph, int opset);

#endif
