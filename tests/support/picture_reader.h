/* A folder with one picture, for a test; and that picture, read as a network's input. */
#ifndef MAFAT_TESTS_SUPPORT_PICTURE_READER_H
#define MAFAT_TESTS_SUPPORT_PICTURE_READER_H

#include "runner/image/image.h"

#include <check.h>

extern char picture_folder[64], picture_path[128];
extern struct mafat_diagnostic picture_diagnostic; /* of the last reading */

/* A case of the suite in which the folder is there. */
TCase *picture_case(Suite *suite, const char *name, double seconds);

int picture_read(const struct mafat_image_input *input, float *pixels);
/* (h, w, c), to be freed. */
float *picture_must_read(int w, int h, int c, enum mafat_fit fit);
/* The error, told of this file. */
void picture_must_fail(int code);

#endif
