/* Small ONNX models. Included by test_onnx.c and fuzz_onnx.c. Need no test framework. The caller
 * frees a message's data. */
#ifndef MAFAT_TESTS_SUPPORT_ONNX_MODELS_H
#define MAFAT_TESTS_SUPPORT_ONNX_MODELS_H

#include "tests/support/onnx_writer.h"

/* A convolution and some later layers. Together they use every feature of nodes, tensors and
 * values. */
struct test_message test_onnx_whole(void);
/* A model of this initializer, which is named "t", and a node that reads it. */
struct test_message test_onnx_of_tensor(const struct test_onnx_tensor *t);

/* Returns test_onnx_whole() for odd numbers, else a model of one tensor, whose type and storage
 * depend on the number. */
struct test_message test_onnx_sample(unsigned number);

#endif
