/* Parses frame formats, and decodes video frames (YUV, RGB, MJPEG) to rows of RGB. Called by the
 * picture reader (runner/image/image.c) and by api/ (choose.c, dry_run.c, frames.c, model.c). Reads
 * the caller's bytes; allocates a decoder, which its `close` frees. */
#include "runner/image/frame.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "runner/image/decoder.h"
#include "runner/kernels/frame_rows.h"

/* ---- formats ---- */

static const struct {
  const char *name;
  enum mafat_frame_kind kind;
  bool full; /* full range of values, as in struct mafat_frame_format */
} formats[] = {{"yuv420p", MAFAT_FRAME_YUV420P, false}, {"yuvj420p", MAFAT_FRAME_YUV420P, true},
               {"nv12", MAFAT_FRAME_NV12, false},       {"yuyv", MAFAT_FRAME_YUYV, false},
               {"rgb24", MAFAT_FRAME_RGB24, false},     {"mjpeg", MAFAT_FRAME_MJPEG, true}};

/* Parses a number of pixels. Returns the text after it, or NULL if the number is not valid. */
static const char *read_side(const char *text, int *side)
{
  int n = 0, digits = 0;
  for (; isdigit((unsigned char)*text) && n < MAFAT_IMAGE_MAX_SIDE; text++, digits++)
    n = n * 10 + (*text - '0');
  *side = n;
  return digits && n >= 1 && n <= MAFAT_IMAGE_MAX_SIDE ? text : NULL;
}

int mafat_frame_format_read(struct mafat_frame_format *f, const char *text,
                            struct mafat_diagnostic *d)
{
  *f = (struct mafat_frame_format){.kind = formats[0].kind, .name = formats[0].name};
  const char *rest = read_side(text, &f->width);
  if (rest && *rest == 'x') rest = read_side(rest + 1, &f->height);
  else rest = NULL;
  bool known = rest && *rest == '\0';
  for (size_t i = 0; rest && *rest == ':' && i < sizeof formats / sizeof *formats; i++) {
    if (strcmp(rest + 1, formats[i].name) != 0) continue;
    f->kind = formats[i].kind;
    f->full = formats[i].full;
    f->name = formats[i].name;
    known = true;
  }
  if (!known)
    return mafat_fail(
        d, MAFAT_EINVAL,
        "expected frames like 640x480:yuv420p (yuvj420p, nv12, yuyv, rgb24, mjpeg), found %.60s",
        text);
  if ((int64_t)f->width * f->height > MAFAT_IMAGE_MAX_PIXELS / 8) /* keeps all sizes within int */
    return mafat_fail(d, MAFAT_EINVAL, "expected frames of at most %d pixels, found %.60s",
                      MAFAT_IMAGE_MAX_PIXELS / 8, text);
  if (f->kind == MAFAT_FRAME_YUYV && f->width % 2)
    return mafat_fail(d, MAFAT_EINVAL, "expected yuyv frames of an even width, found %.60s", text);
  return MAFAT_OK;
}

static size_t chroma_width(const struct mafat_frame_format *f)
{
  return ((size_t)f->width + 1) / 2;
}
static size_t chroma_height(const struct mafat_frame_format *f)
{
  return ((size_t)f->height + 1) / 2;
}

size_t mafat_frame_format_bytes(const struct mafat_frame_format *f)
{
  enum { LEAST_JPEG = 64 << 10 };
  size_t pixels = (size_t)f->width * (size_t)f->height;
  switch (f->kind) {
  case MAFAT_FRAME_RGB24: return 3 * pixels;
  case MAFAT_FRAME_YUYV: return 2 * pixels;
  case MAFAT_FRAME_MJPEG: return 2 * pixels < LEAST_JPEG ? LEAST_JPEG : 2 * pixels;
  default: return pixels + 2 * chroma_width(f) * chroma_height(f);
  }
}

/* ---- rows ---- */

struct frame_decoder {
  struct mafat_image_decoder base;
  struct mafat_frame from;
  const struct mafat_frame_kernels *kernels;
  int next_row;
};

/* Factors for the conversion from YUV to RGB, in fixed point with 13 fraction bits. Luma: 255 / 219
 * (limited range) or 1 (full range). Chroma: the weights of BT.601 times 255 / 224 or 1. */
static const struct mafat_colour_rule limited = {9539, 13075, -3209, -6660, 16525, 16},
                                      full = {8192, 11485, -2819, -5850, 14516, 0};

static struct mafat_colour_call colours_of_row(const struct frame_decoder *f, int y)
{
  const struct mafat_frame_format *format = &f->from.format;
  const uint8_t *planes = f->from.bytes;
  size_t row = (size_t)y, width = (size_t)format->width, pixels = width * (size_t)format->height,
         half = chroma_width(format);
  struct mafat_colour_call c = {.rule = format->full ? &full : &limited, .n = format->width};
  if (format->kind == MAFAT_FRAME_YUYV) {
    c.luma = planes + row * 2 * width;
    c.u = c.luma + 1;
    c.v = c.luma + 3;
    c.luma_step = 2;
    c.chroma_step = 4;
    return c;
  }
  bool apart = format->kind == MAFAT_FRAME_YUV420P;
  c.luma = planes + row * width;
  c.luma_step = 1;
  c.chroma_step = apart ? 1 : 2;
  c.u = planes + pixels + row / 2 * half * (size_t)c.chroma_step;
  c.v = apart ? c.u + half * chroma_height(format) : c.u + 1;
  return c;
}

static int frame_read_row(struct mafat_image_decoder *base, uint8_t *row,
                          struct mafat_diagnostic *d)
{
  struct frame_decoder *f = (struct frame_decoder *)base;
  int y = f->next_row++;
  (void)d;
  if (f->from.format.kind == MAFAT_FRAME_RGB24) {
    memcpy(row, f->from.bytes + (size_t)y * 3 * (size_t)base->width, 3 * (size_t)base->width);
  } else {
    struct mafat_colour_call c = colours_of_row(f, y);
    c.rgb = row;
    if (base->planes) f->kernels->colour_planes(&c);
    else f->kernels->colour(&c);
  }
  if (base->channels == 1) mafat_image_grey_row(row, row, base->width);
  return MAFAT_OK;
}

static void frame_skip(struct mafat_image_decoder *base, int n)
{
  ((struct frame_decoder *)base)->next_row += n;
}

static int frame_finish(struct mafat_image_decoder *base, struct mafat_diagnostic *d)
{
  (void)base, (void)d;
  return MAFAT_OK;
}

static void frame_close(struct mafat_image_decoder *base)
{
  free(base);
}

static int open_rows(struct mafat_image_decoder **out, const struct mafat_frame *from,
                     const char *name, int channels, const struct mafat_kernels *kernels,
                     struct mafat_diagnostic *d)
{
  static const struct mafat_image_decoder_ops ops = {frame_read_row, frame_finish, frame_close,
                                                     NULL, frame_skip};
  struct frame_decoder *f = calloc(1, sizeof *f);
  if (!f) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", name);
  f->from = *from;
  f->kernels = mafat_frame_kernels_find(kernels->name);
  f->base = (struct mafat_image_decoder){.ops = &ops,
                                         .name = name,
                                         .width = from->format.width,
                                         .height = from->format.height,
                                         .channels = channels,
                                         .source_channels = 3,
                                         .orientation = 1,
                                         .format = from->format.name,
                                         .bytes = sizeof *f};
  *out = &f->base;
  return MAFAT_OK;
}

/* Opens a decoder for the frame's bytes, a JPEG file, and checks that it has the format's width and
 * height. */
static int open_jpeg(struct mafat_image_decoder **out, struct mafat_image_source *source,
                     const struct mafat_frame *from, const char *name, int channels,
                     struct mafat_diagnostic *d)
{
  source->next = from->bytes;
  source->left = from->n;
  source->position = (off_t)from->n;
  int code = mafat_image_jpeg_open(out, source, name, channels, d);
  if (code) return code;
  const struct mafat_image_decoder *decoder = *out;
  if (decoder->width == from->format.width && decoder->height == from->format.height)
    return MAFAT_OK;
  return mafat_fail(d, MAFAT_EFORMAT, "%s: expected a JPEG picture of %dx%d, found %dx%d", name,
                    from->format.width, from->format.height, decoder->width, decoder->height);
}

int mafat_image_frame_open(struct mafat_image_decoder **out, struct mafat_image_source *source,
                           const struct mafat_frame *from, const char *name, int channels,
                           const struct mafat_kernels *kernels, struct mafat_diagnostic *d)
{
  return from->format.kind == MAFAT_FRAME_MJPEG ? open_jpeg(out, source, from, name, channels, d)
                                                : open_rows(out, from, name, channels, kernels, d);
}

bool mafat_image_frame_has_colours(const struct mafat_image_decoder *decoder)
{
  return ((const struct frame_decoder *)decoder)->from.format.kind != MAFAT_FRAME_RGB24;
}

size_t mafat_image_frame_bytes_assumed(const struct mafat_frame_format *f, int least_width,
                                       int least_height)
{
  return f->kind == MAFAT_FRAME_MJPEG
             ? mafat_image_jpeg_bytes_assumed(f->width, f->height, least_width, least_height)
             : sizeof(struct frame_decoder);
}
