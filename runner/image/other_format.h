/* Error messages for pictures in formats that no decoder here reads. Touches only its arguments.
 * Included by image.c. */
#ifndef MAFAT_IMAGE_OTHER_FORMAT_H
#define MAFAT_IMAGE_OTHER_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "include/mafat.h"

/* Sets the diagnostic to a message that names the format, which it detects from `bytes`, the file's
 * first n bytes, and a program that converts it. Returns MAFAT_EUNSUPPORTED for formats of netpbm,
 * else MAFAT_EFORMAT. */
int mafat_image_refuse_format(const char *name, const uint8_t *bytes, size_t n,
                              struct mafat_diagnostic *d);

#endif
