/* Error messages for pictures in formats that no decoder here reads. Touches nothing but its
 * arguments. Included by image.c. */
#ifndef MAFAT_IMAGE_OTHER_FORMAT_H
#define MAFAT_IMAGE_OTHER_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "include/mafat.h"

/* Fails with a message that names the format, detected from the file's first n bytes, and a program
 * that converts it. MAFAT_EUNSUPPORTED for netpbm's formats, else MAFAT_EFORMAT. */
int mafat_image_refuse_format(const char *name, const uint8_t *bytes, size_t n,
                              struct mafat_diagnostic *d);

#endif
