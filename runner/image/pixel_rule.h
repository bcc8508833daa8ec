/* Pixel normalization on the way into a network: (byte - mean) * scale per channel, applied in
 * place to each row. Pure. Included by image.h. */
#ifndef MAFAT_RUNNER_IMAGE_PIXEL_RULE_H
#define MAFAT_RUNNER_IMAGE_PIXEL_RULE_H

#include <stdbool.h>
#include <stddef.h>

struct mafat_pixel_rule {
  bool swapped;   /* channel order is blue, green, red */
  /* subtracted from bytes, in the order of the input's channels; grey uses the first */
  float mean[3];
  float scale[3];
  float pad;      /* byte value of padding pixels */
};

/* True if the rule equals bytes / 255, which the kernels already apply. */
bool mafat_pixel_rule_is_plain(const struct mafat_pixel_rule *r);

/* Computes the padding pixel: r->pad in every channel, normalized. */
void mafat_pixel_rule_pad(const struct mafat_pixel_rule *r, int channels, float *pixel);

/* Normalizes n pixels that hold byte / 255, red first, `stride` floats apart. Interpolated values
 * between bytes are treated alike. */
void mafat_pixel_rule_apply(const struct mafat_pixel_rule *r, float *pixels, int n, int channels,
                            size_t stride);

#endif
