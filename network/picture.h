/* What a model's file says of the pictures that it takes, where it says anything. All zeros: nothing. */
#ifndef MAFAT_NETWORK_PICTURE_H
#define MAFAT_NETWORK_PICTURE_H

#include <math.h>
#include <stdbool.h>

struct mafat_picture_said {
  bool normalized;          /* (byte - mean) * scale, in the order of the input's channels */
  float mean[3], scale[3];
  bool swapped;             /* blue, green, red */
};

/* Does it make a finite number of any byte? */
static inline bool mafat_picture_is_finite(float mean, float scale)
{
  return isfinite((0 - mean) * scale) && isfinite((255 - mean) * scale);
}

#endif
