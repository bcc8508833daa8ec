/* Preprocessing of pictures as declared by a model's file, and options that a packed file stores. A
 * struct of zeros declares or stores nothing. Included by formats/packed/model.h,
 * formats/tflite/model.h and network/network.h; called by api/. Pure inline functions. */
#ifndef MAFAT_NETWORK_PICTURE_H
#define MAFAT_NETWORK_PICTURE_H

#include <math.h>
#include <stdbool.h>

struct mafat_picture_declared {
  bool normalized; /* input = (byte - mean) * scale, in the order of the input's channels */
  float mean[3], scale[3];
  bool ordered; /* the file declares the channel order, which is in `swapped` */
  bool swapped; /* true: channels are blue, green, red; false: red, green, blue */
};

enum { MAFAT_STORED_MEAN = 1, MAFAT_STORED_SCALE = 2, MAFAT_STORED_PAD = 4 };

/* Options of pictures and outputs that pack_weights got and the packed file stores
 * (doc/packed.md). Each applies unless the same option is given when the file is opened. */
struct mafat_stored_options {
  unsigned numbers; /* bits MAFAT_STORED_...: which of mean, scale and pad are stored */
  float mean[3], scale[3], pad;
  char channels[8], resize[16], decode[16]; /* "": not stored */
};

static inline bool mafat_stored_any(const struct mafat_stored_options *s)
{
  return s->numbers || *s->channels || *s->resize || *s->decode;
}

/* True if (byte - mean) * scale is finite for every byte. */
static inline bool mafat_picture_is_finite(float mean, float scale)
{
  return isfinite((0 - mean) * scale) && isfinite((255 - mean) * scale);
}

#endif
