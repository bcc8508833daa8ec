/* Reads pictures (JPEG, PNG, BMP, PPM, PGM; detected by content) into a network's input. They are
 * decoded row by row, and resized or letterboxed on the way.
 *
 * The values equal those of Debian's Darknet (load_image_color(), then letterbox_image() or
 * resize_image()): EXIF orientation is applied, alpha is dropped, 16 bits are cut to the upper 8,
 * and the range is [0, 1]. A damaged or truncated file is an error; Darknet only warns. A JPEG that
 * lacks only its end marker gets a warning.
 *
 * Opening reads the header and determines the memory for decoding. The whole picture is in memory
 * only if the file format requires it: a progressive or multi-scan JPEG (as coefficients) and an
 * interlaced PNG (as pixels). mafat_image_bytes() returns the memory before decoding, and the
 * caller decides whether it fits. Allocates; reads the file. Included by api,
 * runner/detect and runner/image. */
#ifndef MAFAT_RUNNER_IMAGE_IMAGE_H
#define MAFAT_RUNNER_IMAGE_IMAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "runner/image/frame.h"
#include "runner/image/pixel_rule.h"
#include "runner/image/placement.h"

/* Most bytes of a picture's file in the page cache: pages that were read are dropped. Uncompressed
 * files are read faster, so more is read ahead. */
enum { MAFAT_IMAGE_FILE_WINDOW = 64 << 10, MAFAT_IMAGE_PIXELS_WINDOW = 256 << 10 };

struct mafat_image;
struct mafat_kernels;

/* Input that the network expects. */
struct mafat_image_input {
  int w, h, c; /* c: 1 (grey) or 3 (red, green, blue) */
  enum mafat_fit fit;
  /* JPEG may be decoded at 1/2, 1/4 or 1/8 size, but no smaller than its rectangle in the input;
   * values then differ from Darknet's */
  bool shrinks;
  /* the caller's; NULL: Darknet's rule, bytes / 255 with padding 0.5 */
  const struct mafat_pixel_rule *rule;
  const struct mafat_kernels *kernels; /* NULL: the best for this processor */
  /* set by another thread: reading fails with MAFAT_ECANCELED; NULL: never */
  const atomic_bool *canceled;
  /* a JPEG file without end marker gets a warning when its last row is read; NULL: none */
  const struct mafat_warning_sink *warnings;
};

struct mafat_image_info {
  int width, height;    /* after EXIF orientation */
  int source_channels;  /* as stored, with alpha; a palette counts as 3 */
  int orientation;      /* EXIF, 1 to 8; 1 is upright */
  bool turned;          /* upside down or sideways: cannot be read by rows */
  bool frame;           /* a video frame other than MJPEG; its code is in another program part */
  bool whole;           /* progressive or interlaced: decoded completely before row 0 */
  const char *format;   /* "JPEG", "PNG", "PPM", "PGM", "BMP", "pixels", or a frame format */
  size_t decoder_bytes; /* the decoder's share of mafat_image_bytes() */
};

struct mafat_image_target {
  float *pixels;     /* (h, w, c) of the input, channels interleaved */
  size_t row_stride; /* floats between rows, >= w * c */
};

/* Parses "exact" (or NULL), for Darknet's values, or "fast", with which a JPEG may shrink. False:
 * `name` is neither. */
bool mafat_image_find_scaling(bool *shrinks, const char *name);

/* Opens the regular file `path` and reads its header.
 *   MAFAT_EIO           missing, unreadable, a directory, a pipe or a device
 *   MAFAT_EFORMAT       empty, damaged, or not a known format
 *   MAFAT_EUNSUPPORTED  a coding that this build cannot read; more than 2^20 pixels per side or
 *                       2^30 in total
 *   MAFAT_ENOMEM, MAFAT_EINVAL (the input)
 * *out is NULL after a failure. */
int mafat_image_open(struct mafat_image **out, const char *path,
                     const struct mafat_image_input *input,
                     struct mafat_diagnostic *d);

/* A picture in memory: rows top down, with width * channels interleaved bytes, as in PPM or PGM; a
 * fourth channel is ignored. The caller keeps the bytes unchanged while the picture is open. */
struct mafat_image_pixels {
  const unsigned char *bytes;
  int width, height, channels; /* 1 (grey), 3 (red, green, blue) or 4 (with alpha) */
  size_t stride;               /* bytes between rows, >= width * channels */
};

/* Opens a picture in memory. MAFAT_EINVAL: invalid sizes. MAFAT_EUNSUPPORTED, MAFAT_ENOMEM. */
int mafat_image_open_pixels(struct mafat_image **out, const struct mafat_image_pixels *pixels,
                            const struct mafat_image_input *input, struct mafat_diagnostic *d);

/* Opens a video frame. It must have as many bytes as its format says, a JPEG at most as many.
 * MAFAT_EINVAL: wrong size. MAFAT_EFORMAT, MAFAT_EUNSUPPORTED: a bad JPEG, or one of other
 * dimensions. MAFAT_ENOMEM. */
int mafat_image_open_frame(struct mafat_image **out, const struct mafat_frame *frame,
                           const struct mafat_image_input *input, struct mafat_diagnostic *d);
/* Returns mafat_image_bytes() of frames of a format, assuming subsampled chroma for JPEG. `rows`:
 * stored rows may be read (mafat_image_each_row), so frames do not shrink. */
size_t mafat_image_frame_bytes(const struct mafat_frame_format *format,
                               const struct mafat_image_input *input, bool rows);

/* Valid until the picture is closed. */
const struct mafat_image_info *mafat_image_describe(const struct mafat_image *im);
/* Returns the picture's placement in the input. */
const struct mafat_placement *mafat_image_placement(const struct mafat_image *im);

/* Returns an upper bound of the heap that this picture uses besides the network's input: decoder,
 * row buffers, and coefficients or pixels if info.whole. At most about 110 kB too high. */
size_t mafat_image_bytes(const struct mafat_image *im);
/* Returns the most bytes of the file that are in the page cache at once. */
size_t mafat_image_file_bytes(const struct mafat_image *im);

/* Returns mafat_image_bytes() to be assumed for an unknown picture: an upright baseline JPEG of 12
 * megapixels (4000x3000, chroma subsampled 2x2). */
size_t mafat_image_bytes_assumed(const struct mafat_image_input *input);

/* Passes each stored row, top down, to `row`, which may change its bytes: input.c for each pixel.
 * Called instead of mafat_image_read. Stops at the first result other than MAFAT_OK and returns
 * it. */
typedef int mafat_image_row(void *context, unsigned char *row, int y, struct mafat_diagnostic *d);
int mafat_image_each_row(struct mafat_image *im, mafat_image_row *row, void *context,
                         struct mafat_diagnostic *d);

/* Decodes the whole picture, of any orientation, into the target. Allowed once for each picture,
 * and not after mafat_image_read_row (else MAFAT_EINVAL). The target is undefined after a failure.
 * Errors as for mafat_image_open(). */
int mafat_image_read(struct mafat_image *im,
                     const struct mafat_image_target *target,
                     struct mafat_diagnostic *d);

/* Decodes the next row of the input, w * c floats, beginning with row 0. For the last row, reads
 * the file to its end, and fails if the end is missing or damaged. MAFAT_EINVAL: info.turned, or
 * called after the last row or a failure. */
int mafat_image_read_row(struct mafat_image *im, float *row,
                         struct mafat_diagnostic *d);

/* Closes the file and frees the picture, in any state; *im may be NULL. */
void mafat_image_close(struct mafat_image **im);

#endif
