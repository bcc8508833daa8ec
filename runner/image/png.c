/* Decodes PNG with libpng. Called by runner/image/image.c, through struct mafat_image_decoder_ops
 * once it is open. Reads the file; allocates the decoder, an interlaced picture's pixels, and more
 * through libpng; closing frees all. libpng reports errors by a callback that must not return
 * (longjmp), so every call that can fail is made through guarded(). */
#include <stdlib.h>

#include "runner/image/decoder.h"
#include "runner/image/image.h"

#ifdef MAFAT_WITHOUT_PNG

int mafat_image_png_open(struct mafat_image_decoder **out,
                         struct mafat_image_source *source, const char *name,
                         int channels, struct mafat_diagnostic *d)
{
  (void)out, (void)source, (void)channels;
  return mafat_fail(d, MAFAT_EUNSUPPORTED, "%s: this build cannot read PNG", name);
}

#else

#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include <png.h>

struct png {
  struct mafat_image_decoder base;
  png_structp png;
  png_infop info;
  bool started, out_of_memory;
  uint8_t *pixels; /* (height, width, channels) of an interlaced picture; else NULL */
  int next_row;
  uint8_t *row; /* row that read_row fills */

  jmp_buf escape; /* of guarded() */
  int code;       /* result of the current step */
  struct mafat_diagnostic *diagnostic;
};

/* ---- errors ---- */

static void give_up(struct png *png, int code) __attribute__((noreturn));
static void give_up(struct png *png, int code)
{
  png->code = code;
  longjmp(png->escape, 1);
}

static void on_error(png_structp p, png_const_charp reason) __attribute__((noreturn));
static void on_error(png_structp p, png_const_charp reason)
{
  struct png *png = png_get_error_ptr(p);
  int code = png->out_of_memory ? MAFAT_ENOMEM : MAFAT_EFORMAT;
  mafat_fail(png->diagnostic, code, "%s: %s PNG picture: %s", png->base.name,
             code == MAFAT_ENOMEM ? "cannot read this" : "damaged", reason);
  give_up(png, code);
}

static void on_warning(png_structp p, png_const_charp reason)
{
  (void)p, (void)reason;
}

/* Allocates memory for libpng. Records a failure, because libpng would report it only as text. */
static png_voidp allocate(png_structp p, png_alloc_size_t bytes)
{
  struct png *png = png_get_mem_ptr(p);
  void *block = malloc(bytes);
  if (!block) png->out_of_memory = true;
  return block;
}

static void release(png_structp p, png_voidp block)
{
  (void)p;
  free(block);
}

/* Runs a step, which calls libpng, and returns its error code. A step may end by longjmp, so
 * everything that it allocates must belong to libpng or to *png. */
static int guarded(struct png *png, void (*step)(struct png *),
                   struct mafat_diagnostic *d)
{
  png->diagnostic = d;
  png->code = MAFAT_OK;
  if (setjmp(png->escape) == 0) step(png);
  return png->code;
}

/* ---- input bytes ---- */

static void read_bytes(png_structp p, png_bytep bytes, size_t n)
{
  struct png *png = png_get_io_ptr(p);
  struct mafat_image_source *source = png->base.source;
  while (n > 0) {
    if (source->left == 0) {
      int code = mafat_image_source_check(source, png->base.name, png->diagnostic);
      if (code) give_up(png, code);
      int filled = mafat_image_source_fill(source);
      if (filled < 0) {
        mafat_fail(png->diagnostic, MAFAT_EIO, "%s: cannot read: %s", png->base.name,
                   strerror(errno));
        give_up(png, MAFAT_EIO);
      }
      if (filled == 0) {
        mafat_fail(
            png->diagnostic, MAFAT_EFORMAT,
            "%s: truncated PNG picture: the file ends after %lld bytes, before its IEND chunk",
            png->base.name, (long long)source->position);
        give_up(png, MAFAT_EFORMAT);
      }
    }
    size_t some = n < source->left ? n : source->left;
    memcpy(bytes, source->next, some);
    source->next += some;
    source->left -= some;
    bytes += some;
    n -= some;
  }
}

/* Finds the EXIF orientation before decoding, because its chunk (eXIf) may be after the pixels.
 * Goes through all chunks and reads 8 bytes of each. MAFAT_ECANCELED: the run was canceled. */
static int find_orientation(struct mafat_image_decoder *base, struct mafat_diagnostic *d)
{
  const struct mafat_image_source *source = base->source;
  enum { SIGNATURE_BYTES = 8, HEAD_BYTES = 8, CRC_BYTES = 4 };
  /* kept: offset up to which pages stay in the page cache, because they are read next */
  off_t at = SIGNATURE_BYTES, kept = MAFAT_IMAGE_FILE_WINDOW / 2;
  uint8_t head[HEAD_BYTES];
  int code = MAFAT_OK;
  while (code == MAFAT_OK &&
         mafat_image_source_peek(source->fd, at, head, sizeof head) == HEAD_BYTES) {
    kept = mafat_image_source_drop(source, kept, at);
    size_t length = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
    at += HEAD_BYTES;
    bool found = memcmp(head + 4, "eXIf", 4) == 0;
    if (found) base->orientation = mafat_image_exif_orientation(source->fd, at, length);
    if (found || memcmp(head + 4, "IEND", 4) == 0) break;
    at += (off_t)length + CRC_BYTES;
    code = mafat_image_source_check(source, base->name, d);
  }
  mafat_image_source_drop(source, kept, INT64_MAX);
  return code;
}

/* ---- steps ---- */

static void read_header(struct png *png)
{
  /* chunks that libpng would store or inflate, but that are not needed */
  static const png_byte ignored[] = "bKGD\0eXIf\0hIST\0iCCP\0iTXt\0oFFs\0pCAL\0sCAL\0"
                                    "sPLT\0tEXt\0tIME\0zTXt";
  png->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, png, on_error, on_warning,
                                      png, allocate, release);
  if (png->png) png->info = png_create_info_struct(png->png);
  if (!png->info) {
    mafat_fail(png->diagnostic, MAFAT_ENOMEM, "%s: out of memory", png->base.name);
    give_up(png, MAFAT_ENOMEM);
  }
  png_set_read_fn(png->png, png, read_bytes);
  png_set_user_limits(png->png, MAFAT_IMAGE_MAX_SIDE, MAFAT_IMAGE_MAX_SIDE);
  png_set_keep_unknown_chunks(png->png, PNG_HANDLE_CHUNK_NEVER, ignored, sizeof ignored / 5);
  png_read_info(png->png, png->info);
}

/* Starts decoding, with the same transformations in the same order as OpenCV. */
static void start(struct png *png)
{
  png_structp p = png->png;
  int colour = png_get_color_type(p, png->info);
  int depth = png_get_bit_depth(p, png->info);
  bool coloured = (colour & PNG_COLOR_MASK_COLOR) != 0;

  if (depth == 16) png_set_strip_16(p);
  png_set_strip_alpha(p);
  if (colour == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(p);
  if (!coloured && depth < 8) png_set_expand_gray_1_2_4_to_8(p);
  if (png->base.channels == 1)
    png_set_rgb_to_gray(p, PNG_ERROR_ACTION_NONE, 0.299, 0.587);
  else if (!coloured)
    png_set_gray_to_rgb(p);
  int passes = png_set_interlace_handling(p);
  png_read_update_info(p, png->info);

  size_t row_bytes = (size_t)png->base.width * (size_t)png->base.channels;
  if (png_get_rowbytes(p, png->info) != row_bytes) png_error(p, "unexpected row size");
  png->started = true;
  if (!png->base.whole) return;

  size_t height = (size_t)png->base.height;
  png->pixels = malloc(row_bytes * height);
  if (!png->pixels) {
    png->out_of_memory = true;
    png_error(p, "out of memory");
  }
  for (int pass = 0; pass < passes; pass++)
    for (size_t y = 0; y < height; y++)
      png_read_row(p, png->pixels + y * row_bytes, NULL);
}

static void read_row(struct png *png)
{
  png_read_row(png->png, png->row, NULL);
}

static void finish(struct png *png)
{
  png_read_end(png->png, NULL);
}

/* ---- decoder ---- */

static int png_read_next(struct mafat_image_decoder *base, uint8_t *row,
                         struct mafat_diagnostic *d)
{
  struct png *png = (struct png *)base;
  int code = MAFAT_OK;
  if (!png->started) code = guarded(png, start, d);
  if (code != MAFAT_OK) return code;
  if (base->whole) {
    size_t row_bytes = (size_t)base->width * (size_t)base->channels;
    memcpy(row, png->pixels + (size_t)png->next_row++ * row_bytes, row_bytes);
    return MAFAT_OK;
  }
  png->row = row;
  return guarded(png, read_row, d);
}

static int png_finish(struct mafat_image_decoder *base, struct mafat_diagnostic *d)
{
  return guarded((struct png *)base, finish, d);
}

static void png_close(struct mafat_image_decoder *base)
{
  struct png *png = (struct png *)base;
  if (png->png) png_destroy_read_struct(&png->png, &png->info, NULL);
  free(png->pixels);
  free(png);
}

static int describe(struct png *png, struct mafat_diagnostic *d)
{
  /* zlib's window and state, libpng's structs and input buffer, gamma tables: they were at most 63
   * kB in 1000 pictures of all kinds. */
  enum { TABLES = 80 * 1024 };
  /* libpng keeps two rows, in the worst case of 16-bit RGBA. */
  enum { ROWS = 2, PIXEL_BYTES = 8, ROW_SLACK = 128 };
  struct mafat_image_decoder *base = &png->base;
  int colour = png_get_color_type(png->png, png->info);

  base->format = "PNG";
  base->width = (int)png_get_image_width(png->png, png->info);
  base->height = (int)png_get_image_height(png->png, png->info);
  base->source_channels =
      colour == PNG_COLOR_TYPE_PALETTE ? 3 : png_get_channels(png->png, png->info);
  base->whole = png_get_interlace_type(png->png, png->info) != PNG_INTERLACE_NONE;
  size_t bytes = sizeof *png + TABLES + ROWS * ((size_t)base->width * PIXEL_BYTES + ROW_SLACK);
  size_t pixels = 0;
  if (base->whole &&
      (__builtin_mul_overflow((size_t)base->width, (size_t)base->height, &pixels) ||
       __builtin_mul_overflow(pixels, (size_t)base->channels, &pixels)))
    pixels = SIZE_MAX;
  if (__builtin_add_overflow(bytes, pixels, &bytes))
    return mafat_fail(
        d, MAFAT_ELIMIT,
        "%s: an interlaced PNG picture of %dx%d needs more memory than this machine can address",
        base->name, base->width, base->height);
  base->bytes = bytes;
  return find_orientation(base, d);
}

int mafat_image_png_open(struct mafat_image_decoder **out,
                         struct mafat_image_source *source, const char *name,
                         int channels, struct mafat_diagnostic *d)
{
  static const struct mafat_image_decoder_ops ops = {png_read_next, png_finish, png_close, NULL,
                                                     NULL};
  struct png *png = calloc(1, sizeof *png);
  if (!png) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", name);
  png->base = (struct mafat_image_decoder){
      .ops = &ops, .name = name, .source = source, .channels = channels, .orientation = 1};

  int code = guarded(png, read_header, d);
  if (code == MAFAT_OK) code = describe(png, d);
  if (code != MAFAT_OK) {
    png_close(&png->base);
    return code;
  }
  *out = &png->base;
  return MAFAT_OK;
}

#endif
