/* Maps of another size, as plain data: each output is made of the input's pixels around a point, by which file formats mean
 * different ones. What output x reads along an axis, and with which weight, is a *tap*; rows and columns go by
 * themselves. */
#ifndef MAFAT_NETWORK_RESAMPLE_H
#define MAFAT_NETWORK_RESAMPLE_H

#include <stdbool.h>

enum mafat_interpolation {
  MAFAT_INTERPOLATE_NEAREST,
  MAFAT_INTERPOLATE_LINEAR /* between two pixels of each axis */
};

/* Where the point of output x lies, in pixels of the input from the first one's: ONNX' names (Resize). */
enum mafat_coordinates {
  MAFAT_COORDINATES_HALF_PIXEL,           /* (x + 0.5) / scale - 0.5; TFLite: half_pixel_centers */
  MAFAT_COORDINATES_HALF_PIXEL_SYMMETRIC, /* the same, around the middle of what in * scale outputs would be */
  MAFAT_COORDINATES_PYTORCH_HALF_PIXEL,   /* the same as half_pixel; 0 for a single output */
  MAFAT_COORDINATES_ALIGN_CORNERS,        /* x * (in - 1) / (in * scale - 1) */
  MAFAT_COORDINATES_ASYMMETRIC,           /* x / scale; TFLite where it says nothing */
  MAFAT_COORDINATES_TF_HALF_PIXEL_FOR_NN, /* (x + 0.5) / scale; TFLite: half_pixel_centers of the nearest */
  MAFAT_N_COORDINATES
};

/* Which pixel is the nearest to a point. */
enum mafat_rounding {
  MAFAT_ROUND_PREFER_FLOOR, /* of two that are as near, the first */
  MAFAT_ROUND_PREFER_CEIL,
  MAFAT_ROUND_FLOOR,        /* the one before it */
  MAFAT_ROUND_CEIL,
  MAFAT_N_ROUNDINGS
};

struct mafat_resample_axis {
  int size;     /* of the output */
  double scale; /* where the file says it, which need not be the sizes' ratio; 0: that */
};

/* The layer owns it. */
struct mafat_resample {
  enum mafat_interpolation interpolation;
  enum mafat_coordinates coordinates;
  enum mafat_rounding rounding; /* of the nearest */
  struct mafat_resample_axis y, x;
};

/* Output = (1 - weight) * input[at] + weight * input[next]; `next` is `at` where weight is 0. */
struct mafat_tap {
  int at, next;
  float weight;
};

/* Of output `out` along an axis of `in` inputs. Both of its inputs rise with it. */
struct mafat_tap mafat_resample_tap(const struct mafat_resample *r, bool axis_y, int in, int out);

#endif
