/* A small ONNX model for each operator that is imported, or way in which one is. Needs no test
 * framework. */
#ifndef MAFAT_TESTS_SUPPORT_ONNX_OPERATORS_H
#define MAFAT_TESTS_SUPPORT_ONNX_OPERATORS_H

#include "tests/support/onnx_writer.h"

/* One node, of the constants in onnx_operators.c and the inputs "x" [1, 4, 6, 6], "s" [1, 4, 6],
 * "t" [4, 1, 6] and "r" [3, 4], and "u" of uint8 and "v" of int8, as large as x: those that are
 * named. `opset`: 0: 17. An input as "q:x" has a DequantizeLinear before it, of a constant of
 * integers, or behind a QuantizeLinear; then the output y is that of a QuantizeLinear behind the
 * node, which puts out "f". */
struct test_onnx_operator {
  const char *op_type, *inputs, *attributes;
  int opset;
  const char *outputs; /* NULL: "y" */
};

struct test_message test_onnx_operator_model(const struct test_onnx_operator *o);
/* The same; "f" is an output of the model, too, so that it has to be there. */
struct test_message test_onnx_operator_model_of_floats(const struct test_onnx_operator *o);

/* Number i of those that are run, and how many there are. */
const struct test_onnx_operator *test_onnx_operator(unsigned i);
unsigned test_onnx_n_operators(void);

#endif
