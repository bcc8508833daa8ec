/* Decoder of pictures that are in memory as rows of interleaved bytes. Returns the same rows as for
 * a PPM or PGM file of the same bytes. Called by runner/image/image.c, through struct
 * mafat_image_decoder_ops once it is open. Reads the caller's bytes; allocates one struct, which
 * closing frees. */
#include <stdlib.h>
#include <string.h>

#include "runner/image/decoder.h"
#include "runner/image/image.h"

struct pixel_decoder {
  struct mafat_image_decoder base;
  struct mafat_image_pixels from;
  int next_row;
};

static int pixels_read_row(struct mafat_image_decoder *base, uint8_t *row,
                           struct mafat_diagnostic *d)
{
  struct pixel_decoder *p = (struct pixel_decoder *)base;
  const uint8_t *from = p->from.bytes + (size_t)p->next_row++ * p->from.stride;
  int width = base->width, channels = p->from.channels;
  (void)d;
  if (channels == base->channels) {
    memcpy(row, from, (size_t)width * (size_t)channels);
    return MAFAT_OK;
  }
  if (channels == 1)
    for (int x = 0; x < width; x++) memset(row + 3 * x, from[x], 3);
  else
    for (int x = 0; x < width; x++) memcpy(row + 3 * x, from + (size_t)x * (size_t)channels, 3);
  if (base->channels == 1) mafat_image_grey_row(row, row, width);
  return MAFAT_OK;
}

static int pixels_finish(struct mafat_image_decoder *base, struct mafat_diagnostic *d)
{
  (void)base, (void)d;
  return MAFAT_OK;
}

static void pixels_close(struct mafat_image_decoder *base)
{
  free(base);
}

int mafat_image_pixels_open(struct mafat_image_decoder **out, const struct mafat_image_pixels *from,
                            const char *name, int channels, struct mafat_diagnostic *d)
{
  static const struct mafat_image_decoder_ops ops = {pixels_read_row, pixels_finish, pixels_close,
                                                     NULL, NULL};
  struct pixel_decoder *p = calloc(1, sizeof *p);
  if (!p) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", name);
  p->from = *from;
  p->base = (struct mafat_image_decoder){
      .ops = &ops, .name = name, .width = from->width, .height = from->height, .channels = channels,
      .source_channels = from->channels, .orientation = 1, .format = "pixels", .bytes = sizeof *p};
  *out = &p->base;
  return MAFAT_OK;
}
