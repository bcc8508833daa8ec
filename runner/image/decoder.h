/* Internals of the picture reader (image.h): access to the file's bytes, the decoders that convert
 * them to rows, and Darknet's resizing. Decoders read the file and allocate; their `close` frees.
 * Included by the .c files of runner/image that read pictures. */
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

/* Most pixels of a side and of a picture: the limits of OpenCV, which Darknet uses. (The JPEG
 * format has a lower limit, 65535 per side.) A few bytes can encode any number of pixels. With this
 * limit a malicious file takes seconds to decode; without it, hours. */
enum { MAFAT_IMAGE_MAX_SIDE = 1 << 20, MAFAT_IMAGE_MAX_PIXELS = 1 << 30 };

/* ---- file: one small buffer, filled by pread(2) ---- */

struct mafat_image_source {
  const atomic_bool *canceled;               /* as in struct mafat_image_input */
  const struct mafat_warning_sink *warnings; /* as in struct mafat_image_input */
  int fd;                                    /* -1: the file is in memory, which `next` points to */
  off_t position;                            /* file offset of the first byte after the buffer */
  struct mafat_file_state opened;            /* state of the file when its first bytes were read */
  /* most bytes of the file that stay in the page cache; older pages are dropped if this source has
   * brought them there */
  off_t window;
  bool missed;         /* some bytes were not in the page cache. Only then are these set: */
  off_t ours, dropped; /* start of the pages that this source read; end of those it dropped */
  off_t asked;         /* end of the range that the kernel was asked to read ahead */
  const uint8_t *next; /* `left` bytes that the decoder has not consumed yet */
  size_t left;
  uint8_t buffer[16384];
};

/* Returns MAFAT_ECANCELED if the run was canceled, else MAFAT_OK. Decoders call it between rows,
 * and repeatedly during work before the first row that may take long. */
int mafat_image_source_check(const struct mafat_image_source *source, const char *name,
                             struct mafat_diagnostic *d);

/* Reads the next bytes into the buffer, which must be empty. Returns 1; 0: the file has ended; -1:
 * reading failed, errno is set. */
int mafat_image_source_fill(struct mafat_image_source *source);

/* Drops bytes [from, to) from the page cache if the file is larger than the window and the range is
 * at least half the window. Returns `from` if nothing was dropped; else the end of the dropped
 * pages, which is `to` rounded down to a page. */
off_t mafat_image_source_drop(const struct mafat_image_source *source, off_t from, off_t to);
/* Drops the pages that the source read into the page cache, if the file is larger than the
 * window. */
void mafat_image_source_forget(const struct mafat_image_source *source);
void mafat_image_source_close(struct mafat_image_source *source);

/* Makes `again`, which must be all zeros, a second reader of the source's file, at the beginning of
 * the file. The first reader still owns the file. If the file is in memory, no byte of `source` may
 * have been consumed yet. */
void mafat_image_source_restart(struct mafat_image_source *again,
                                const struct mafat_image_source *source);
/* Reads at offset `at` of the file, up to n bytes. Sets *bytes to `buffer`, which has n bytes, or
 * to the address in memory if the file is in memory. Returns the number of bytes, which may be more
 * than n if the file is in memory; 0 at the end; -1: reading failed, errno is set. Used to read at
 * several offsets in turn, each of which advances through the file. */
ssize_t mafat_image_source_read(struct mafat_image_source *source, off_t at, uint8_t *buffer,
                                size_t n, const uint8_t **bytes);

/* True if the file was written to since its first bytes were read: the pixels may then mix two
 * pictures. */
bool mafat_image_source_changed(const struct mafat_image_source *source);

/* Reads up to n bytes at `offset`; neither uses nor changes a source's buffer. Returns their
 * number, fewer only at the end of the file; -1: reading failed, errno is set. */
ssize_t mafat_image_source_peek(int fd, off_t offset, uint8_t *bytes, size_t n);

/* Returns the orientation, 1 to 8, from the EXIF data: a TIFF structure of `length` bytes at
 * `offset` of the file. 1: it has none or is invalid. */
int mafat_image_exif_orientation(int fd, off_t offset, size_t length);

/* ---- decoders ---- */

struct mafat_image_decoder;

struct mafat_image_decoder_ops {
  /* Reads the next stored row, from top to bottom: width * channels bytes, into a buffer of
   * width * 3 bytes. */
  int (*read_row)(struct mafat_image_decoder *decoder, uint8_t *row, struct mafat_diagnostic *d);
  /* Called after the last row: checks the rest of the file. */
  int (*finish)(struct mafat_image_decoder *decoder, struct mafat_diagnostic *d);
  /* Frees the decoder. */
  void (*close)(struct mafat_image_decoder *decoder);
  /* Called before the first row. If decoding at a smaller size is less work, chooses a size, at
   * least the given one, and updates width, height and bytes. NULL: not supported. */
  void (*shrink)(struct mafat_image_decoder *decoder, int least_width, int least_height);
  /* Skips n rows. NULL: rows cannot be skipped and must be read. */
  void (*skip)(struct mafat_image_decoder *decoder, int n);
};

struct mafat_image_decoder {
  const struct mafat_image_decoder_ops *ops;
  const char *name;                  /* the file's name, owned by the picture */
  struct mafat_image_source *source; /* owned by the picture */
  int width, height;                 /* in pixels: as stored, or after `shrink` */
  int channels;                      /* channels of the rows that read_row returns: 1 or 3 */
  int source_channels, orientation;  /* as in struct mafat_image_info */
  bool whole;                        /* the whole picture is decoded before the first row */
  int n_scans;                       /* passes over the picture's blocks; 1 unless it is a JPEG */
  const char *format;                /* as in struct mafat_image_info */
  bool planes;  /* YUV frames: a row has all red values, then all green, then all blue */
  size_t bytes; /* upper bound of the heap that it uses, including the decoder's own struct */
};

/* These open a decoder for a file that has the signature of the format. The source must be at the
 * file's first byte. channels: channels of the rows that read_row will return, 1 or 3. */
int mafat_image_jpeg_open(struct mafat_image_decoder **out, struct mafat_image_source *source,
                          const char *name, int channels, struct mafat_diagnostic *d);
int mafat_image_png_open(struct mafat_image_decoder **out, struct mafat_image_source *source,
                         const char *name, int channels, struct mafat_diagnostic *d);
int mafat_image_ppm_open(struct mafat_image_decoder **out, struct mafat_image_source *source,
                         const char *name, int channels, struct mafat_diagnostic *d);
int mafat_image_bmp_open(struct mafat_image_decoder **out, struct mafat_image_source *source,
                         const char *name, int channels, struct mafat_diagnostic *d);

/* Opens a decoder for pixels in memory, which needs no source. */
int mafat_image_pixels_open(struct mafat_image_decoder **out, const struct mafat_image_pixels *from,
                            const char *name, int channels, struct mafat_diagnostic *d);

/* Opens a decoder for a video frame. If it is MJPEG, makes `source` read the frame's bytes. */
struct mafat_frame;
struct mafat_frame_format;
int mafat_image_frame_open(struct mafat_image_decoder **out, struct mafat_image_source *source,
                           const struct mafat_frame *from, const char *name, int channels,
                           const struct mafat_kernels *kernels, struct mafat_diagnostic *d);
/* True if the frame is YUV. The decoder must be one of a frame that is not MJPEG. */
bool mafat_image_frame_has_colours(const struct mafat_image_decoder *decoder);
/* Returns the bytes of heap that a frame's decoder uses. For MJPEG, assumes that chroma is
 * subsampled, and that `shrink` is called with these least sizes. */
size_t mafat_image_frame_bytes_assumed(const struct mafat_frame_format *f, int least_width,
                                       int least_height);

/* Returns the bytes of heap that the decoder of a baseline JPEG with 2x2 subsampled chroma uses,
 * after `shrink` with these least sizes. */
size_t mafat_image_jpeg_bytes_assumed(int width, int height, int least_width, int least_height);

/* Converts n RGB pixels to grey with OpenCV's integer weights. `grey` may equal `rgb`. */
void mafat_image_grey_row(const uint8_t *rgb, uint8_t *grey, int n);

/* ---- resizing, as in Darknet ---- */

/* Resizing along one axis, from `from` to `to` pixels. n of the resized pixels, from `first` on,
 * are inside the network's input. */
struct mafat_image_axis {
  int from, to, first, n;
  float scale; /* picture pixels for each resized pixel */
};

/* at: position of the first resized pixel in an input of `in` pixels; may be negative. */
struct mafat_image_axis mafat_image_axis_make(int from, int to, int at, int in);
/* These return the tap of resized pixel i: two neighboring pixels of the picture, and their
 * weights. There are two functions because Darknet treats the last row differently from the last
 * column. */
struct mafat_resample_tap mafat_image_column_tap(const struct mafat_image_axis *axis, int i);
struct mafat_resample_tap mafat_image_row_tap(const struct mafat_image_axis *axis, int i);

/* Resizing within a stored row. */
struct mafat_frame_kernels;
struct mafat_plane_taps;
struct mafat_image_across {
  const struct mafat_kernels *kernels;
  /* kernels for frames, with which each stored row is resized only once; NULL: not used */
  const struct mafat_frame_kernels *lines;
  struct mafat_image_axis axis;
  /* taps of MAFAT_PLANE_PIXELS pixels each, if stored rows are planes of colours; else NULL */
  struct mafat_plane_taps *planes;
  /* (axis.n): taps whose positions are byte offsets in a stored row, ascending or descending */
  struct mafat_resample_tap *taps;
  int channels;
  bool straight; /* no resizing: each tap is one pixel with weight 1, in ascending order */
};

/* Computes one row of the resized picture, axis.n pixels, from two stored rows. `line` has the
 * weights of the two rows. */
void mafat_image_resample_row(const struct mafat_image_across *across,
                              const struct mafat_resample_tap *line, const uint8_t *first,
                              const uint8_t *second, float *out);
/* These compute a row in two steps, with the same bits as mafat_image_resample_row: the first
 * resizes a stored row, the second interpolates between two resized rows. */
void mafat_image_resample_across(const struct mafat_image_across *across, const uint8_t *stored,
                                 float *out);
void mafat_image_resample_between(const struct mafat_image_across *across,
                                  const struct mafat_resample_tap *line, const float *first,
                                  const float *second, float *out);
/* Converts n taps of a stored row to taps for planes, in groups of MAFAT_PLANE_PIXELS. False: the
 * stored pixels that a group reads are too far apart for the kernels. */
bool mafat_image_plane_taps(struct mafat_plane_taps *planes, const struct mafat_resample_tap *taps,
                            int n, int channels);
/* Does what mafat_image_resample_row does if stored rows are columns of the upright picture:
 * computes a column, with `stride` floats from a pixel to the next. */
void mafat_image_resample_column(const struct mafat_image_across *across,
                                 const struct mafat_resample_tap *line, const uint8_t *first,
                                 const uint8_t *second, float *out, size_t stride);

/* Does what mafat_image_open() does, for an open file; messages call it `name`. The picture owns
 * fd; if opening fails, fd is closed. The file offset of fd is neither used nor changed. */
int mafat_image_open_fd(struct mafat_image **out, int fd, const char *name,
                        const struct mafat_image_input *input, struct mafat_diagnostic *d);

#endif
