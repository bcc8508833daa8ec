/* Whole pictures in true colour: reads JPEG, PNG, BMP, PPM and PGM files, writes JPEG and PNG. The
 * formats are those of run_inference, detected by the first bytes. gd decodes and encodes all but
 * PPM and PGM. EXIF orientation is applied, as in run_inference; transparency is dropped, because
 * no detector sees it.
 *
 * The caller frees a picture with gdImageDestroy(). Diagnostics do not contain the file's name.
 * gd's messages go through one static buffer, so only one thread may call this. Opens files and
 * allocates. Included by annotate.c. */
#ifndef MAFAT_PROGRAMS_ANNOTATE_PICTURE_H
#define MAFAT_PROGRAMS_ANNOTATE_PICTURE_H

#include <stdbool.h>

#include <gd.h>

#include "include/mafat.h"

/* The suffix of the path with its dot; "" if it has none, as ".hidden". Points into the path. */
const char *mafat_annotate_picture_suffix(const char *path);

/* True if the name ends in .png, .jpg or .jpeg, in upper or lower case. */
bool mafat_annotate_picture_can_write(const char *path);

/* Reads a picture. A damaged JPEG is decoded as far as possible; d->text is then the decoder's
 * warning, and empty after any other success. *out is NULL after a failure. Returns MAFAT_OK,
 * MAFAT_EIO, MAFAT_ENOMEM, MAFAT_EFORMAT (empty, damaged or no picture) or MAFAT_ELIMIT (1 GiB or
 * more). */
int mafat_annotate_picture_read(gdImagePtr *out, const char *path, struct mafat_diagnostic *d);

/* Writes a JPEG if the path has such a suffix, else a PNG. Writes to a temporary file and renames
 * it, so that a failure leaves the old file or none. Returns MAFAT_OK, MAFAT_EIO, MAFAT_ENOMEM or
 * MAFAT_EUNSUPPORTED (gd refuses, for example a JPEG with a side of more than 65500 pixels). */
int mafat_annotate_picture_write(gdImagePtr im, const char *path, struct mafat_diagnostic *d);

#endif
