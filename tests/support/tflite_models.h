/* Small .tflite models. Included by TFLite suites and fuzz_tflite.c. Need no test framework. */
#ifndef MAFAT_TESTS_SUPPORT_TFLITE_MODELS_H
#define MAFAT_TESTS_SUPPORT_TFLITE_MODELS_H

#include "tests/support/tflite_writer.h"

/* Tensors and operators of test_tflite_whole, which has every part that a file can have. */
enum {
  WHOLE_INPUT, WHOLE_WEIGHTS, WHOLE_BIASES, WHOLE_MAP, WHOLE_SHAPE, WHOLE_FLAT, WHOLE_BOXES,
  WHOLE_WIDE, WHOLE_BYTES, WHOLE_UNSIGNED, WHOLE_FLAGS, WHOLE_EMPTY, WHOLE_STATE,
  WHOLE_TENSORS
};
enum { WHOLE_CONVOLUTION, WHOLE_RESHAPE, WHOLE_DETECTION, WHOLE_OPERATORS };

struct test_tflite_model test_tflite_whole(void);

/* Any of the models; every number is valid. */
const struct test_tflite_model *test_tflite_model(unsigned number);

#endif
