/* Maps of another size, as plain data: each output is made of the input's pixels around a point, by which file formats mean
 * different ones. What output x reads along an axis, and with which weight, is a *tap*; rows and columns go by
 * themselves. */
#ifndef MAFAT_NETWORK_RESAMPLE_H
#define MAFAT_NETWORK_RESAMPLE_H

#include <stdbool.h>

enum mafat_interpolation {
  MAFAT_INTERPOLATE_NEAREST,
  MAFAT_INTERPOLATE_LINEAR, /* between two pixels of each axis */
  MAFAT_INTERPOLATE_CUBIC,  /* from four of each axis, by the polynomials of R. Keys (1981) */
  MAFAT_N_INTERPOLATIONS
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

/* How exactly points are known. */
enum mafat_precision {
  MAFAT_POINTS_EXACT,
  MAFAT_POINTS_SINGLE, /* TFLite's: floats */
  MAFAT_POINTS_FIXED,  /* TFLite's between pixels of int8: whole 1/1024 of one, and steps so, too */
  MAFAT_N_PRECISIONS
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
  float keys;            /* of cubic: the slope that the polynomials have at distance 1, -0.5 or -0.75 */
  bool exclude_outside;  /* of cubic: what lies outside has no weight; else it is the edge */
  enum mafat_precision precision;
};

/* An axis of `in` inputs: the point of output x lies at (x + shift) * up / down + offset. Where sizes or a scale say so
 * it is on a pixel exactly. */
struct mafat_points {
  double shift, up, down, offset;
  int in;
  bool nearest;
  enum mafat_precision precision;
  enum mafat_rounding rounding;
  double keys;
  bool exclude_outside;
};

struct mafat_points mafat_resample_points(const struct mafat_resample *r, bool axis_y, int in);

/* Output = (1 - weight) * input[at] + weight * input[next]; `next` is `at` where weight is 0, and at the edges. */
struct mafat_tap {
  int at, next;
  float weight;
};

/* Output = the sum of weights[k] * input[at[k]], in that order. */
struct mafat_cubic_tap {
  int at[4];
  float weights[4];
};

/* Of output `out` along the axis, whose points are cubic's. All its inputs rise with it. */
struct mafat_cubic_tap mafat_points_cubic_tap(const struct mafat_points *p, int out);

/* Of output `out` along an axis whose points are not exact. */
struct mafat_tap mafat_points_rounded_tap(const struct mafat_points *p, int out);

/* The number of the pixel that is the nearest to a point. */
double mafat_points_nearest(const struct mafat_points *p, double point);

/* Of output `out` along the axis. Both of its inputs rise with it. */
static inline struct mafat_tap mafat_points_tap(const struct mafat_points *p, int out)
{
  if (p->precision != MAFAT_POINTS_EXACT) return mafat_points_rounded_tap(p, out);
  double last = p->in - 1, point = (out + p->shift) * p->up / p->down + p->offset;
  if (p->nearest) point = mafat_points_nearest(p, point);
  point = point > 0 ? point < last ? point : last : 0;
  int at = (int)point;
  float weight = (float)(point - at);
  return (struct mafat_tap){at, at + (weight > 0), weight};
}

#endif
