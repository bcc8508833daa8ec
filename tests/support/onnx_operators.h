/* A small ONNX model for each imported operator or variant of one. Included by ONNX suites and
 * fuzz targets. Needs no test framework. */
#ifndef MAFAT_TESTS_SUPPORT_ONNX_OPERATORS_H
#define MAFAT_TESTS_SUPPORT_ONNX_OPERATORS_H

#include "tests/support/onnx_writer.h"

/* A model of one node. `inputs` names constants of onnx_operators.c and the model's inputs: "x"
 * [1, 4, 6, 6], "s" [1, 4, 6], "t" [4, 1, 6], "r" [3, 4], and "u" (uint8) and "v" (int8), as
 * large as x. `opset` 0: 17. "q:x" puts a QuantizeLinear and a DequantizeLinear before an input,
 * a DequantizeLinear after an integer constant; then the node's output is "f", and the model's
 * output y a QuantizeLinear of it. */
struct test_onnx_operator {
  const char *op_type, *inputs, *attributes;
  int opset;
  const char *outputs; /* NULL: "y" */
};

struct test_message test_onnx_operator_model(const struct test_onnx_operator *o);
/* The same model with "f" as a further output, so that it has to be computed. */
struct test_message test_onnx_operator_model_of_floats(const struct test_onnx_operator *o);

/* Operator i, and their number. */
const struct test_onnx_operator *test_onnx_operator(unsigned i);
unsigned test_onnx_n_operators(void);

#endif
