/* Preprocessing of pictures as declared by a model's file. All zeros: not declared. Included by
 * formats/tflite/model.h and network/network.h. Pure inline functions. */
#ifndef MAFAT_NETWORK_PICTURE_H
#define MAFAT_NETWORK_PICTURE_H

#include <math.h>
#include <stdbool.h>

struct mafat_picture_declared {
  bool normalized; /* input = (byte - mean) * scale, in the order of the input's channels */
  float mean[3], scale[3];
  bool ordered; /* the file declares the channel order, which is in `swapped` */
  bool swapped; /* channel order blue, green, red */
};

/* True if every byte gives a finite value. */
static inline bool mafat_picture_is_finite(float mean, float scale)
{
  return isfinite((0 - mean) * scale) && isfinite((255 - mean) * scale);
}

#endif
