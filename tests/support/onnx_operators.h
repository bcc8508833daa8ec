/* A small ONNX model for each imported operator or variant of an operator. Included by suites of
 * ONNX models and by fuzz targets. Needs no test framework. The caller frees a message's data. */
#ifndef MAFAT_TESTS_SUPPORT_ONNX_OPERATORS_H
#define MAFAT_TESTS_SUPPORT_ONNX_OPERATORS_H

#include "tests/support/onnx_writer.h"

/* A model of one node. `inputs` lists names of constants in onnx_operators.c and of the model's
 * inputs. The inputs are "x" [1, 4, 6, 6], "s" [1, 4, 6], "t" [4, 1, 6], "r" [3, 4], and, with the
 * shape of x, "u" (uint8) and "v" (int8). "q:" before a name makes a quantized model: an input goes
 * through a QuantizeLinear and a DequantizeLinear, an integer constant through a DequantizeLinear,
 * and the node's output "f" through a QuantizeLinear to the model's output y. */
struct test_onnx_operator {
  const char *op_type, *inputs, *attributes;
  int opset;           /* version of the operator set; 0: 17 */
  const char *outputs; /* NULL: "y" */
};

struct test_message test_onnx_operator_model(const struct test_onnx_operator *o);
/* Makes the same model, but "f" is an output of the model, too, so it must be computed. */
struct test_message test_onnx_operator_model_of_floats(const struct test_onnx_operator *o);

/* test_onnx_n_operators returns the number of operators, n; test_onnx_operator returns operator i %
 * n. */
const struct test_onnx_operator *test_onnx_operator(unsigned i);
unsigned test_onnx_n_operators(void);

#endif
