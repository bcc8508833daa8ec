/* Small .tflite models, one for each variant of an operator, the same on every machine. Included
 * by TFLite suites, packed_models.c and fuzz targets. Need no test framework. */
#ifndef MAFAT_TESTS_SUPPORT_TFLITE_OPERATORS_H
#define MAFAT_TESTS_SUPPORT_TFLITE_OPERATORS_H

#include "tests/support/tflite_writer.h"

int test_tflite_n_operators(void);
/* Model 0 to n - 1; valid until the next call. */
const struct test_tflite_model *test_tflite_operator_model(int number);
const char *test_tflite_operator_name(int number);

/* The next value in -1..1, for constants and inputs. */
float test_tflite_number(uint32_t *state);

#endif
