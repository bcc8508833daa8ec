/* Pictures -> the network's input: JPEG, PNG, PPM and PGM files, recognised by
 * their content, decoded row by row into the resized or letterboxed input.
 *
 * The numbers are those of Debian's Darknet (load_image_color(), then
 * letterbox_image() or resize_image()): the picture is turned by its EXIF
 * orientation, alpha is dropped, 16 bits become the upper 8, the range is
 * [0, 1]. What Darknet reads with a warning, a damaged or truncated file, is an
 * error here.
 *
 * An opened picture has read its header and knows what decoding will cost; it
 * belongs to its opener, who closes it. The pixels of a whole picture are never
 * held, except where the file's format leaves no choice: a progressive or
 * multi-scan JPEG (its coefficients) and an interlaced PNG (its pixels).
 * mafat_image_bytes() says so before anything is decoded, and the caller
 * decides whether that fits; nothing here bounds it but the sizes of a file's
 * format. */
#ifndef MAFAT_RUNNER_IMAGE_IMAGE_H
#define MAFAT_RUNNER_IMAGE_IMAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "runner/image/frame.h"
#include "runner/image/pixel_rule.h"
#include "runner/image/placement.h"

/* Page cache that a picture's file takes at most, however long it is: what lies
 * behind the reader is dropped. Pixels as they are come faster than those that
 * have to be decoded: more of them is read ahead. */
enum { MAFAT_IMAGE_FILE_WINDOW = 64 << 10, MAFAT_IMAGE_PIXELS_WINDOW = 256 << 10 };

struct mafat_image;
struct mafat_kernels;

/* What the network wants. */
struct mafat_image_input {
  int w, h, c; /* c is 1 (grey) or 3 (red, green, blue) */
  enum mafat_fit fit;
  bool shrinks; /* a JPEG may be decoded to fewer pixels by its DCT, no fewer than those that become of it: other
                   numbers than Darknet's */
  const struct mafat_pixel_rule *rule; /* the caller's; NULL: Darknet's, bytes / 255 and 0.5 around */
  const struct mafat_kernels *kernels; /* NULL: the best this CPU has */
  const atomic_bool *canceled; /* set by another thread: reading fails with MAFAT_ECANCELED; NULL: never */
};

struct mafat_image_info {
  int width, height;    /* as seen, after EXIF turning */
  int source_channels;  /* as stored, alpha included; a palette counts as 3 */
  int orientation;      /* EXIF, 1 to 8; 1 is as stored */
  bool turned;          /* upside down or sideways: rows cannot be pulled */
  bool frame;           /* of video, no JPEG: its code is apart (surroundings.c) */
  bool whole;           /* progressive or interlaced: decoded before row 0 */
  const char *format;   /* "JPEG", "PNG", "PPM", "PGM", "pixels"; a frame's name */
  size_t decoder_bytes; /* the decoder's share of mafat_image_bytes() */
};

struct mafat_image_target {
  float *pixels;     /* (h, w, c) of the input, channels interleaved */
  size_t row_stride; /* floats from one row to the next, >= w * c */
};

/* "exact" (NULL): as Darknet does; "fast": where a decoder can, it shrinks. False for any other. */
bool mafat_image_find_scaling(bool *shrinks, const char *name);

/* Opens the regular file `path` and reads its header.
 * MAFAT_EIO: missing, unreadable, a directory, a pipe or a device.
 * MAFAT_EFORMAT: empty, damaged, not a picture of a known format.
 * MAFAT_EUNSUPPORTED: a format or a coding that this build cannot read; more
 * than 2^20 pixels to a side or 2^30 in all.
 * MAFAT_ENOMEM, MAFAT_EINVAL (the input). *out is NULL after a failure. */
int mafat_image_open(struct mafat_image **out, const char *path,
                     const struct mafat_image_input *input,
                     struct mafat_diagnostic *d);

/* A picture that is in memory: rows from the top down, of width * channels interleaved bytes, as
 * in a PPM or PGM, or with a fourth channel that is dropped. They stay the caller's, and where
 * they are. */
struct mafat_image_pixels {
  const unsigned char *bytes;
  int width, height, channels; /* 1 (grey), 3 (red, green, blue) or 4 (and alpha) */
  size_t stride;               /* bytes from one row to the next, >= width * channels */
};

/* MAFAT_EINVAL: no such picture. MAFAT_EUNSUPPORTED, MAFAT_ENOMEM. */
int mafat_image_open_pixels(struct mafat_image **out, const struct mafat_image_pixels *pixels,
                            const struct mafat_image_input *input, struct mafat_diagnostic *d);

/* A frame of video, of as many bytes as its format has; of a JPEG no more. MAFAT_EINVAL: it has others. MAFAT_EFORMAT,
 * MAFAT_EUNSUPPORTED: a JPEG, as of a file, also one of another size. MAFAT_ENOMEM. */
int mafat_image_open_frame(struct mafat_image **out, const struct mafat_frame *frame,
                           const struct mafat_image_input *input, struct mafat_diagnostic *d);
/* mafat_image_bytes() of such frames, JPEGs' chroma being halved; `rows`: also where all its rows are asked for, which never shrinks. */
size_t mafat_image_frame_bytes(const struct mafat_frame_format *format, const struct mafat_image_input *input, bool rows);

/* Valid until the picture is closed. */
const struct mafat_image_info *mafat_image_describe(const struct mafat_image *im);
/* Where it comes to lie in the input. */
const struct mafat_placement *mafat_image_placement(const struct mafat_image *im);

/* The most heap this picture holds at any time beside the network's input:
 * decoder, row buffers, and coefficients or pixels where info.whole. Known from
 * the header, never less than what is used, at most about 110 kB more. */
size_t mafat_image_bytes(const struct mafat_image *im);
/* Page cache that reading its file takes. */
size_t mafat_image_file_bytes(const struct mafat_image *im);

/* The same for a picture not yet known: an upright baseline JPEG of
 * 12 megapixels (4000x3000, chroma halved both ways). */
size_t mafat_image_bytes_assumed(const struct mafat_image_input *input);

/* In place of reading it: its rows as they are stored, from the top down, each to the callee, who may change it: pixels of input.c bytes. What is
 * not MAFAT_OK ends this, and is returned. */
typedef int mafat_image_row(void *context, unsigned char *row, int y, struct mafat_diagnostic *d);
int mafat_image_each_row(struct mafat_image *im, mafat_image_row *row, void *context, struct mafat_diagnostic *d);

/* Decodes the whole picture into the target, whatever its orientation, without
 * a buffer for turning it. Once per picture, and not after
 * mafat_image_read_row(): MAFAT_EINVAL. The target's content after a failure is
 * undefined. Errors as for mafat_image_open(). */
int mafat_image_read(struct mafat_image *im,
                     const struct mafat_image_target *target,
                     struct mafat_diagnostic *d);

/* The next row of the input, w * c floats: row 0 first, h rows in all. The last
 * one reads the file to its end, and fails if the end is missing or damaged.
 * MAFAT_EINVAL when info.turned, after the last row and after a failure. */
int mafat_image_read_row(struct mafat_image *im, float *row,
                         struct mafat_diagnostic *d);

/* Accepts NULL and a picture at any stage. */
void mafat_image_close(struct mafat_image **im);

#endif
