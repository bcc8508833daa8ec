/* Inside the picture reader: the file's bytes, the decoders that make rows of
 * them, and Darknet's resizing. Included by image*.c and their tests only. */
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

/* Of a picture; OpenCV's limits, so Darknet's. JPEG has its own, 65535 to a
 * side. A few bytes can stand for any number of pixels: the second one bounds
 * the time that a malicious file costs, to seconds. */
enum { MAFAT_IMAGE_MAX_SIDE = 1 << 20, MAFAT_IMAGE_MAX_PIXELS = 1 << 30 };

/* ---- The file: one small buffer, filled by pread(2). ---- */

struct mafat_image_source {
  const atomic_bool *canceled; /* as of the input */
  int fd;              /* -1: a picture in memory, all of which is in the buffer's place */
  off_t position;      /* in the file, of the first byte behind the buffer */
  struct mafat_file_state opened; /* the file, when its first bytes were read */
  off_t window;        /* of a larger file the page cache is given back behind the reader, where it is ours */
  bool missed;         /* the page cache did not have it all: */
  off_t ours, dropped; /* what it has from here on we have brought there, and up to here given back */
  off_t asked;         /* up to here the kernel was asked to bring it there */
  const uint8_t *next; /* `left` bytes not yet taken */
  size_t left;
  uint8_t buffer[16384];
};

/* Between rows, and while the first one is long in coming. MAFAT_ECANCELED: it was. */
int mafat_image_source_check(const struct mafat_image_source *source, const char *name, struct mafat_diagnostic *d);

/* Refills an emptied buffer: 1, 0 at the end of the file, -1 with errno. */
int mafat_image_source_fill(struct mafat_image_source *source);

/* Of a large file that was looked at from `from` up to `to`: gives the page cache back once
 * that is much. From where it was not. */
off_t mafat_image_source_drop(const struct mafat_image_source *source, off_t from, off_t to);
void mafat_image_source_close(struct mafat_image_source *source);

/* Has somebody written to the file since its first bytes were read? What was read is of no one picture then. */
bool mafat_image_source_changed(const struct mafat_image_source *source);

/* Up to n bytes at `offset`, past the buffer: the count read, -1 with errno. */
ssize_t mafat_image_source_peek(int fd, off_t offset, uint8_t *bytes, size_t n);

/* The orientation (1 to 8) in the TIFF structure at `offset` of the file; 1
 * when there is none or it makes no sense. */
int mafat_image_exif_orientation(int fd, off_t offset, size_t length);

/* ---- Decoders. ---- */

struct mafat_image_decoder;

struct mafat_image_decoder_ops {
  /* The next stored row, top down: width * channels bytes, in a buffer of
   * width * 3. */
  int (*read_row)(struct mafat_image_decoder *decoder, uint8_t *row,
                  struct mafat_diagnostic *d);
  /* After the last row: is the rest of the file as it should be? */
  int (*finish)(struct mafat_image_decoder *decoder, struct mafat_diagnostic *d);
  void (*close)(struct mafat_image_decoder *decoder);
  /* Before the first row: it decodes to fewer rows and columns, no fewer than that, if that is less work, and says
   * so in width, height and bytes. NULL: it cannot. */
  void (*shrink)(struct mafat_image_decoder *decoder, int least_width, int least_height);
  /* So many rows that nobody needs. NULL: they have to be read. */
  void (*skip)(struct mafat_image_decoder *decoder, int n);
};

struct mafat_image_decoder {
  const struct mafat_image_decoder_ops *ops;
  const char *name;                  /* of the file; the picture's */
  struct mafat_image_source *source; /* the picture's */
  int width, height;                 /* as stored, or shrunk */
  int channels;                      /* delivered, 1 or 3 */
  int source_channels, orientation;
  bool whole;
  const char *format;
  bool planes;  /* of frames of YUV: rows are delivered as planes of red, green and blue */
  size_t bytes; /* heap at most, the decoder's own struct included */
};

/* Each is called once the signature matched, with the source at byte 0. */
int mafat_image_jpeg_open(struct mafat_image_decoder **out,
                          struct mafat_image_source *source, const char *name,
                          int channels, struct mafat_diagnostic *d);
int mafat_image_png_open(struct mafat_image_decoder **out,
                         struct mafat_image_source *source, const char *name,
                         int channels, struct mafat_diagnostic *d);
int mafat_image_ppm_open(struct mafat_image_decoder **out,
                         struct mafat_image_source *source, const char *name,
                         int channels, struct mafat_diagnostic *d);

/* Needs no source. */
int mafat_image_pixels_open(struct mafat_image_decoder **out, const struct mafat_image_pixels *from, const char *name,
                            int channels, struct mafat_diagnostic *d);

/* Of a frame of video; of a JPEG, whose bytes the source becomes. */
struct mafat_frame;
struct mafat_frame_format;
int mafat_image_frame_open(struct mafat_image_decoder **out, struct mafat_image_source *source, const struct mafat_frame *from,
                           const char *name, int channels, const struct mafat_kernels *kernels, struct mafat_diagnostic *d);
/* Of a decoder of frames: are they Y, U and V? */
bool mafat_image_frame_has_colours(const struct mafat_image_decoder *decoder);
/* Heap of its decoder; of JPEGs, those whose chroma is halved. */
size_t mafat_image_frame_bytes_assumed(const struct mafat_frame_format *f, int least_width, int least_height);

/* The bytes of a baseline JPEG with halved chroma, shrunk as far as that. */
size_t mafat_image_jpeg_bytes_assumed(int width, int height, int least_width, int least_height);

/* n pixels of red, green, blue -> grey, with OpenCV's integer weights. `grey`
 * may be `rgb`. */
void mafat_image_grey_row(const uint8_t *rgb, uint8_t *grey, int n);

/* ---- Resizing, as Darknet does it. ---- */

/* Resizing `from` pixels of one axis to `to`; of these, n from `first` on are in the input. */
struct mafat_image_axis {
  int from, to, first, n;
  float scale;
};

/* at: where the resized axis begins in an input of so many pixels. */
struct mafat_image_axis mafat_image_axis_make(int from, int to, int at, int in);
/* One output pixel along an axis: two neighbours and their weights. */
struct mafat_resample_tap mafat_image_column_tap(const struct mafat_image_axis *axis, int i);
struct mafat_resample_tap mafat_image_row_tap(const struct mafat_image_axis *axis, int i);

/* Resizing within a stored row. */
struct mafat_frame_kernels;
struct mafat_plane_taps;
struct mafat_image_across {
  const struct mafat_kernels *kernels;
  const struct mafat_frame_kernels *lines; /* of frames: each stored row is resized once; NULL: not so */
  struct mafat_image_axis axis;
  struct mafat_plane_taps *planes; /* rows are planes (decoder's); each of eight pixels; NULL: not so */
  struct mafat_resample_tap *taps; /* (axis.n), positions are bytes in a stored row; they go up, or down */
  int channels;
  bool straight; /* every tap is one pixel, of weight 1, in order */
};

/* A line of the resized picture, axis.n pixels, of two stored rows: an upright row, or an upright column with
 * `stride` floats between its pixels. */
void mafat_image_resample_row(const struct mafat_image_across *across, const struct mafat_resample_tap *line,
                              const uint8_t *first, const uint8_t *second, float *out);
/* The same in two steps, to the same bits: a stored row, and between two of them. */
void mafat_image_resample_across(const struct mafat_image_across *across, const uint8_t *stored, float *out);
void mafat_image_resample_between(const struct mafat_image_across *across, const struct mafat_resample_tap *line,
                                  const float *first, const float *second, float *out);
/* Fills taps of planes from those of a stored row. False: pixels lie too far apart. */
bool mafat_image_plane_taps(struct mafat_plane_taps *planes, const struct mafat_resample_tap *taps, int n, int channels);
void mafat_image_resample_column(const struct mafat_image_across *across, const struct mafat_resample_tap *line,
                                 const uint8_t *first, const uint8_t *second, float *out, size_t stride);

/* mafat_image_open() for a file that is open already. The picture owns fd,
 * also when opening fails; the file's own position is neither used nor moved. */
int mafat_image_open_fd(struct mafat_image **out, int fd, const char *name,
                        const struct mafat_image_input *input,
                        struct mafat_diagnostic *d);

#endif
