/* Small ONNX models for tests. Need no test framework. */
#ifndef MAFAT_TESTS_SUPPORT_ONNX_MODELS_H
#define MAFAT_TESTS_SUPPORT_ONNX_MODELS_H

#include "tests/support/onnx_writer.h"

/* A convolution and what is behind it, with all that nodes, tensors and values can have. */
struct test_message test_onnx_whole(void);
/* A tensor of one type and style, as an initializer "t" that a node reads. */
struct test_message test_onnx_of_tensor(const struct test_onnx_tensor *t);

/* One of them all, whatever the number. */
struct test_message test_onnx_sample(unsigned number);

#endif
