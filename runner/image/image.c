/* Decodes and resizes pictures into a network's input, row by row. Called by api/ (model.c,
 * frames.c, picture.c, packing/observe.c) and runner/image/input.c; api/footprint.c asks it how
 * much memory a picture needs. Reads the file and drops its pages from the page cache; allocates
 * the picture, its decoder and row buffers, which closing frees; returns free heap to the system
 * after a large decoder is closed. */
#include "runner/image/image.h"

#include <errno.h>
#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/image/decoder.h"
#include "runner/image/other_format.h"
#include "runner/kernels/frame_rows.h"

/* A picture while it is decoded. Stored rows are rows or columns of the upright picture, in
 * ascending or descending order. From each pair of neighboring stored rows, lines of the input are
 * computed: rows, or columns if the picture is sideways. `across` resizes within a stored row;
 * `along` resizes in the other direction, by interpolating between two stored rows. */
struct mafat_image {
  char *name;
  struct mafat_image_input input;
  struct mafat_image_info info;
  struct mafat_image_decoder *decoder;

  bool sideways;      /* stored rows are columns of the upright picture */
  bool along_reverse; /* stored rows are in descending order */
  bool across_reverse; /* pixels of a stored row are in descending order */
  struct mafat_placement place; /* of the upright picture in the input */
  struct mafat_image_axis along;
  struct mafat_image_across across;

  int stored_width; /* width of decoded rows, in pixels */
  uint8_t *rows[2]; /* stored row y is in rows[y % 2] */
  uint8_t *memory;      /* memory of `rows` and `lines`; NULL before and after decoding */
  float *lines[2];  /* frames: stored row y after resizing is in lines[y % 2] */
  int line_of[2];   /* number of the stored row that each of `lines` has; -1: none yet */
  int n_decoded;    /* number of stored rows that are decoded or skipped */
  int next_row;     /* next row of the input to be returned */
  bool failed;      /* decoding has failed */
  const struct mafat_pixel_rule *rule; /* NULL: Darknet's rule, which the kernels apply */
  float around[3]; /* values of a pixel outside the picture, in the padding */
  struct mafat_image_source source;
};

/* ---- opening ---- */

static int check_file(int fd, const char *name, struct mafat_diagnostic *d)
{
  struct stat st;
  if (fstat(fd, &st) != 0)
    return mafat_fail(d, MAFAT_EIO, "%s: cannot open: %s", name, strerror(errno));
  if (S_ISDIR(st.st_mode))
    return mafat_fail(d, MAFAT_EIO, "%s: expected a picture, found a directory", name);
  if (!S_ISREG(st.st_mode))
    return mafat_fail(d, MAFAT_EIO, "%s: expected a regular file, found a pipe, socket or device",
                      name);
  if (st.st_size == 0)
    return mafat_fail(d, MAFAT_EFORMAT, "%s: expected a picture, found an empty file", name);
  return MAFAT_OK;
}

static int check_input(const struct mafat_image_input *input, struct mafat_diagnostic *d)
{
  if (input->w < 1 || input->h < 1 || input->w > MAFAT_IMAGE_MAX_SIDE ||
      input->h > MAFAT_IMAGE_MAX_SIDE || (input->c != 1 && input->c != 3))
    return mafat_fail(
        d, MAFAT_EINVAL,
        "expected a network with a picture of 1 or 3 channels as its input, found %dx%dx%d",
        input->w, input->h, input->c);
  return MAFAT_OK;
}

static int open_decoder(struct mafat_image *im, struct mafat_diagnostic *d)
{
  struct mafat_image_source *source = &im->source;
  if (mafat_image_source_fill(source) < 0)
    return mafat_fail(d, MAFAT_EIO, "%s: cannot read: %s", im->name, strerror(errno));
  const uint8_t *p = source->next;
  size_t n = source->left;
  int c = im->input.c;

  if (n >= 3 && memcmp(p, "\xff\xd8\xff", 3) == 0)
    return mafat_image_jpeg_open(&im->decoder, source, im->name, c, d);
  if (n >= 8 && memcmp(p, "\x89PNG\r\n\x1a\n", 8) == 0)
    return mafat_image_png_open(&im->decoder, source, im->name, c, d);
  if (n >= 3 && p[0] == 'P' && strchr(" \t\n\v\f\r#", p[2]) && p[2] != 0 && strchr("2356", p[1]) &&
      p[1] != 0)
    return mafat_image_ppm_open(&im->decoder, source, im->name, c, d);
  if (n >= 2 && memcmp(p, "BM", 2) == 0)
    return mafat_image_bmp_open(&im->decoder, source, im->name, c, d);
  return mafat_image_refuse_format(im->name, p, n, d);
}

static int check_size(const struct mafat_image_decoder *decoder, struct mafat_diagnostic *d)
{
  if (decoder->width < 1 || decoder->height < 1)
    return mafat_fail(d, MAFAT_EFORMAT,
                      "%s: damaged %s picture: expected a width and a height, found %dx%d",
                      decoder->name, decoder->format, decoder->width, decoder->height);
  if (decoder->width > MAFAT_IMAGE_MAX_SIDE || decoder->height > MAFAT_IMAGE_MAX_SIDE)
    return mafat_fail(d, MAFAT_EUNSUPPORTED,
                      "%s: expected a picture of at most %d pixels to a side, found %dx%d",
                      decoder->name, MAFAT_IMAGE_MAX_SIDE, decoder->width, decoder->height);
  if ((int64_t)decoder->width * decoder->height > MAFAT_IMAGE_MAX_PIXELS)
    return mafat_fail(d, MAFAT_EUNSUPPORTED,
                      "%s: expected a picture of at most %d pixels, found %dx%d", decoder->name,
                      MAFAT_IMAGE_MAX_PIXELS, decoder->width, decoder->height);
  return MAFAT_OK;
}

/* Sets the fields that depend on the picture's size and EXIF orientation. */
static void set_geometry(struct mafat_image *im)
{
  struct mafat_image_decoder *decoder = im->decoder;
  int o = decoder->orientation;
  im->sideways = o >= 5;
  im->along_reverse = o == 3 || o == 4 || o == 6 || o == 7;
  im->across_reverse = o == 2 || o == 3 || o == 7 || o == 8;

  int width = im->sideways ? decoder->height : decoder->width;
  int height = im->sideways ? decoder->width : decoder->height;
  im->place = mafat_placement_make(im->input.fit, width, height, im->input.w, im->input.h);
  if (im->input.shrinks && decoder->ops->shrink)
    decoder->ops->shrink(decoder, im->sideways ? im->place.h : im->place.w,
                         im->sideways ? im->place.w : im->place.h);
  im->stored_width = decoder->width;
  struct mafat_image_axis x = mafat_image_axis_make(im->sideways ? decoder->height : decoder->width,
                                                    im->place.w, im->place.left, im->input.w);
  struct mafat_image_axis y = mafat_image_axis_make(im->sideways ? decoder->width : decoder->height,
                                                    im->place.h, im->place.top, im->input.h);
  im->along = im->sideways ? x : y;
  im->across = (struct mafat_image_across){.axis = im->sideways ? y : x, .channels = im->input.c,
                                          .kernels = im->input.kernels};
  im->across.lines = decoder->ops->skip ? mafat_frame_kernels_find(im->input.kernels->name) : NULL;
  im->across.straight = im->across.axis.from == im->across.axis.to && !im->across_reverse;

  im->info = (struct mafat_image_info){.width = width,
                                       .height = height,
                                       .source_channels = decoder->source_channels,
                                       .orientation = o,
                                       .turned = im->sideways || im->along_reverse,
                                       .frame = decoder->ops->skip != NULL,
                                       .whole = decoder->whole,
                                       .n_scans = decoder->n_scans > 1 ? decoder->n_scans : 1,
                                       .format = decoder->format,
                                       .decoder_bytes = decoder->bytes};
}

bool mafat_image_find_scaling(bool *shrinks, const char *name)
{
  *shrinks = name && strcmp(name, "fast") == 0;
  return !name || *shrinks || strcmp(name, "exact") == 0;
}

static void set_rule(struct mafat_image *im)
{
  const struct mafat_pixel_rule *rule = im->input.rule;
  for (int c = 0; c < 3; c++) im->around[c] = .5f;
  if (!rule) return;
  mafat_pixel_rule_pad(rule, im->input.c, im->around);
  if (!mafat_pixel_rule_is_plain(rule)) im->rule = rule;
}

/* Allocates a picture that has no decoder yet. The picture owns fd. Returns NULL if out of memory;
 * then the caller still owns fd. */
static struct mafat_image *make_image(int fd, const char *name,
                                      const struct mafat_image_input *input)
{
  struct mafat_image *im = calloc(1, sizeof *im);
  if (!im || !(im->name = strdup(name))) {
    free(im);
    return NULL;
  }
  im->source.fd = fd;
  im->source.canceled = input->canceled;
  im->source.warnings = input->warnings;
  im->input = *input;
  if (!im->input.kernels) im->input.kernels = mafat_kernels_find(NULL);
  set_rule(im);
  return im;
}

int mafat_image_open_fd(struct mafat_image **out, int fd, const char *name,
                        const struct mafat_image_input *input,
                        struct mafat_diagnostic *d)
{
  *out = NULL;
  struct mafat_image *im = NULL;
  int code = check_input(input, d);
  if (code == MAFAT_OK) code = check_file(fd, name, d);
  if (code != MAFAT_OK) goto fail;

  im = make_image(fd, name, input);
  if (!im) {
    code = mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", name);
    goto fail;
  }
  code = open_decoder(im, d);
  if (code == MAFAT_OK) code = check_size(im->decoder, d);
  if (code != MAFAT_OK) goto fail;
  set_geometry(im);
  *out = im;
  return MAFAT_OK;

fail:
  if (im)
    mafat_image_close(&im);
  else
    close(fd);
  return code;
}

static int check_pixels(const struct mafat_image_pixels *p, struct mafat_diagnostic *d)
{
  if (!p->bytes) return mafat_fail(d, MAFAT_EINVAL, "pixels: expected a picture, found none");
  if (p->width < 1 || p->height < 1)
    return mafat_fail(d, MAFAT_EINVAL, "pixels: expected a width and a height, found %dx%d",
                      p->width, p->height);
  if (p->channels != 1 && p->channels != 3 && p->channels != 4)
    return mafat_fail(d, MAFAT_EINVAL, "pixels: expected 1, 3 or 4 channels, found %d",
                      p->channels);
  if (p->stride < (size_t)p->width * (size_t)p->channels)
    return mafat_fail(d, MAFAT_EINVAL,
                      "pixels: expected at least %zu bytes from row to row, found %zu",
                      (size_t)p->width * (size_t)p->channels, p->stride);
  if (p->height > 1 && p->stride > PTRDIFF_MAX / (size_t)(p->height - 1) - 1)
    return mafat_fail(
        d, MAFAT_EINVAL,
        "pixels: expected rows within memory, found %d, %zu bytes from one to the next",
        p->height, p->stride);
  return MAFAT_OK;
}

/* Opens a picture in memory: pixels or a frame. */
static int open_memory(struct mafat_image **out, const char *name,
                       const struct mafat_image_pixels *pixels, const struct mafat_frame *frame,
                       const struct mafat_image_input *input, struct mafat_diagnostic *d)
{
  struct mafat_image *im = make_image(-1, name, input);
  if (!im) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", name);
  int code = pixels ? mafat_image_pixels_open(&im->decoder, pixels, im->name, input->c, d)
                    : mafat_image_frame_open(&im->decoder, &im->source, frame, im->name, input->c,
                                             im->input.kernels, d);
  if (code == MAFAT_OK) code = check_size(im->decoder, d);
  if (code) {
    mafat_image_close(&im);
    return code;
  }
  set_geometry(im);
  *out = im;
  return MAFAT_OK;
}

int mafat_image_open_pixels(struct mafat_image **out, const struct mafat_image_pixels *pixels,
                            const struct mafat_image_input *input, struct mafat_diagnostic *d)
{
  *out = NULL;
  int code = check_input(input, d);
  if (code == MAFAT_OK) code = check_pixels(pixels, d);
  return code ? code : open_memory(out, "pixels", pixels, NULL, input, d);
}

int mafat_image_open_frame(struct mafat_image **out, const struct mafat_frame *frame,
                           const struct mafat_image_input *input, struct mafat_diagnostic *d)
{
  size_t bytes = mafat_frame_format_bytes(&frame->format);
  *out = NULL;
  int code = check_input(input, d);
  if (code) return code;
  if (frame->format.kind == MAFAT_FRAME_MJPEG ? frame->n > bytes : frame->n != bytes)
    return mafat_fail(d, MAFAT_EINVAL, "frame: expected %s%zu bytes, found %zu",
                      frame->format.kind == MAFAT_FRAME_MJPEG ? "at most " : "", bytes, frame->n);
  return open_memory(out, "frame", NULL, frame, input, d);
}

int mafat_image_open(struct mafat_image **out, const char *path,
                     const struct mafat_image_input *input,
                     struct mafat_diagnostic *d)
{
  *out = NULL;
  /* non-blocking: opening a pipe would wait for its writer */
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0)
    return mafat_fail(d, MAFAT_EIO, "%s: cannot open: %s", path, strerror(errno));
  return mafat_image_open_fd(out, fd, path, input, d);
}

const struct mafat_image_info *mafat_image_describe(const struct mafat_image *im)
{
  return &im->info;
}

const struct mafat_placement *mafat_image_placement(const struct mafat_image *im)
{
  return &im->place;
}

/* ---- memory ---- */

/* Rows are deliberately misaligned: libjpeg-turbo writes aligned rows directly to memory, not to
 * the caches, but they are read immediately afterwards. */
enum { ROW_ALIGNMENT = 32, ROW_OFFSET = 8 };

/* Returns the bytes of a stored row. Counts three channels even for grey rows, because decoders
 * convert to grey in place. */
static size_t row_bytes(int stored_width)
{
  return ((size_t)stored_width * 3 + ROW_ALIGNMENT - 1) / ROW_ALIGNMENT * ROW_ALIGNMENT;
}

static size_t rows_bytes(int stored_width)
{
  return 2 * row_bytes(stored_width) + ROW_ALIGNMENT + ROW_OFFSET;
}

static size_t eights_of(int n_taps)
{
  return ((size_t)n_taps + MAFAT_PLANE_PIXELS - 1) / MAFAT_PLANE_PIXELS;
}

static size_t line_floats(int n_taps, int channels)
{
  return eights_of(n_taps) * MAFAT_PLANE_PIXELS * (size_t)channels;
}

/* Returns the bytes of the `lines` of a frame, and of the taps for planes, which are after them. */
static size_t lines_bytes(int n_taps, int channels)
{
  return 2 * line_floats(n_taps, channels) * sizeof(float) +
         eights_of(n_taps) * sizeof(struct mafat_plane_taps) + ROW_ALIGNMENT;
}

/* Returns the bytes of heap that a picture needs, without `lines`; SIZE_MAX: they overflow. Sides
 * are at most 2^20, so only decoder_bytes can be large. */
static size_t picture_bytes(size_t decoder_bytes, int stored_width, int n_taps, size_t name_bytes)
{
  enum { ALLOCATOR_SLACK = 256 };
  size_t own = sizeof(struct mafat_image) + name_bytes + rows_bytes(stored_width) +
               (size_t)n_taps * sizeof(struct mafat_resample_tap) + ALLOCATOR_SLACK;
  size_t bytes;
  return __builtin_add_overflow(decoder_bytes, own, &bytes) ? SIZE_MAX : bytes;
}

size_t mafat_image_bytes(const struct mafat_image *im)
{
  size_t bytes = picture_bytes(im->info.decoder_bytes, im->stored_width, im->across.axis.n,
                               strlen(im->name) + 1);
  return im->across.lines ? bytes + lines_bytes(im->across.axis.n, im->input.c) : bytes;
}

size_t mafat_image_bytes_assumed(const struct mafat_image_input *input)
{
  enum { WIDTH = 4000, HEIGHT = 3000, NAME_BYTES = 4096 };
  struct mafat_placement place = {.w = WIDTH, .h = HEIGHT};
  if (input->shrinks) place = mafat_placement_make(input->fit, WIDTH, HEIGHT, input->w, input->h);
  return picture_bytes(mafat_image_jpeg_bytes_assumed(WIDTH, HEIGHT, place.w, place.h), WIDTH,
                       input->w, NAME_BYTES);
}

size_t mafat_image_frame_bytes(const struct mafat_frame_format *format,
                               const struct mafat_image_input *input, bool rows)
{
  struct mafat_placement place = {.w = format->width, .h = format->height};
  if (input->shrinks && !rows)
    place = mafat_placement_make(input->fit, format->width, format->height, input->w, input->h);
  return picture_bytes(mafat_image_frame_bytes_assumed(format, place.w, place.h), format->width,
                       input->w, sizeof "frame") +
         (format->kind == MAFAT_FRAME_MJPEG ? 0 : lines_bytes(input->w, input->c));
}

enum { LARGE_DECODER = 128 << 10 }; /* bytes above which the heap is trimmed */

/* Closes the decoder and frees the buffers. Trims the heap, because the allocator would otherwise
 * keep up to 256 KB of a progressive JPEG's coefficients while the layers run. */
static void release_decoding(struct mafat_image *im)
{
  bool large = im->decoder && im->info.decoder_bytes > LARGE_DECODER;
  if (im->decoder) im->decoder->ops->close(im->decoder);
  im->decoder = NULL;
  free(im->memory);
  free(im->across.taps);
  im->memory = NULL;
  im->across.taps = NULL;
#ifdef __GLIBC__
  if (large) malloc_trim(0);
#else
  (void)large;
#endif
}

/* Sets across.taps: the taps within a stored row, with positions in bytes. */
static void set_taps(struct mafat_image *im)
{
  const struct mafat_image_axis *axis = &im->across.axis;
  for (int i = 0; i < axis->n; i++) {
    int at = axis->first + i;
    struct mafat_resample_tap tap =
        im->sideways ? mafat_image_row_tap(axis, at) : mafat_image_column_tap(axis, at);
    if (im->across_reverse) {
      tap.first = axis->from - 1 - tap.first;
      tap.second = axis->from - 1 - tap.second;
    }
    tap.first *= im->input.c;
    tap.second *= im->input.c;
    im->across.taps[i] = tap;
  }
}

/* Makes the decoder return rows as planes of colours if that is less work. Kernels then read up to
 * 15 bytes past the end of rows[1]; the memory of `lines` follows there. */
static void set_planes(struct mafat_image *im)
{
  struct mafat_image_across *across = &im->across;
  across->planes = NULL;
  im->decoder->planes = false;
  if (!across->lines || !across->lines->colour_planes || across->straight || im->input.c != 3 ||
      !mafat_image_frame_has_colours(im->decoder))
    return;
  struct mafat_plane_taps *planes =
      (struct mafat_plane_taps *)(void *)(im->lines[1] + line_floats(across->axis.n, im->input.c));
  if (!mafat_image_plane_taps(planes, across->taps, across->axis.n, im->input.c)) return;
  across->planes = planes;
  im->decoder->planes = true;
}

static int start_decoding(struct mafat_image *im, struct mafat_diagnostic *d)
{
  size_t rows = rows_bytes(im->decoder->width);
  im->memory =
      malloc(rows + (im->across.lines ? lines_bytes(im->across.axis.n, im->input.c) : 0));
  im->across.taps = malloc((size_t)im->across.axis.n * sizeof *im->across.taps + 1);
  if (!im->memory || !im->across.taps)
    return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", im->name);
  im->rows[0] =
      im->memory + (ROW_ALIGNMENT - (uintptr_t)im->memory % ROW_ALIGNMENT) + ROW_OFFSET;
  im->rows[1] = im->rows[0] + row_bytes(im->decoder->width);
  if (im->across.lines) {
    im->lines[0] =
        (float *)(void *)(im->memory + rows +
                          (ROW_ALIGNMENT - (uintptr_t)(im->memory + rows) % ROW_ALIGNMENT));
    im->lines[1] = im->lines[0] + line_floats(im->across.axis.n, im->input.c);
  }
  im->line_of[0] = im->line_of[1] = -1;
  set_taps(im);
  set_planes(im);
  return MAFAT_OK;
}

/* ---- lines ---- */

static int decode_up_to(struct mafat_image *im, int n, struct mafat_diagnostic *d)
{
  while (im->n_decoded < n) {
    int code = mafat_image_source_check(&im->source, im->name, d);
    if (code == MAFAT_OK)
      code = im->decoder->ops->read_row(im->decoder, im->rows[im->n_decoded % 2], d);
    if (code != MAFAT_OK) return code;
    im->n_decoded++;
  }
  return MAFAT_OK;
}

static void skip_up_to(struct mafat_image *im, int n)
{
  if (!im->decoder->ops->skip || im->n_decoded >= n) return;
  im->decoder->ops->skip(im->decoder, n - im->n_decoded);
  im->n_decoded = n;
}

/* Returns stored row y after resizing. Each stored row is resized only once. */
static const float *find_line(struct mafat_image *im, int y)
{
  if (im->line_of[y % 2] != y)
    mafat_image_resample_across(&im->across, im->rows[y % 2], im->lines[y % 2]);
  im->line_of[y % 2] = y;
  return im->lines[y % 2];
}

/* Computes line i of the part of the resized picture that is in the input: a row, or, if the
 * picture is sideways, a column with `stride` floats from a pixel to the next. Lines must be
 * computed in the order of their stored rows. */
static int read_line(struct mafat_image *im, int i, float *out, size_t stride,
                     struct mafat_diagnostic *d)
{
  int at = im->along.first + i;
  struct mafat_resample_tap line = im->sideways ? mafat_image_column_tap(&im->along, at)
                                             : mafat_image_row_tap(&im->along, at);
  if (im->along_reverse) {
    line.first = im->along.from - 1 - line.first;
    line.second = im->along.from - 1 - line.second;
  }
  int last = line.first > line.second ? line.first : line.second;
  skip_up_to(im, line.first < line.second ? line.first : line.second);
  int code = decode_up_to(im, last + 1, d);
  if (code != MAFAT_OK) return code;

  const uint8_t *first = im->rows[line.first % 2], *second = im->rows[line.second % 2];
  if (im->across.lines && !im->across.straight)
    mafat_image_resample_between(&im->across, &line, find_line(im, line.first),
                                 find_line(im, line.second), out);
  else if (im->sideways)
    mafat_image_resample_column(&im->across, &line, first, second, out, stride);
  else
    mafat_image_resample_row(&im->across, &line, first, second, out);
  if (im->rule)
    mafat_pixel_rule_apply(im->rule, out, im->across.axis.n, im->input.c,
                           im->sideways ? stride : (size_t)im->input.c);
  return MAFAT_OK;
}

static void fill_around(const struct mafat_image *im, float *out, int n_pixels)
{
  size_t done = (size_t)im->input.c, n = (size_t)n_pixels * done;
  if (n == 0) return;
  memcpy(out, im->around, done * sizeof *out);
  for (; done < n; done *= 2)
    memcpy(out + done, out, (done < n - done ? done : n - done) * sizeof *out);
}

static int check_unchanged(const struct mafat_image *im, struct mafat_diagnostic *d)
{
  if (!mafat_image_source_changed(&im->source)) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EIO, "%s: was written to while it was read", im->name);
}

/* Reads the rest of the file, which the input does not need, to find out whether it is damaged.
 * Then closes the decoder. */
static int finish(struct mafat_image *im, struct mafat_diagnostic *d)
{
  skip_up_to(im, im->decoder->height);
  int code = decode_up_to(im, im->decoder->height, d);
  if (code == MAFAT_OK) code = im->decoder->ops->finish(im->decoder, d);
  if (code == MAFAT_OK) code = check_unchanged(im, d);
  release_decoding(im);
  return code;
}

static int begin(struct mafat_image *im, struct mafat_diagnostic *d)
{
  if (im->failed || im->next_row >= im->input.h)
    return mafat_fail(d, MAFAT_EINVAL, "%s: read already", im->name);
  return im->memory ? MAFAT_OK : start_decoding(im, d);
}

/* Called with the result of a read; ends decoding if it failed. If the file seems damaged but was
 * written to while it was read, reports that instead. Returns the code. */
static int note_failure(struct mafat_image *im, int code, struct mafat_diagnostic *d)
{
  if (code == MAFAT_EFORMAT && check_unchanged(im, d)) code = MAFAT_EIO;
  if (code != MAFAT_OK) {
    im->failed = true;
    release_decoding(im);
  }
  return code;
}

/* Returns the first row or column of the input that the picture covers. `at`, where the picture
 * begins, is negative if the picture is cropped. */
static int begin_in_input(int at)
{
  return at < 0 ? 0 : at;
}

static int read_row(struct mafat_image *im, float *row, struct mafat_diagnostic *d)
{
  int c = im->input.c;
  int left = begin_in_input(im->place.left), y = im->next_row - begin_in_input(im->place.top);
  if (y < 0 || y >= im->along.n || im->across.axis.n == 0) {
    fill_around(im, row, im->input.w);
  } else {
    int right = left + im->across.axis.n;
    fill_around(im, row, left);
    int code = read_line(im, y, row + (size_t)left * (size_t)c, 0, d);
    if (code != MAFAT_OK) return code;
    fill_around(im, row + (size_t)right * (size_t)c, im->input.w - right);
  }
  im->next_row++;
  return im->next_row == im->input.h ? finish(im, d) : MAFAT_OK;
}

int mafat_image_read_row(struct mafat_image *im, float *row, struct mafat_diagnostic *d)
{
  if (im->info.turned)
    return mafat_fail(d, MAFAT_EINVAL,
                      "%s: a turned picture (EXIF orientation %d) cannot be read row by row",
                      im->name, im->info.orientation);
  int code = begin(im, d);
  if (code == MAFAT_OK) code = read_row(im, row, d);
  return note_failure(im, code, d);
}

/* Decodes a turned picture into the target, line by line in the order of stored rows. */
static int read_turned(struct mafat_image *im, const struct mafat_image_target *target,
                       struct mafat_diagnostic *d)
{
  size_t c = (size_t)im->input.c, stride = target->row_stride;
  for (int y = 0; y < im->input.h; y++)
    fill_around(im, target->pixels + (size_t)y * stride, im->input.w);

  float *corner = target->pixels + (size_t)begin_in_input(im->place.top) * stride +
                  (size_t)begin_in_input(im->place.left) * c;
  int n = im->across.axis.n > 0 ? im->along.n : 0;
  for (int k = 0; k < n; k++) {
    int i = im->along_reverse ? n - 1 - k : k;
    int code = read_line(im, i, corner + (size_t)i * (im->sideways ? c : stride), stride, d);
    if (code != MAFAT_OK) return code;
  }
  im->next_row = im->input.h;
  return finish(im, d);
}

int mafat_image_read(struct mafat_image *im, const struct mafat_image_target *target,
                     struct mafat_diagnostic *d)
{
  if (im->next_row != 0)
    return mafat_fail(d, MAFAT_EINVAL, "%s: read already", im->name);
  int code = begin(im, d);
  if (code == MAFAT_OK && im->info.turned)
    code = read_turned(im, target, d);
  else
    while (code == MAFAT_OK && im->next_row < im->input.h)
      code = read_row(im, target->pixels + (size_t)im->next_row * target->row_stride, d);
  return note_failure(im, code, d);
}

int mafat_image_each_row(struct mafat_image *im, mafat_image_row *row, void *context,
                         struct mafat_diagnostic *d)
{
  im->across.lines = NULL; /* rows are passed on as stored, so no lines are needed */
  int code = begin(im, d);
  for (int y = 0; y < im->decoder->height && code == MAFAT_OK; y++) {
    code = decode_up_to(im, y + 1, d);
    if (code == MAFAT_OK) code = row(context, im->rows[y % 2], y, d);
  }
  im->next_row = im->input.h;
  if (code == MAFAT_OK) code = finish(im, d);
  return note_failure(im, code, d);
}

size_t mafat_image_file_bytes(const struct mafat_image *im)
{
  const struct mafat_image_source *source = &im->source;
  return source->opened.bytes < (uint64_t)source->window ? (size_t)source->opened.bytes
                                                         : (size_t)source->window;
}

void mafat_image_close(struct mafat_image **im)
{
  if (!im || !*im) return;
  release_decoding(*im);
  mafat_image_source_close(&(*im)->source);
  free((*im)->name);
  free(*im);
  *im = NULL;
}
