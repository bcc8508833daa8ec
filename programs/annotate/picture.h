/* Whole pictures in true colour: JPEG, PNG, PPM and PGM files in, JPEG and PNG
 * files out. The formats are those that run_inference reads, told by the first
 * bytes; gd decodes and encodes, except PPM and PGM, which it does not know.
 * Pictures are turned upright by their EXIF orientation, as run_inference does,
 * and lose transparency, which no detector sees.
 *
 * A picture that was read is the caller's, who frees it with gdImageDestroy().
 * Diagnostics do not name the file: the caller puts that in front. What gd says
 * goes through one static buffer, so this is for one thread. */
#ifndef MAFAT_PROGRAMS_ANNOTATE_PICTURE_H
#define MAFAT_PROGRAMS_ANNOTATE_PICTURE_H

#include <stdbool.h>

#include <gd.h>

#include "include/mafat.h"

/* The suffix with its dot, or "" - ".hidden" has none. Points into the path. */
const char *mafat_annotate_picture_suffix(const char *path);

/* Whether the name ends in .png, .jpg or .jpeg, in any case. */
bool mafat_annotate_picture_can_write(const char *path);

/* MAFAT_EIO; MAFAT_EFORMAT: empty, damaged or not a picture; MAFAT_ELIMIT: 1 GiB
 * or more; MAFAT_ENOMEM. *out is NULL after a failure. A damaged JPEG is decoded
 * as far as it goes: on success d->text is the decoder's warning, or empty. */
int mafat_annotate_picture_read(gdImagePtr *out, const char *path, struct mafat_diagnostic *d);

/* In the format of the path's suffix; one that is not JPEG's is PNG's. Through a
 * temporary file beside the output, so that a failure leaves the old one, or
 * none. MAFAT_EIO; MAFAT_EUNSUPPORTED: gd refuses, as it does a JPEG of more than
 * 65500 pixels to a side; MAFAT_ENOMEM. */
int mafat_annotate_picture_write(gdImagePtr im, const char *path, struct mafat_diagnostic *d);

#endif
