/* Small ONNX models. Included by test_onnx.c and fuzz_onnx.c. Need no test framework. */
#ifndef MAFAT_TESTS_SUPPORT_ONNX_MODELS_H
#define MAFAT_TESTS_SUPPORT_ONNX_MODELS_H

#include "tests/support/onnx_writer.h"

/* A convolution and later layers, with every feature that nodes, tensors and values can have. */
struct test_message test_onnx_whole(void);
/* An initializer "t" of one type and style, and a node that reads it. */
struct test_message test_onnx_of_tensor(const struct test_onnx_tensor *t);

/* Any of the models; every number is valid. */
struct test_message test_onnx_sample(unsigned number);

#endif
