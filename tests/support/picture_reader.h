/* A temporary folder with one picture, and reading that picture as a network's input. Included
 * by the suites in tests/unit/image. */
#ifndef MAFAT_TESTS_SUPPORT_PICTURE_READER_H
#define MAFAT_TESTS_SUPPORT_PICTURE_READER_H

#include "runner/image/image.h"

#include <check.h>

extern char picture_folder[64], picture_path[128];
extern struct mafat_diagnostic picture_diagnostic; /* diagnostic of the last read */

/* A case whose tests find the folder; it is removed afterwards. */
TCase *picture_case(Suite *suite, const char *name, double seconds);

int picture_read(const struct mafat_image_input *input, float *pixels);
/* The pixels, (h, w, c); the caller frees them. Failures fail the test. */
float *picture_must_read(int w, int h, int c, enum mafat_fit fit);
/* Reading must fail with this code and name the file. */
void picture_must_fail(int code);

#endif
