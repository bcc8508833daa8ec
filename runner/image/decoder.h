/* Internals of the picture reader: the file's bytes, the decoders that convert them to rows, and
 * Darknet's resizing. Decoders allocate. Included by runner/image. */
#ifndef MAFAT_RUNNER_IMAGE_DECODER_H
#define MAFAT_RUNNER_IMAGE_DECODER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/file_state.h"
#include "runner/kernels/kernels.h"

struct mafat_image; /* image.h */
struct mafat_image_input;
struct mafat_image_pixels;

/* Limits of a picture: OpenCV's, which Darknet uses. (JPEG has its own, 65535 per side.) A
 * few bytes can encode any number of pixels; the limit bounds the time for a malicious file to
 * seconds. */
enum { MAFAT_IMAGE_MAX_SIDE = 1 << 20, MAFAT_IMAGE_MAX_PIXELS = 1 << 30 };

/* ---- file: one small buffer, filled by pread(2) ---- */

struct mafat_image_source {
  const atomic_bool *canceled; /* struct mafat_image_input's */
  const struct mafat_warning_sink *warnings; /* likewise; not for video frames */
  int fd;              /* -1: the file is in memory, which `next` points to */
  off_t position;      /* file offset of the first byte after the buffer */
  struct mafat_file_state opened; /* state of the file when its first bytes were read */
  /* most bytes of a file that stay in the page cache; older pages that we read are dropped */
  off_t window;
  bool missed;         /* some bytes were not in the page cache; only then are these set: */
  off_t ours, dropped; /* start of the pages that we read; end of those that were dropped */
  off_t asked;         /* end of the range that the kernel was asked to read ahead */
  const uint8_t *next; /* the `left` bytes not yet consumed */
  size_t left;
  uint8_t buffer[16384];
};

/* Returns MAFAT_ECANCELED if reading was canceled. Called between rows, and while the first row
 * takes long. */
int mafat_image_source_check(const struct mafat_image_source *source, const char *name,
                             struct mafat_diagnostic *d);

/* Refills the empty buffer. Returns 1; 0 at the end of the file; -1 with errno. */
int mafat_image_source_fill(struct mafat_image_source *source);

/* Drops bytes [from, to) from the page cache if the file is large and they are at least half of the
 * window. Returns the start of the bytes that remain. */
off_t mafat_image_source_drop(const struct mafat_image_source *source, off_t from, off_t to);
void mafat_image_source_close(struct mafat_image_source *source);

/* True if the file was written to since its first bytes were read: the pixels may then mix two
 * pictures. */
bool mafat_image_source_changed(const struct mafat_image_source *source);

/* Reads up to n bytes at `offset`, past the buffer. Returns the count; -1 with errno. */
ssize_t mafat_image_source_peek(int fd, off_t offset, uint8_t *bytes, size_t n);

/* Returns the orientation (1 to 8) from the TIFF structure at `offset` of the file; 1 if it is
 * absent or invalid. */
int mafat_image_exif_orientation(int fd, off_t offset, size_t length);

/* ---- decoders ---- */

struct mafat_image_decoder;

struct mafat_image_decoder_ops {
  /* Reads the next stored row, top down: width * channels bytes, into a buffer of width * 3. */
  int (*read_row)(struct mafat_image_decoder *decoder, uint8_t *row,
                  struct mafat_diagnostic *d);
  /* Checks the rest of the file after the last row. */
  int (*finish)(struct mafat_image_decoder *decoder, struct mafat_diagnostic *d);
  void (*close)(struct mafat_image_decoder *decoder);
  /* Called before the first row. Decodes at a smaller size from then on, at least the given one, if
   * that is less work; updates width, height and bytes. NULL: not supported. */
  void (*shrink)(struct mafat_image_decoder *decoder, int least_width, int least_height);
  /* Skips n rows. NULL: rows must be read. */
  void (*skip)(struct mafat_image_decoder *decoder, int n);
};

struct mafat_image_decoder {
  const struct mafat_image_decoder_ops *ops;
  const char *name;                  /* the file's name, owned by the picture */
  struct mafat_image_source *source; /* owned by the picture */
  int width, height;                 /* as stored, or after shrinking */
  int channels;                      /* of rows that are returned: 1 or 3 */
  int source_channels, orientation;  /* as in struct mafat_image_info */
  bool whole;                        /* the whole picture is decoded before the first row */
  const char *format;
  bool planes;  /* YUV frames: a row has all red values, then all green, then all blue */
  size_t bytes; /* upper bound of the heap that it uses, with the decoder's own struct */
};

/* Open a decoder for a file with the right signature, with the source at byte 0. `channels`: of the
 * rows to be returned, 1 or 3. */
int mafat_image_jpeg_open(struct mafat_image_decoder **out,
                          struct mafat_image_source *source, const char *name,
                          int channels, struct mafat_diagnostic *d);
int mafat_image_png_open(struct mafat_image_decoder **out,
                         struct mafat_image_source *source, const char *name,
                         int channels, struct mafat_diagnostic *d);
int mafat_image_ppm_open(struct mafat_image_decoder **out,
                         struct mafat_image_source *source, const char *name,
                         int channels, struct mafat_diagnostic *d);
int mafat_image_bmp_open(struct mafat_image_decoder **out,
                         struct mafat_image_source *source, const char *name,
                         int channels, struct mafat_diagnostic *d);

/* Decodes pixels in memory; needs no source. */
int mafat_image_pixels_open(struct mafat_image_decoder **out, const struct mafat_image_pixels *from,
                            const char *name, int channels, struct mafat_diagnostic *d);

/* Decodes a video frame. For MJPEG, `source` is set up to read the frame's bytes. */
struct mafat_frame;
struct mafat_frame_format;
int mafat_image_frame_open(struct mafat_image_decoder **out, struct mafat_image_source *source,
                           const struct mafat_frame *from, const char *name, int channels,
                           const struct mafat_kernels *kernels, struct mafat_diagnostic *d);
/* True if this is a frame's decoder and it converts from YUV. */
bool mafat_image_frame_has_colours(const struct mafat_image_decoder *decoder);
/* Returns the heap of the frame's decoder, assuming subsampled chroma for JPEG. */
size_t mafat_image_frame_bytes_assumed(const struct mafat_frame_format *f, int least_width,
                                       int least_height);

/* Returns the heap of a baseline JPEG with chroma subsampled 2x2, decoded no smaller than the least
 * sizes. */
size_t mafat_image_jpeg_bytes_assumed(int width, int height, int least_width, int least_height);

/* Converts n RGB pixels to grey with OpenCV's integer weights. `grey` may equal `rgb`. */
void mafat_image_grey_row(const uint8_t *rgb, uint8_t *grey, int n);

/* ---- resizing, as in Darknet ---- */

/* Resizing of one axis from `from` to `to` pixels. Of the resized pixels, n from `first` on are
 * inside the network's input. */
struct mafat_image_axis {
  int from, to, first, n;
  float scale; /* picture pixels for each resized pixel */
};

/* at: position of the resized axis in an input of `in` pixels; may be negative. */
struct mafat_image_axis mafat_image_axis_make(int from, int to, int at, int in);
/* Return the tap of an output pixel: two neighboring input pixels and their weights. Darknet treats
 * the last row differently from the last column. */
struct mafat_resample_tap mafat_image_column_tap(const struct mafat_image_axis *axis, int i);
struct mafat_resample_tap mafat_image_row_tap(const struct mafat_image_axis *axis, int i);

/* Resizing within a stored row. */
struct mafat_frame_kernels;
struct mafat_plane_taps;
struct mafat_image_across {
  const struct mafat_kernels *kernels;
  /* kernels for frames: each stored row is resized once; NULL: not used */
  const struct mafat_frame_kernels *lines;
  struct mafat_image_axis axis;
  /* taps of eight pixels each, if rows are planes; NULL: not used */
  struct mafat_plane_taps *planes;
  /* (axis.n) positions are byte offsets in a stored row, ascending or descending */
  struct mafat_resample_tap *taps;
  int channels;
  bool straight; /* every tap is one pixel of weight 1, in order */
};

/* Computes one line of the resized picture, axis.n pixels, from two stored rows. The line is a
 * row of the upright picture; for mafat_image_resample_column it is a column, with `stride` floats
 * between pixels. */
void mafat_image_resample_row(const struct mafat_image_across *across,
                              const struct mafat_resample_tap *line, const uint8_t *first,
                              const uint8_t *second, float *out);
/* Compute a row in two steps, with the same bits: resize a stored row, then interpolate between two
 * resized rows. */
void mafat_image_resample_across(const struct mafat_image_across *across, const uint8_t *stored,
                                 float *out);
void mafat_image_resample_between(const struct mafat_image_across *across,
                                  const struct mafat_resample_tap *line, const float *first,
                                  const float *second, float *out);
/* Converts n taps of a stored row to taps for planes, in groups of MAFAT_PLANE_PIXELS. False: the
 * input pixels of a group are too far apart. */
bool mafat_image_plane_taps(struct mafat_plane_taps *planes, const struct mafat_resample_tap *taps,
                            int n, int channels);
void mafat_image_resample_column(const struct mafat_image_across *across,
                                 const struct mafat_resample_tap *line, const uint8_t *first,
                                 const uint8_t *second, float *out, size_t stride);

/* Like mafat_image_open() for an open file. The picture owns fd, and closes it also if opening
 * fails. The file's own position is neither used nor moved. */
int mafat_image_open_fd(struct mafat_image **out, int fd, const char *name,
                        const struct mafat_image_input *input,
                        struct mafat_diagnostic *d);

#endif
