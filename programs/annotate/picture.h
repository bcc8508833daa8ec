/* Whole pictures in true colour: reads JPEG, PNG, BMP, PPM and PGM files, writes JPEG and PNG. The
 * formats are those of run_inference, detected by the first bytes. gd decodes and encodes all but
 * PPM and PGM. EXIF orientation is applied, as in run_inference; transparency is dropped, because
 * no detector sees it.
 *
 * The caller frees a picture with gdImageDestroy(), and puts the file's name in front of
 * diagnostics. gd's messages go through one static buffer, so only one thread may call this. Opens
 * files and allocates. Included by annotate.c. */
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
