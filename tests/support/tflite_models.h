/* Small .tflite models in static memory. Included by suites of TFLite models and by fuzz_tflite.c.
 * The models need no test framework. */
#ifndef MAFAT_TESTS_SUPPORT_TFLITE_MODELS_H
#define MAFAT_TESTS_SUPPORT_TFLITE_MODELS_H

#include "tests/support/tflite_writer.h"

/* Tensors and operators of the model that test_tflite_whole returns. It has every part that a
 * file can have. */
enum {
  WHOLE_INPUT, WHOLE_WEIGHTS, WHOLE_BIASES, WHOLE_MAP, WHOLE_SHAPE, WHOLE_FLAT, WHOLE_BOXES,
  WHOLE_WIDE, WHOLE_BYTES, WHOLE_UNSIGNED, WHOLE_FLAGS, WHOLE_EMPTY, WHOLE_STATE,
  WHOLE_TENSORS
};
enum { WHOLE_CONVOLUTION, WHOLE_RESHAPE, WHOLE_DETECTION, WHOLE_OPERATORS };

struct test_tflite_model test_tflite_whole(void);

/* Returns the whole model or one of tflite_operators.h; every number is valid. The model is valid
 * until the next call. */
const struct test_tflite_model *test_tflite_model(unsigned number);

#endif
