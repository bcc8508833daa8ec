/* Writes JPEG, PNG, PPM and BMP test pictures, or any bytes, to files. Called by suites that need
 * pictures and by the oracle. */
#include "tests/support/picture_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jpeglib.h>
#include <png.h>

unsigned picture_sample(int x, int y, int k)
{
  unsigned noise =
      (unsigned)x * 2654435761u ^ (unsigned)y * 2246822519u ^ (unsigned)k * 3266489917u;
  noise = (noise ^ noise >> 15) * 2246822519u;
  unsigned wave = (unsigned)(x * (300 + 170 * k) + y * (410 - 130 * k)) & 0x1ffff;
  if (wave > 0xffff) wave = 0x1ffff - wave;
  return (wave * 7 + (noise >> 16)) / 8;
}

static FILE *open_or_die(const char *path, const char *mode)
{
  /* If a program truncates a file and writes it again, ext4 writes it to the disk when it is
   * closed, which takes milliseconds. A new file avoids this. */
  if (*mode == 'w') unlink(path);
  FILE *file = fopen(path, mode);
  if (!file) {
    perror(path);
    abort();
  }
  return file;
}

static void *allocate_or_die(size_t n)
{
  void *block = malloc(n);
  if (!block) abort();
  return block;
}

/* Writes a TIFF block with two tags, and returns its size. The tags are the maker's name, stored
 * outside the directory, and the orientation. */
static size_t make_exif(uint8_t *out, int orientation, bool big_endian)
{
  const uint16_t shorts[][2] = {/* offset, value */
                                {8, 2},        {10, 0x010f}, {12, 2},  {22, 0x0112},
                                {24, 3},       {2, 42},      {30, (uint16_t)orientation}};
  const uint16_t longs[][2] = {{4, 8}, {14, 6}, {18, 38}, {26, 1}, {34, 0}};
  enum { SIZE = 44 };
  memset(out, 0, SIZE);
  memset(out, big_endian ? 'M' : 'I', 2);
  for (size_t i = 0; i < sizeof shorts / sizeof *shorts; i++) {
    uint8_t *p = out + shorts[i][0];
    p[big_endian ? 1 : 0] = (uint8_t)shorts[i][1];
    p[big_endian ? 0 : 1] = (uint8_t)(shorts[i][1] >> 8);
  }
  for (size_t i = 0; i < sizeof longs / sizeof *longs; i++)
    out[longs[i][0] + (big_endian ? 3 : 0)] = (uint8_t)longs[i][1];
  memcpy(out + 38, "maker", 6);
  return SIZE;
}

static int jpeg_channels(enum jpeg_colours colours)
{
  return colours == JPEG_GREY ? 1 : colours >= JPEG_CMYK ? 4 : 3;
}

static void set_jpeg_colours(struct jpeg_compress_struct *cinfo, enum jpeg_colours colours)
{
  static const J_COLOR_SPACE spaces[][2] = {/* given to libjpeg, stored */
                                            [JPEG_GREY] = {JCS_GRAYSCALE, JCS_GRAYSCALE},
                                            [JPEG_YCC] = {JCS_RGB, JCS_YCbCr},
                                            [JPEG_RGB] = {JCS_RGB, JCS_RGB},
                                            [JPEG_CMYK] = {JCS_CMYK, JCS_CMYK},
                                            [JPEG_YCCK] = {JCS_CMYK, JCS_YCCK}};
  cinfo->input_components = jpeg_channels(colours);
  cinfo->in_color_space = spaces[colours][0];
  jpeg_set_defaults(cinfo);
  jpeg_set_colorspace(cinfo, spaces[colours][1]);
}

void picture_write_jpeg(const char *path, int width, int height, const struct jpeg_style *style)
{
  FILE *file = open_or_die(path, "wb");
  struct jpeg_compress_struct cinfo;
  struct jpeg_error_mgr errors;
  cinfo.err = jpeg_std_error(&errors);
  jpeg_create_compress(&cinfo);
  jpeg_stdio_dest(&cinfo, file);
  cinfo.image_width = (JDIMENSION)width;
  cinfo.image_height = (JDIMENSION)height;
  set_jpeg_colours(&cinfo, style->colours);
  jpeg_set_quality(&cinfo, 90, TRUE);
  for (int i = 0; i < cinfo.num_components; i++) {
    bool luma = i == 0 || i == 3;
    cinfo.comp_info[i].h_samp_factor = luma && style->h && cinfo.num_components > 1 ? style->h : 1;
    cinfo.comp_info[i].v_samp_factor = luma && style->v && cinfo.num_components > 1 ? style->v : 1;
  }
  cinfo.arith_code = style->arithmetic;
  cinfo.restart_in_rows = style->restart_rows;
  if (style->progressive) jpeg_simple_progression(&cinfo);
  jpeg_start_compress(&cinfo, TRUE);

  if (style->xmp_first) {
    static const char xmp[] = "http://ns.adobe.com/xap/1.0/\0<x:xmpmeta/>";
    jpeg_write_marker(&cinfo, JPEG_APP0 + 1, (const JOCTET *)xmp, sizeof xmp);
  }
  if (style->orientation) {
    uint8_t exif[64] = "Exif\0";
    size_t n = 6 + make_exif(exif + 6, style->orientation, style->big_endian);
    jpeg_write_marker(&cinfo, JPEG_APP0 + 1, exif, (unsigned)n);
  }

  int channels = jpeg_channels(style->colours);
  uint8_t *row = allocate_or_die((size_t)width * (size_t)channels);
  for (int y = 0; y < height; y++) {
    for (int i = 0; i < width * channels; i++)
      row[i] = (uint8_t)(picture_sample(i / channels, y, i % channels) >> 8);
    jpeg_write_scanlines(&cinfo, &row, 1);
  }
  jpeg_finish_compress(&cinfo);
  jpeg_destroy_compress(&cinfo);
  free(row);
  fclose(file);
}

static int png_channels(int colour)
{
  return colour == PNG_COLOR_TYPE_RGB          ? 3
         : colour == PNG_COLOR_TYPE_RGB_ALPHA  ? 4
         : colour == PNG_COLOR_TYPE_GRAY_ALPHA ? 2
                                               : 1;
}

static void set_png_chunks(png_structp png, png_infop info, const struct png_style *style)
{
  if (style->colour == PNG_COLOR_TYPE_PALETTE) {
    png_color palette[256];
    for (int i = 0; i < 256; i++)
      palette[i] = (png_color){(png_byte)(i * 7), (png_byte)(255 - i), (png_byte)(i * 3 + 90)};
    png_set_PLTE(png, info, palette, 1 << style->depth);
  }
  if (style->transparency) {
    png_byte alphas[2] = {0, 100};
    png_color_16 colour = {1, 100, 100, 100, 1};
    png_set_tRNS(png, info, alphas, 2, &colour);
  }
  if (style->gamma) png_set_gAMA(png, info, 1 / 2.2);
}

static void pack_png_row(uint8_t *row, int width, int y, const struct png_style *style)
{
  int channels = png_channels(style->colour), depth = style->depth;
  memset(row, 0, (size_t)width * (size_t)channels * 2);
  for (int i = 0; i < width * channels; i++) {
    unsigned sample = picture_sample(i / channels, y, i % channels);
    if (depth == 16) {
      row[2 * i] = (uint8_t)(sample >> 8);
      row[2 * i + 1] = (uint8_t)sample;
    } else {
      row[i * depth / 8] |= (uint8_t)(sample >> (16 - depth) << (8 - depth - i * depth % 8));
    }
  }
}

void picture_write_png(const char *path, int width, int height, const struct png_style *style)
{
  FILE *file = open_or_die(path, "wb");
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
  png_infop info = png_create_info_struct(png), after = png_create_info_struct(png);
  if (!png || !info || !after || setjmp(png_jmpbuf(png))) abort();
  png_init_io(png, file);
  png_set_IHDR(png, info, (png_uint_32)width, (png_uint_32)height, style->depth, style->colour,
               style->interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  set_png_chunks(png, info, style);
  uint8_t exif[64];
  if (style->orientation) {
    size_t n = make_exif(exif, style->orientation, false);
    png_set_eXIf_1(png, style->exif_after ? after : info, (png_uint_32)n, exif);
  }
  png_set_compression_level(png, 1);
  png_write_info(png, info);
  size_t row_bytes = (size_t)width * (size_t)png_channels(style->colour) * 2;
  uint8_t *row = allocate_or_die(row_bytes);
  for (int pass = png_set_interlace_handling(png); pass > 0; pass--)
    for (int y = 0; y < height; y++) {
      pack_png_row(row, width, y, style);
      png_write_row(png, row);
    }
  png_write_end(png, after);
  png_destroy_info_struct(png, &after);
  png_destroy_write_struct(&png, &info);
  free(row);
  fclose(file);
}

void picture_write_ppm(const char *path, int width, int height, char kind, int maxval)
{
  FILE *file = open_or_die(path, "wb");
  int channels = kind == '3' || kind == '6' ? 3 : 1;
  fprintf(file, "P%c\n# a comment\n%d # another\n %d\n%d\n", kind, width, height, maxval);
  for (int y = 0; y < height; y++)
    for (int i = 0; i < width * channels; i++) {
      unsigned sample = picture_sample(i / channels, y, i % channels);
      sample = sample * ((unsigned)maxval + 1) >> 16;
      if (kind < '5') {
        fprintf(file, "%u%s", sample, i % 11 == 10 ? "\n" : " ");
      } else {
        if (maxval > 255) putc((int)(sample >> 8), file);
        putc((int)(sample & 255), file);
      }
    }
  fclose(file);
}

static void put_little(FILE *file, unsigned value, int bytes)
{
  for (; bytes > 0; bytes--, value >>= 8) putc((int)(value & 255), file);
}

/* Returns the bits of a pixel; with 4 or 8 bits, the index of its grey. */
static unsigned bmp_pixel(const struct bmp_style *s, int x, int y)
{
  unsigned c[3];
  for (int k = 0; k < 3; k++) c[k] = picture_sample(x, y, k);
  if (s->bits <= 8) return c[0] >> (16 - s->bits);
  if (s->bits == 16 && s->masks) return c[0] >> 11 << 11 | c[1] >> 10 << 5 | c[2] >> 11;
  if (s->bits == 16) return c[0] >> 11 << 10 | c[1] >> 11 << 5 | c[2] >> 11;
  if (s->masks) return c[2] >> 8 << 16 | c[1] >> 8 << 8 | c[0] >> 8;
  return c[0] >> 8 << 16 | c[1] >> 8 << 8 | c[2] >> 8;
}

static void put_bmp_row(FILE *file, int width, int y, const struct bmp_style *s)
{
  long start = ftell(file);
  for (int x = 0; x < width; x++) {
    unsigned pixel = bmp_pixel(s, x, y);
    /* written together with the next pixel */
    if (s->bits == 4 && x % 2 == 0 && x + 1 < width) continue;
    if (s->bits == 4)
      pixel = x % 2 ? bmp_pixel(s, x - 1, y) << 4 | pixel : pixel << 4;
    put_little(file, pixel, s->bits <= 8 ? 1 : s->bits / 8);
  }
  while ((ftell(file) - start) % 4) putc(0, file);
}

void picture_write_bmp(const char *path, int width, int height, const struct bmp_style *s)
{
  FILE *file = open_or_die(path, "wb");
  unsigned colours = s->bits <= 8 ? 1u << s->bits : 0, header = s->core ? 12 : 40;
  unsigned before = 14 + header + (s->masks ? 12 : 0) + colours * (s->core ? 3 : 4);
  fputs("BM", file);
  put_little(file, 0, 8);
  put_little(file, before, 4);
  put_little(file, header, 4);
  put_little(file, (unsigned)width, s->core ? 2 : 4);
  put_little(file, (unsigned)(s->top_down ? -height : height), s->core ? 2 : 4);
  put_little(file, 1, 2);
  put_little(file, (unsigned)s->bits, 2);
  if (!s->core) {
    put_little(file, s->masks ? 3 : 0, 4);
    for (int i = 0; i < 5; i++) put_little(file, 0, 4);
  }
  static const unsigned masks[2][3] = {{0xf800, 0x7e0, 0x1f}, {0xff, 0xff00, 0xff0000}};
  for (int k = 0; s->masks && k < 3; k++) put_little(file, masks[s->bits == 32][k], 4);
  for (unsigned i = 0; i < colours; i++)
    put_little(file, i * 255 / (colours - 1) * 0x10101, s->core ? 3 : 4);
  for (int y = 0; y < height; y++) put_bmp_row(file, width, s->top_down ? y : height - 1 - y, s);
  fclose(file);
}

void picture_write_bytes(const char *path, const void *bytes, size_t n)
{
  FILE *file = open_or_die(path, "wb");
  if (fwrite(bytes, 1, n, file) != n || fclose(file) != 0) abort();
}

uint8_t *picture_read_bytes(const char *path, size_t *n)
{
  FILE *file = open_or_die(path, "rb");
  fseek(file, 0, SEEK_END);
  *n = (size_t)ftell(file);
  rewind(file);
  uint8_t *bytes = allocate_or_die(*n + 1);
  if (fread(bytes, 1, *n, file) != *n) abort();
  fclose(file);
  return bytes;
}
