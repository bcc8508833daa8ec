/* Pixel normalization before a network: (byte - mean) * scale for each channel, applied in place to
 * each row. Touches nothing but its arguments. Included by image.h. */
#ifndef MAFAT_RUNNER_IMAGE_PIXEL_RULE_H
#define MAFAT_RUNNER_IMAGE_PIXEL_RULE_H

#include <stdbool.h>
#include <stddef.h>

struct mafat_pixel_rule {
  bool swapped;   /* channel order is blue, green, red */
  /* subtracted from bytes, in the order of the network's channels; grey uses the first */
  float mean[3];
  float scale[3];
  float pad;      /* byte value of padding pixels */
};

/* True if the rule is bytes / 255, which the kernels apply without it. */
bool mafat_pixel_rule_is_plain(const struct mafat_pixel_rule *r);

/* Computes the padding pixel: r->pad in every channel, normalized. */
void mafat_pixel_rule_pad(const struct mafat_pixel_rule *r, int channels, float *pixel);

/* Normalizes n pixels, `stride` floats apart. Before, they are byte / 255, red first; they may be
 * interpolated. */
void mafat_pixel_rule_apply(const struct mafat_pixel_rule *r, float *pixels, int n, int channels,
                            size_t stride);

#endif
