/* Reads pictures (JPEG, PNG, BMP, PPM, PGM; detected by content) into a network's input. They are
 * decoded, and resized or letterboxed, row by row.
 *
 * The values equal those of Debian's Darknet (load_image_color(), then letterbox_image() or
 * resize_image()): EXIF orientation is applied, alpha is dropped, 16 bits are cut to the upper 8,
 * and the range is [0, 1]. A damaged or truncated file is an error; Darknet only warns. A JPEG that
 * lacks only its end marker gets a warning.
 *
 * Opening reads the header, or the whole file if a JPEG has several scans, and determines the
 * memory for decoding. The whole picture is in memory only if decoding requires it: an interlaced
 * PNG (as pixels), and the JPEGs that jpeg_scans.h names (as coefficients). mafat_image_bytes()
 * returns the memory before decoding, and the caller decides whether it fits. Allocates; reads the
 * file. Included by api, runner/detect and runner/image. */
#ifndef MAFAT_RUNNER_IMAGE_IMAGE_H
#define MAFAT_RUNNER_IMAGE_IMAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "runner/image/frame.h"
#include "runner/image/pixel_rule.h"
#include "runner/image/placement.h"

/* Most bytes of a picture's file that stay in the page cache while it is read; older pages are
 * dropped. The second is for uncompressed files, which are read faster, so that more is read
 * ahead. */
enum { MAFAT_IMAGE_FILE_WINDOW = 64 << 10, MAFAT_IMAGE_PIXELS_WINDOW = 256 << 10 };

struct mafat_image;
struct mafat_kernels;

/* Input that the network expects. */
struct mafat_image_input {
  int w, h, c; /* width and height in pixels; channels: 1 (grey) or 3 (red, green, blue) */
  enum mafat_fit fit;
  /* a JPEG may be decoded at 1/2, 1/4 or 1/8 size, but no smaller than its rectangle in the input;
   * values then differ from Darknet's */
  bool shrinks;
  /* owned by the caller; NULL: Darknet's rule, bytes / 255 with padding 0.5 */
  const struct mafat_pixel_rule *rule;
  const struct mafat_kernels *kernels; /* NULL: the best for this processor */
  /* another thread sets it to cancel reading, which then fails with MAFAT_ECANCELED. NULL: reading
   * cannot be canceled */
  const atomic_bool *canceled;
  /* a JPEG file without end marker gets a warning when its last row is read; NULL: none */
  const struct mafat_warning_sink *warnings;
};

struct mafat_image_info {
  int width, height;    /* of the upright picture (after EXIF orientation) */
  int source_channels;  /* channels in the file, including alpha; 3 if it has a palette */
  int orientation;      /* of EXIF, 1 to 8; 1 is upright */
  bool turned;          /* upside down or sideways: cannot be read row by row */
  bool frame;           /* a video frame other than MJPEG */
  bool whole;           /* interlaced, or some JPEGs of several scans: decoded before row 0 */
  int n_scans;          /* passes over the picture: work is in proportion to them and the pixels */
  const char *format;   /* "JPEG", "PNG", "PPM", "PGM", "BMP", "pixels", or a frame format */
  size_t decoder_bytes; /* how much of mafat_image_bytes() the decoder uses */
};

/* Memory of the network's input. */
struct mafat_image_target {
  float *pixels;     /* (h, w, c) */
  size_t row_stride; /* floats from a row to the next, at least w * c */
};

/* Sets *shrinks (struct mafat_image_input) from a name: false for "exact" or NULL, true for "fast".
 * Returns false if `name` is another word. */
bool mafat_image_find_scaling(bool *shrinks, const char *name);

/* Opens the regular file `path` and reads its header. *out is NULL after a failure:
 *   MAFAT_EIO           the file is missing, unreadable, a directory, a pipe or a device
 *   MAFAT_EFORMAT       it is empty, damaged, or not of a known format
 *   MAFAT_EUNSUPPORTED  it has a coding that this build cannot read, more than 2^20 pixels on a
 *                       side, or more than 2^30 in total
 *   MAFAT_EINVAL        *input is not valid
 *   MAFAT_ENOMEM */
int mafat_image_open(struct mafat_image **out, const char *path,
                     const struct mafat_image_input *input,
                     struct mafat_diagnostic *d);

/* A picture in memory: rows from top to bottom, each with width * channels bytes, channels
 * interleaved. The caller owns the bytes, and must not change them while the picture is open. */
struct mafat_image_pixels {
  const unsigned char *bytes;
  int width, height, channels; /* channels: 1 (grey), 3 (red, green, blue) or 4 (and alpha, which
                                  is ignored) */
  size_t stride;               /* bytes from a row to the next, at least width * channels */
};

/* Opens a picture in memory. MAFAT_EINVAL: invalid sizes. MAFAT_EUNSUPPORTED, MAFAT_ENOMEM. */
int mafat_image_open_pixels(struct mafat_image **out, const struct mafat_image_pixels *pixels,
                            const struct mafat_image_input *input, struct mafat_diagnostic *d);

/* Opens a video frame. It must have mafat_frame_format_bytes bytes, or at most as many if it is
 * MJPEG. MAFAT_EINVAL: wrong number of bytes. MAFAT_EFORMAT, MAFAT_EUNSUPPORTED: a JPEG that is not
 * valid, or whose width and height are not the format's. MAFAT_ENOMEM. */
int mafat_image_open_frame(struct mafat_image **out, const struct mafat_frame *frame,
                           const struct mafat_image_input *input, struct mafat_diagnostic *d);
/* Returns what mafat_image_bytes() returns for frames of a format, assuming that a JPEG has
 * subsampled chroma. rows: stored rows may be read too (mafat_image_each_row), so frames are not
 * decoded at a smaller size. */
size_t mafat_image_frame_bytes(const struct mafat_frame_format *format,
                               const struct mafat_image_input *input, bool rows);

/* Returns facts about the picture, which are valid until it is closed. */
const struct mafat_image_info *mafat_image_describe(const struct mafat_image *im);
/* Returns the picture's placement in the input. */
const struct mafat_placement *mafat_image_placement(const struct mafat_image *im);

/* Returns an upper bound of the bytes of heap that this picture uses: decoder, row buffers, and
 * coefficients or pixels if info.whole; but not the network's input. It is too high by at most
 * about 110 kB. */
size_t mafat_image_bytes(const struct mafat_image *im);
/* Returns the greatest number of bytes of the file that are in the page cache at a time. */
size_t mafat_image_file_bytes(const struct mafat_image *im);

/* Returns what mafat_image_bytes() would return for an upright baseline JPEG of 12 megapixels
 * (4000x3000, chroma subsampled 2x2). Used as long as the picture is not known. */
size_t mafat_image_bytes_assumed(const struct mafat_image_input *input);

/* Calls `row` for each stored row y, from top to bottom, with input.c bytes for each pixel, which
 * `row` may change. Used instead of mafat_image_read. Ends at the first result other than MAFAT_OK,
 * and returns it. */
typedef int mafat_image_row(void *context, unsigned char *row, int y, struct mafat_diagnostic *d);
int mafat_image_each_row(struct mafat_image *im, mafat_image_row *row, void *context,
                         struct mafat_diagnostic *d);

/* Decodes the whole picture, of any orientation, into the target. May be called only once for each
 * picture, and not after mafat_image_read_row (else MAFAT_EINVAL). After a failure, the target's
 * contents are undefined. Other errors are those of mafat_image_open(), and MAFAT_ECANCELED. */
int mafat_image_read(struct mafat_image *im,
                     const struct mafat_image_target *target,
                     struct mafat_diagnostic *d);

/* Decodes the next row of the input, w * c floats; the first call decodes row 0. For the last row
 * it also reads the file to its end, and fails if the rest is missing or damaged. MAFAT_EINVAL:
 * info.turned is true, or it was called after the last row or a failure. */
int mafat_image_read_row(struct mafat_image *im, float *row,
                         struct mafat_diagnostic *d);

/* Closes the file and frees the picture, in any state; *im may be NULL. */
void mafat_image_close(struct mafat_image **im);

#endif
