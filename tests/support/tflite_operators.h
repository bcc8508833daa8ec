/* Small .tflite models, one for each variant of an operator, the same on every machine, in static
 * memory. Included by suites of TFLite models, packed_models.c and fuzz targets. The models need no
 * test framework. */
#ifndef MAFAT_TESTS_SUPPORT_TFLITE_OPERATORS_H
#define MAFAT_TESTS_SUPPORT_TFLITE_OPERATORS_H

#include "tests/support/tflite_writer.h"

int test_tflite_n_operators(void);
/* `number`: 0 to test_tflite_n_operators() - 1. Model and name are valid until the next call. */
const struct test_tflite_model *test_tflite_operator_model(int number);
const char *test_tflite_operator_name(int number);

/* Returns the next random number in -1..1, for constants and inputs, and changes *state. */
float test_tflite_number(uint32_t *state);

#endif
