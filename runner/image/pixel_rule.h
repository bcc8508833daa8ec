/* What becomes of a picture's pixels on their way into a network: (byte - mean) * scale, channel by channel, in rows as
 * they are made, where they lie. */
#ifndef MAFAT_RUNNER_IMAGE_PIXEL_RULE_H
#define MAFAT_RUNNER_IMAGE_PIXEL_RULE_H

#include <stdbool.h>
#include <stddef.h>

struct mafat_pixel_rule {
  bool swapped;   /* blue, green, red */
  float mean[3];  /* of bytes, in the order of the input's channels; of grey the first */
  float scale[3];
  float pad;      /* byte that is taken for pixels which a picture leaves over */
};

/* Does nothing more have to be done to bytes / 255? Then the kernels have done it. */
bool mafat_pixel_rule_is_plain(const struct mafat_pixel_rule *r);

/* Of a pixel of `channels` bytes of r->pad. */
void mafat_pixel_rule_pad(const struct mafat_pixel_rule *r, int channels, float *pixel);

/* n pixels of byte / 255 each, `stride` floats apart, red first. Of what is no byte, but between two of them,
 * likewise. */
void mafat_pixel_rule_apply(const struct mafat_pixel_rule *r, float *pixels, int n, int channels, size_t stride);

#endif
