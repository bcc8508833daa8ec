/* Decodes PPM and PGM, plain (P2, P3) and raw (P5, P6), as OpenCV 4.6 does: only plain samples of
 * up to 8 bits are scaled by maxval. Called by runner/image/image.c, through struct
 * mafat_image_decoder_ops once it is open. Reads the file; allocates one struct, which closing
 * frees. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "runner/image/decoder.h"
#include "runner/image/image.h"

/* results of next_byte that are not bytes */
enum { END_OF_FILE = -1, READ_ERROR = -2, CANCELED = -3 };

struct ppm {
  struct mafat_image_decoder base;
  bool plain; /* samples are decimal numbers, not bytes */
  int maxval; /* greatest value of a sample, from the header */
};

static int next_byte(struct mafat_image_source *source)
{
  if (source->left == 0) {
    if (mafat_image_source_check(source, "", NULL)) return CANCELED;
    int filled = mafat_image_source_fill(source);
    if (filled <= 0) return filled < 0 ? READ_ERROR : END_OF_FILE;
  }
  source->left--;
  return *source->next++;
}

static bool is_space(int c)
{
  return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(int c)
{
  return c >= '0' && c <= '9';
}

/* Fails because next_byte returned c where a number was expected. */
static int fail_at(const struct mafat_image_decoder *base, int c,
                   struct mafat_diagnostic *d)
{
  long long at = (long long)(base->source->position - (off_t)base->source->left);
  if (c == CANCELED)
    return mafat_fail(d, MAFAT_ECANCELED, "%s: reading was canceled", base->name);
  if (c == READ_ERROR)
    return mafat_fail(d, MAFAT_EIO, "%s: cannot read: %s", base->name, strerror(errno));
  if (c == END_OF_FILE)
    return mafat_fail(d, MAFAT_EFORMAT,
                      "%s: truncated %s picture: the file ends after %lld bytes",
                      base->name, base->format, at);
  return mafat_fail(d, MAFAT_EFORMAT,
                    "%s: damaged %s picture: expected a number, found byte 0x%02x at offset %lld",
                    base->name, base->format, (unsigned)c, at - 1);
}

/* Skips white space and comments, then reads a decimal number and the byte after it. Numbers above
 * INT_MAX become INT_MAX. Returns MAFAT_OK or an error code. */
static int read_number(const struct mafat_image_decoder *base, int *value,
                       struct mafat_diagnostic *d)
{
  int c = next_byte(base->source);
  while (is_space(c) || c == '#') {
    if (c == '#')
      while (c >= 0 && c != '\n' && c != '\r') c = next_byte(base->source);
    else
      c = next_byte(base->source);
  }
  if (!is_digit(c)) return fail_at(base, c, d);
  int number = 0;
  for (; is_digit(c); c = next_byte(base->source)) {
    if (__builtin_mul_overflow(number, 10, &number) ||
        __builtin_add_overflow(number, c - '0', &number))
      number = INT_MAX;
  }
  if (c < END_OF_FILE) return fail_at(base, c, d);
  *value = number;
  return MAFAT_OK;
}

static int read_plain(struct ppm *ppm, uint8_t *samples, int n,
                      struct mafat_diagnostic *d)
{
  for (int i = 0; i < n; i++) {
    int value;
    int code = read_number(&ppm->base, &value, d);
    if (code != MAFAT_OK) return code;
    if (value > ppm->maxval) value = ppm->maxval;
    samples[i] = (uint8_t)(ppm->maxval > 255 ? value >> 8 : value * 255 / ppm->maxval);
  }
  return MAFAT_OK;
}

static int read_raw(struct ppm *ppm, uint8_t *samples, int n,
                    struct mafat_diagnostic *d)
{
  struct mafat_image_source *source = ppm->base.source;
  for (int i = 0; i < n;) {
    if (ppm->maxval <= 255 && source->left > 0) {
      size_t some = source->left < (size_t)(n - i) ? source->left : (size_t)(n - i);
      memcpy(samples + i, source->next, some);
      source->next += some;
      source->left -= some;
      i += (int)some;
      continue;
    }
    int high = next_byte(source);
    if (high < 0) return fail_at(&ppm->base, high, d);
    int low = ppm->maxval > 255 ? next_byte(source) : 0;
    if (low < 0) return fail_at(&ppm->base, low, d);
    samples[i++] = (uint8_t)high;
  }
  return MAFAT_OK;
}

static int ppm_read_row(struct mafat_image_decoder *base, uint8_t *row,
                        struct mafat_diagnostic *d)
{
  struct ppm *ppm = (struct ppm *)base;
  int width = base->width;
  bool widen = base->source_channels == 1 && base->channels == 3;
  uint8_t *samples = widen ? row + 2 * width : row;

  int n = width * base->source_channels;
  int code = ppm->plain ? read_plain(ppm, samples, n, d) : read_raw(ppm, samples, n, d);
  if (code != MAFAT_OK) return code;
  if (widen)
    for (int x = 0; x < width; x++)
      row[3 * x] = row[3 * x + 1] = row[3 * x + 2] = samples[x];
  if (base->source_channels == 3 && base->channels == 1)
    mafat_image_grey_row(row, row, width);
  return MAFAT_OK;
}

/* Checks nothing: a file may contain more pictures, which are ignored. */
static int ppm_finish(struct mafat_image_decoder *base, struct mafat_diagnostic *d)
{
  (void)base, (void)d;
  return MAFAT_OK;
}

static void ppm_close(struct mafat_image_decoder *base)
{
  free(base);
}

static int read_header(struct ppm *ppm, struct mafat_diagnostic *d)
{
  struct mafat_image_decoder *base = &ppm->base;
  base->source->window = MAFAT_IMAGE_PIXELS_WINDOW;
  (void)next_byte(base->source); /* the P */
  int kind = next_byte(base->source);
  ppm->plain = kind < '5';
  base->source_channels = kind == '3' || kind == '6' ? 3 : 1;
  base->format = base->source_channels == 3 ? "PPM" : "PGM";

  int code = read_number(base, &base->width, d);
  if (code == MAFAT_OK) code = read_number(base, &base->height, d);
  if (code == MAFAT_OK) code = read_number(base, &ppm->maxval, d);
  if (code != MAFAT_OK) return code;
  if (ppm->maxval < 1 || ppm->maxval > 65535)
    return mafat_fail(d, MAFAT_EFORMAT,
                      "%s: damaged %s picture: expected a maxval of 1 to 65535, found %d",
                      base->name, base->format, ppm->maxval);
  return MAFAT_OK;
}

int mafat_image_ppm_open(struct mafat_image_decoder **out,
                         struct mafat_image_source *source, const char *name,
                         int channels, struct mafat_diagnostic *d)
{
  static const struct mafat_image_decoder_ops ops = {ppm_read_row, ppm_finish, ppm_close, NULL,
                                                     NULL};
  struct ppm *ppm = calloc(1, sizeof *ppm);
  if (!ppm) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", name);
  ppm->base = (struct mafat_image_decoder){
      .ops = &ops, .name = name, .source = source, .channels = channels,
      .orientation = 1, .bytes = sizeof *ppm};

  int code = read_header(ppm, d);
  if (code != MAFAT_OK) {
    ppm_close(&ppm->base);
    return code;
  }
  *out = &ppm->base;
  return MAFAT_OK;
}
