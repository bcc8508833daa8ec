/* Small .tflite models, one for each way of an operator, with numbers that are the same on every
 * machine. Need no test framework. */
#ifndef MAFAT_TESTS_SUPPORT_TFLITE_OPERATORS_H
#define MAFAT_TESTS_SUPPORT_TFLITE_OPERATORS_H

#include "tests/support/tflite_writer.h"

int test_tflite_n_operators(void);
/* Number 0 to n - 1; valid until the next one is asked for. */
const struct test_tflite_model *test_tflite_operator_model(int number);
const char *test_tflite_operator_name(int number);

/* The next of a sequence of numbers from -1 to 1: of constants, and of inputs. */
float test_tflite_number(uint32_t *state);

#endif
