/* Normalization of pixels for a network: (byte - mean) * scale for each channel, applied in place
 * to each row. Touches only its arguments. Included by image.h, through which api and runner/detect
 * use it. */
#ifndef MAFAT_RUNNER_IMAGE_PIXEL_RULE_H
#define MAFAT_RUNNER_IMAGE_PIXEL_RULE_H

#include <stdbool.h>
#include <stddef.h>

struct mafat_pixel_rule {
  bool swapped;   /* the network's channels are blue, green, red; else red, green, blue */
  /* for each of the network's channels, in their order; a grey network uses the first */
  float mean[3];  /* subtracted from the byte */
  float scale[3]; /* factor of the difference */
  float pad;      /* byte value of padding pixels */
};

/* True if the rule is byte / 255, which the kernels that decode pixels already do. */
bool mafat_pixel_rule_is_plain(const struct mafat_pixel_rule *r);

/* Sets `pixel` to the normalized value of padding: r->pad in every channel. */
void mafat_pixel_rule_pad(const struct mafat_pixel_rule *r, int channels, float *pixel);

/* Normalizes n pixels, which are `stride` floats apart. Before the call their channels are red,
 * green, blue, each byte / 255 or interpolated between such values. */
void mafat_pixel_rule_apply(const struct mafat_pixel_rule *r, float *pixels, int n, int channels,
                            size_t stride);

#endif
