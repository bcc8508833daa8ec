/* A temporary folder for one picture, which the test writes, and functions that read the picture
 * as a network's input. Included by the suites in tests/unit/image. */
#ifndef MAFAT_TESTS_SUPPORT_PICTURE_READER_H
#define MAFAT_TESTS_SUPPORT_PICTURE_READER_H

#include "runner/image/image.h"

#include <check.h>

extern char picture_folder[64], picture_path[128];
extern struct mafat_diagnostic picture_diagnostic; /* diagnostic of the last read */

/* Adds a test case to the suite. The folder is made before each test and removed afterwards.
 * `seconds`: time limit. */
TCase *picture_case(Suite *suite, const char *name, double seconds);

int picture_read(const struct mafat_image_input *input, float *pixels);
/* Returns the pixels, (h, w, c), which the caller frees. An error fails the test. */
float *picture_must_read(int w, int h, int c, enum mafat_fit fit);
/* Reads the picture, which must fail with this code and a message that begins with its path. */
void picture_must_fail(int code);

#endif
