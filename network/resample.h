/* Parameters of resample, which resizes a map by interpolation, and the *taps* along an axis: the
 * inputs and weights of an output. Rows and columns are independent. File formats differ in the
 * coordinates and rounding. Included by formats/, network/, predictor/ and runner/. Pure
 * functions. */
#ifndef MAFAT_NETWORK_RESAMPLE_H
#define MAFAT_NETWORK_RESAMPLE_H

#include <stdbool.h>

enum mafat_interpolation {
  MAFAT_INTERPOLATE_NEAREST,
  MAFAT_INTERPOLATE_LINEAR, /* between two pixels per axis */
  MAFAT_INTERPOLATE_CUBIC,  /* from four pixels per axis, by the polynomials of R. Keys (1981) */
  MAFAT_N_INTERPOLATIONS
};

/* Coordinate of output x in input pixels; the first pixel has coordinate 0. The names are those of
 * ONNX's Resize. */
enum mafat_coordinates {
  MAFAT_COORDINATES_HALF_PIXEL,           /* (x + 0.5) / scale - 0.5; TFLite: half_pixel_centers */
  /* half_pixel, shifted so that the middle of the output is at the middle of the input */
  MAFAT_COORDINATES_HALF_PIXEL_SYMMETRIC,
  MAFAT_COORDINATES_PYTORCH_HALF_PIXEL,   /* half_pixel, but 0 for a single output */
  MAFAT_COORDINATES_ALIGN_CORNERS,        /* x * (in - 1) / (in * scale - 1) */
  MAFAT_COORDINATES_ASYMMETRIC,           /* x / scale; TFLite's default */
  /* (x + 0.5) / scale; TFLite: nearest with half_pixel_centers */
  MAFAT_COORDINATES_TF_HALF_PIXEL_FOR_NN,
  MAFAT_N_COORDINATES
};

/* Precision of coordinates. */
enum mafat_precision {
  MAFAT_POINTS_EXACT,
  MAFAT_POINTS_SINGLE, /* TFLite: floats */
  /* TFLite, int8 interpolation: coordinates and steps are multiples of 1/1024 pixel */
  MAFAT_POINTS_FIXED,
  MAFAT_N_PRECISIONS
};

/* Rounding of a coordinate to the nearest pixel. */
enum mafat_rounding {
  MAFAT_ROUND_PREFER_FLOOR, /* halves down */
  MAFAT_ROUND_PREFER_CEIL,
  MAFAT_ROUND_FLOOR,        /* always down */
  MAFAT_ROUND_CEIL,
  MAFAT_N_ROUNDINGS
};

struct mafat_resample_axis {
  int size;     /* extent of the output */
  /* scale declared by the file, possibly different from the sizes' ratio; 0: the ratio */
  double scale;
};

/* Owned by the layer. */
struct mafat_resample {
  enum mafat_interpolation interpolation;
  enum mafat_coordinates coordinates;
  enum mafat_rounding rounding; /* for MAFAT_INTERPOLATE_NEAREST */
  struct mafat_resample_axis y, x;
  float keys;            /* cubic: slope of the polynomials at distance 1; usually -0.5 or -0.75 */
  bool exclude_outside;  /* cubic: pixels outside have weight 0; else they equal the edge */
  enum mafat_precision precision;
};

/* Coordinates of outputs, in input pixels, along an axis with `in` inputs: output x has coordinate
 * (x + shift) * up / down + offset. This is exact if the coordinate is an integer. */
struct mafat_points {
  double shift, up, down, offset;
  int in;
  bool nearest;
  enum mafat_precision precision;
  enum mafat_rounding rounding;
  double keys;
  bool exclude_outside;
};

/* Returns the coordinates along rows (axis_y) or columns of a map that has `in` of them. */
struct mafat_points mafat_resample_points(const struct mafat_resample *r, bool axis_y, int in);

/* Inputs of an output: output = (1 - weight) * input[at] + weight * input[next]. `next` equals `at`
 * if weight is 0, and at the edges. */
struct mafat_tap {
  int at, next;
  float weight;
};

/* Inputs of an output by cubic interpolation: the sum of weights[k] * input[at[k]], in that
 * order. */
struct mafat_cubic_tap {
  int at[4];
  float weights[4];
};

/* Returns the tap of output `out` by cubic interpolation. As `out` rises, no index falls. */
struct mafat_cubic_tap mafat_points_cubic_tap(const struct mafat_points *p, int out);

/* Returns the tap of output `out` for a precision other than MAFAT_POINTS_EXACT. */
struct mafat_tap mafat_points_rounded_tap(const struct mafat_points *p, int out);

/* Returns the index of the pixel for a coordinate by p->rounding; it may be outside the map. */
double mafat_points_nearest(const struct mafat_points *p, double point);

/* Returns the tap of output `out` by nearest or linear interpolation. As `out` rises, no index
 * falls. */
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
