/* Applies mean and scale to rows of pixels. Called by runner/image/image.c for each decoded line.
 * Touches only its arguments. */
#include "runner/image/pixel_rule.h"

/* A scale of 1 / 255, which is rounded to a float, counts as division by 255. The results differ at
 * most in the last bit, and users mean the division. */
bool mafat_pixel_rule_is_plain(const struct mafat_pixel_rule *r)
{
  if (r->swapped) return false;
  for (int c = 0; c < 3; c++)
    if (r->mean[c] < 0 || r->mean[c] > 0 || r->scale[c] < 1 / 255.f || r->scale[c] > 1 / 255.f)
      return false;
  return true;
}

/* Normalizes a byte, given as byte / 255. Multiplication by 255 gives the exact byte. */
static float normal(float of_255, float mean, float scale)
{
  return (of_255 * 255 - mean) * scale;
}

void mafat_pixel_rule_pad(const struct mafat_pixel_rule *r, int channels, float *pixel)
{
  bool plain = mafat_pixel_rule_is_plain(r);
  for (int c = 0; c < channels; c++)
    pixel[c] = plain ? r->pad / 255 : (r->pad - r->mean[c]) * r->scale[c];
}

static void swap(float *pixels, int n, size_t stride)
{
  for (int i = 0; i < n; i++, pixels += stride) {
    float red = pixels[0];
    pixels[0] = pixels[2];
    pixels[2] = red;
  }
}

/* Floats that a loop of constant length processes: a multiple of 1 and 3 channels, and of the 4
 * lanes of a vector. */
enum { RUN = 12 };

static void apply_run(const struct mafat_pixel_rule *r, float *restrict pixels, size_t n,
                      int channels)
{
  float mean[RUN], scale[RUN];
  for (int i = 0; i < RUN; i++) {
    mean[i] = r->mean[i % channels];
    scale[i] = r->scale[i % channels];
  }
  size_t i = 0;
  for (; i + RUN <= n; i += RUN)
    for (int k = 0; k < RUN; k++)
      pixels[i + (size_t)k] = normal(pixels[i + (size_t)k], mean[k], scale[k]);
  for (int k = 0; i < n; i++, k++) pixels[i] = normal(pixels[i], mean[k], scale[k]);
}

void mafat_pixel_rule_apply(const struct mafat_pixel_rule *r, float *pixels, int n, int channels,
                            size_t stride)
{
  if (r->swapped && channels == 3) swap(pixels, n, stride);
  if (stride == (size_t)channels) {
    apply_run(r, pixels, (size_t)n * stride, channels);
    return;
  }
  for (int i = 0; i < n; i++, pixels += stride)
    for (int c = 0; c < channels; c++) pixels[c] = normal(pixels[c], r->mean[c], r->scale[c]);
}
