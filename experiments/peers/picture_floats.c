/* Writes a JPEG, stretched to a size, as raw floats (value - mean) * scale, so that all programs
 * get the same input. Started by model_works.py.
 *     picture_floats [--mean X] [--scale X] [--bgr] [--channels-last] PICTURE.jpg WIDTH HEIGHT
 *     CHANNELS OUT.raw
 * The order is channels, rows, columns, or with --channels-last rows, columns, channels. With
 * one channel, the values are the picture's brightness. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

struct request {
  float mean, scale;
  int is_bgr, is_channels_last;
  const char *picture, *out;
  int w, h, c;
};

struct picture {
  unsigned char *pixels; /* (h, w, c) */
  int w, h, c;
};

static void fail(const char *what)
{
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static struct picture read_jpeg(const char *path, int n_channels)
{
  struct jpeg_decompress_struct jpeg;
  struct jpeg_error_mgr errors;
  struct picture picture;
  FILE *file = fopen(path, "rb");
  if (!file) fail("cannot read the picture");
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&jpeg);
  jpeg_stdio_src(&jpeg, file);
  jpeg_read_header(&jpeg, TRUE);
  jpeg.out_color_space = n_channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_start_decompress(&jpeg);
  picture = (struct picture){NULL, (int)jpeg.output_width, (int)jpeg.output_height, n_channels};
  picture.pixels = malloc((size_t)picture.w * (size_t)picture.h * (size_t)n_channels);
  if (!picture.pixels) fail("no memory");
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row =
        picture.pixels + (size_t)jpeg.output_scanline * (size_t)picture.w * (size_t)n_channels;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_destroy_decompress(&jpeg);
  fclose(file);
  return picture;
}

/* Maps the centre of pixel i of n to an axis of n_from pixels. The result is between the
 * returned pixel and the next, at fraction *part of the distance. */
static int place(int i, int n, int n_from, float *part)
{
  float at = ((float)i + 0.5f) * (float)n_from / (float)n - 0.5f;
  at = at < 0 ? 0 : at > (float)(n_from - 1) ? (float)(n_from - 1) : at;
  *part = at - (float)(int)at;
  return (int)at;
}

static float sample(const struct picture *p, const struct request *request, int y, int x, int c)
{
  float dy, dx, sum = 0;
  int y0 = place(y, request->h, p->h, &dy), x0 = place(x, request->w, p->w, &dx);
  int channel = request->is_bgr ? p->c - 1 - c : c;
  for (int k = 0; k < 4; k++) {
    int from_y = y0 + (k / 2 && y0 + 1 < p->h), from_x = x0 + (k % 2 && x0 + 1 < p->w);
    float weight = (k / 2 ? dy : 1 - dy) * (k % 2 ? dx : 1 - dx);
    sum +=
        weight * (float)p->pixels[((size_t)from_y * (size_t)p->w + (size_t)from_x) * (size_t)p->c +
                                  (size_t)channel];
  }
  return (sum - request->mean) * request->scale;
}

static void write_floats(const struct request *request, const struct picture *picture)
{
  int n[3] = {request->c, request->h, request->w}, i[3];
  FILE *file = fopen(request->out, "wb");
  if (request->is_channels_last) n[0] = request->h, n[1] = request->w, n[2] = request->c;
  for (i[0] = 0; file && i[0] < n[0]; i[0]++)
    for (i[1] = 0; i[1] < n[1]; i[1]++)
      for (i[2] = 0; i[2] < n[2]; i[2]++) {
        float value = request->is_channels_last ? sample(picture, request, i[0], i[1], i[2])
                                             : sample(picture, request, i[1], i[2], i[0]);
        if (fwrite(&value, sizeof value, 1, file) != 1) fail("cannot write the floats");
      }
  if (!file || fclose(file) != 0) fail("cannot write the floats");
}

static struct request read_options(int argc, char **argv)
{
  struct request request = {.mean = 0, .scale = 1};
  int i = 1;
  for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
    if (strcmp(argv[i], "--bgr") == 0) request.is_bgr = 1;
    else if (strcmp(argv[i], "--channels-last") == 0) request.is_channels_last = 1;
    else if (strcmp(argv[i], "--mean") == 0 && i + 1 < argc) request.mean = strtof(argv[++i], NULL);
    else if (strcmp(argv[i], "--scale") == 0 && i + 1 < argc)
      request.scale = strtof(argv[++i], NULL);
    else fail("expected --mean X, --scale X, --bgr, --channels-last");
  }
  if (argc - i != 5) fail("expected PICTURE.jpg WIDTH HEIGHT CHANNELS OUT.raw");
  request.picture = argv[i];
  request.w = atoi(argv[i + 1]);
  request.h = atoi(argv[i + 2]);
  request.c = atoi(argv[i + 3]);
  request.out = argv[i + 4];
  if (request.w < 1 || request.h < 1 || (request.c != 1 && request.c != 3))
    fail("expected a size, and 1 or 3 channels");
  return request;
}

int main(int argc, char **argv)
{
  struct request request = read_options(argc, argv);
  struct picture picture = read_jpeg(request.picture, request.c);
  write_floats(&request, &picture);
  free(picture.pixels);
  return 0;
}
