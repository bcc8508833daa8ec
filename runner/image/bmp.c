/* Decodes uncompressed BMP pictures of 1, 4, 8, 16, 24 and 32 bits per pixel, as Darknet's reader
 * (stb_image) does. Rows are usually stored bottom up, so blocks of rows are read from the file's
 * end backwards. Called by runner/image/image.c, through struct mafat_image_decoder_ops once it is
 * open. Reads the file; allocates the decoder and one block of rows, which closing frees. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "runner/image/decoder.h"
#include "runner/image/image.h"

enum {
  FILE_HEADER = 14,
  CORE_HEADER = 12,    /* header of OS/2: sizes have 16 bits, and a colour has three bytes */
  INFO_HEADER = 40,
  MASKS = 12,          /* bytes of the masks of red, green and blue, after the info header */
  HEAD = FILE_HEADER + INFO_HEADER + MASKS,
  COLOURS = 256,
  BLOCK_BYTES = 32768  /* bytes of a block of rows, unless a single row is larger */
};

enum { BI_RGB = 0, BI_BITFIELDS = 3 };

struct bmp {
  struct mafat_image_decoder base;
  int bits;            /* bits per pixel */
  bool bottom_up;
  uint64_t pixels_at;  /* offset of the first stored row in the file */
  uint64_t stride;     /* bytes from a row to the next */
  uint32_t masks[3];   /* bits of red, green and blue, if a pixel has 16 or 32 bits */
  uint8_t colours[COLOURS][3]; /* palette (red, green, blue), if a pixel has at most 8 bits */
  int row;             /* next row to be returned, counted from the top */
  int first, n;        /* the block has n rows, from row `first` on, counted from the top */
  uint8_t *block;
};

static uint32_t u16(const uint8_t *p)
{
  return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static uint32_t u32(const uint8_t *p)
{
  return u16(p) | u16(p + 2) << 16;
}

static int damaged(const struct bmp *b, const char *what, struct mafat_diagnostic *d)
{
  return mafat_fail(d, MAFAT_EFORMAT, "%s: damaged BMP picture: %s", b->base.name, what);
}

/* Reads n bytes at offset `at` of the file. Fails if it ends before. */
static int read_at(const struct bmp *b, uint64_t at, uint8_t *bytes, size_t n,
                   struct mafat_diagnostic *d)
{
  ssize_t got = mafat_image_source_peek(b->base.source->fd, (off_t)at, bytes, n);
  if (got < 0)
    return mafat_fail(d, MAFAT_EIO, "%s: cannot read: %s", b->base.name, strerror(errno));
  if ((size_t)got < n)
    return mafat_fail(d, MAFAT_EFORMAT, "%s: truncated BMP picture: the file ends after %llu bytes",
                      b->base.name, (unsigned long long)at + (unsigned long long)got);
  return MAFAT_OK;
}

/* ---- rows ---- */

static int rows_per_block(const struct bmp *b)
{
  return b->stride < BLOCK_BYTES ? (int)(BLOCK_BYTES / b->stride) : 1;
}

/* Reads the block that begins with the next row. If the file is large, drops the block's pages from
 * the page cache, because no row is read twice. */
static int read_block(struct bmp *b, struct mafat_diagnostic *d)
{
  struct mafat_image_source *source = b->base.source;
  int left = b->base.height - b->row, n = rows_per_block(b) < left ? rows_per_block(b) : left;
  int stored = b->bottom_up ? b->base.height - b->row - n : b->row;
  uint64_t at = b->pixels_at + (uint64_t)stored * b->stride;
  int code = mafat_image_source_check(source, b->base.name, d);
  if (code == MAFAT_OK) code = read_at(b, at, b->block, (size_t)n * b->stride, d);
  if (code) return code;
  if (source->opened.bytes > (uint64_t)source->window)
    posix_fadvise(source->fd, (off_t)at, (off_t)((uint64_t)n * b->stride), POSIX_FADV_DONTNEED);
  b->first = b->row;
  b->n = n;
  return MAFAT_OK;
}

/* Returns the bits of a pixel that are in a mask, scaled to 0 ... 255. For example, 31 in a mask of
 * 5 bits gives 255. */
static uint8_t masked(uint32_t pixel, uint32_t mask)
{
  if (!mask) return 0;
  int shift = __builtin_ctz(mask);
  uint64_t most = mask >> shift;
  return (uint8_t)(((pixel & mask) >> shift) * (uint64_t)255 / most);
}

static void put_indexed(const struct bmp *b, const uint8_t *stored, uint8_t *rgb)
{
  unsigned last = (1u << b->bits) - 1, per_byte = 8 / (unsigned)b->bits;
  for (unsigned x = 0; x < (unsigned)b->base.width; x++, rgb += 3) {
    unsigned shift = 8 - (unsigned)b->bits * (x % per_byte + 1);
    memcpy(rgb, b->colours[stored[x / per_byte] >> shift & last], 3);
  }
}

static void put_row(const struct bmp *b, const uint8_t *stored, uint8_t *rgb)
{
  if (b->bits <= 8) {
    put_indexed(b, stored, rgb);
    return;
  }
  for (int x = 0; x < b->base.width; x++, rgb += 3, stored += b->bits / 8) {
    if (b->bits == 24) {
      rgb[0] = stored[2], rgb[1] = stored[1], rgb[2] = stored[0];
      continue;
    }
    uint32_t pixel = b->bits == 16 ? u16(stored) : u32(stored);
    for (int c = 0; c < 3; c++) rgb[c] = masked(pixel, b->masks[c]);
  }
}

static int bmp_read_row(struct mafat_image_decoder *base, uint8_t *row, struct mafat_diagnostic *d)
{
  struct bmp *b = (struct bmp *)base;
  if (b->row >= b->first + b->n) {
    int code = read_block(b, d);
    if (code) return code;
  }
  int in_block = b->row - b->first, stored = b->bottom_up ? b->n - 1 - in_block : in_block;
  put_row(b, b->block + (size_t)stored * b->stride, row);
  if (base->channels == 1) mafat_image_grey_row(row, row, base->width);
  b->row++;
  return MAFAT_OK;
}

static int bmp_finish(struct mafat_image_decoder *base, struct mafat_diagnostic *d)
{
  (void)base, (void)d;
  return MAFAT_OK;
}

static void bmp_close(struct mafat_image_decoder *base)
{
  free(((struct bmp *)base)->block);
  free(base);
}

/* ---- header ---- */

/* Sets width, height, stride and the order of rows from the header's sizes. */
static int take_size(struct bmp *b, int32_t width, int32_t height, struct mafat_diagnostic *d)
{
  b->bottom_up = height > 0;
  if (width < 1 || height == 0 || height == INT32_MIN)
    return damaged(b, "expected a width and a height", d);
  b->base.width = width;
  b->base.height = height < 0 ? -height : height;
  b->stride = ((uint64_t)width * (uint64_t)b->bits + 31) / 32 * 4;
  return MAFAT_OK;
}

/* Sets the masks for pixels of 16 or 32 bits: the file's own, or else 5 or 8 bits for each
 * colour. */
static void take_masks(struct bmp *b, const uint8_t *head, uint32_t compression)
{
  static const uint32_t usual[2][3] = {{0x7c00, 0x3e0, 0x1f}, {0xff0000, 0xff00, 0xff}};
  memcpy(b->masks, usual[b->bits == 32], sizeof b->masks);
  if (compression == BI_BITFIELDS)
    for (int c = 0; c < 3; c++) b->masks[c] = u32(head + FILE_HEADER + INFO_HEADER + 4 * c);
}

/* Reads the palette, which is between header and pixels and stores blue first. Colours that the
 * file does not have are black. */
static int read_colours(struct bmp *b, uint64_t at, size_t bytes_each, struct mafat_diagnostic *d)
{
  uint8_t stored[COLOURS * 4];
  uint64_t n = b->pixels_at > at ? (b->pixels_at - at) / bytes_each : 0;
  if (b->bits > 8) return MAFAT_OK;
  if (n > 1u << b->bits) n = 1u << b->bits;
  int code = read_at(b, at, stored, (size_t)n * bytes_each, d);
  for (size_t i = 0; i < n && code == MAFAT_OK; i++)
    for (int c = 0; c < 3; c++) b->colours[i][c] = stored[i * bytes_each + 2 - (size_t)c];
  return code;
}

static int read_header(struct bmp *b, struct mafat_diagnostic *d)
{
  uint8_t head[HEAD] = {0};
  ssize_t got = mafat_image_source_peek(b->base.source->fd, 0, head, sizeof head);
  uint32_t header = u32(head + FILE_HEADER), compression = 0;
  bool core = header == CORE_HEADER;
  if (got < FILE_HEADER + CORE_HEADER || (!core && (header < INFO_HEADER || got < HEAD - MASKS)))
    return damaged(b, "expected a header of 12, or of 40 bytes or more", d);
  b->pixels_at = u32(head + 10);
  b->bits = (int)u16(head + FILE_HEADER + (core ? 10 : 14));
  if (b->bits != 1 && b->bits != 4 && b->bits != 8 && b->bits != 16 && b->bits != 24 &&
      b->bits != 32)
    return damaged(b, "expected 1, 4, 8, 16, 24 or 32 bits per pixel", d);
  if (!core) compression = u32(head + FILE_HEADER + 16);
  if (compression != BI_RGB && !(compression == BI_BITFIELDS && b->bits >= 16))
    return mafat_fail(d, MAFAT_EUNSUPPORTED,
                      "%s: expected an uncompressed BMP picture, found compression %u; ImageMagick "
                      "converts it: convert FILE picture.png",
                      b->base.name, compression);
  take_masks(b, head, compression);
  int code = core ? take_size(b, (int32_t)u16(head + 18), (int32_t)u16(head + 20), d)
                  : take_size(b, (int32_t)u32(head + 18), (int32_t)u32(head + 22), d);
  if (code) return code;
  return read_colours(b, FILE_HEADER + (uint64_t)header, core ? 3 : 4, d);
}

/* Checks that all rows are within the file, before anything is allocated for them. */
static int check_rows(const struct bmp *b, struct mafat_diagnostic *d)
{
  uint64_t end = b->pixels_at + b->stride * (uint64_t)b->base.height;
  if (end <= b->base.source->opened.bytes) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EFORMAT,
                    "%s: truncated BMP picture: expected %llu bytes, found %llu", b->base.name,
                    (unsigned long long)end, (unsigned long long)b->base.source->opened.bytes);
}

static int allocate_block(struct bmp *b, struct mafat_diagnostic *d)
{
  size_t bytes = (size_t)rows_per_block(b) * b->stride;
  b->base.bytes = sizeof *b + bytes;
  b->block = malloc(bytes);
  return b->block ? MAFAT_OK : mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", b->base.name);
}

int mafat_image_bmp_open(struct mafat_image_decoder **out, struct mafat_image_source *source,
                         const char *name, int channels, struct mafat_diagnostic *d)
{
  static const struct mafat_image_decoder_ops ops = {bmp_read_row, bmp_finish, bmp_close, NULL,
                                                     NULL};
  struct bmp *b = calloc(1, sizeof *b);
  if (!b) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", name);
  b->base = (struct mafat_image_decoder){
      .ops = &ops, .name = name, .source = source, .channels = channels,
      .source_channels = 3, .orientation = 1, .format = "BMP"};
  source->window = MAFAT_IMAGE_PIXELS_WINDOW;
  int code = read_header(b, d);
  if (code == MAFAT_OK) code = check_rows(b, d);
  if (code == MAFAT_OK) code = allocate_block(b, d);
  if (code) {
    bmp_close(&b->base);
    return code;
  }
  *out = &b->base;
  return MAFAT_OK;
}
