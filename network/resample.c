#include "network/resample.h"

#include <math.h>

static double point_of(enum mafat_coordinates coordinates, const struct mafat_resample_axis *axis, int in, int out)
{
  double scale = axis->scale > 0 ? axis->scale : (double)axis->size / in, length = in * scale;
  switch (coordinates) {
    case MAFAT_COORDINATES_HALF_PIXEL_SYMMETRIC:
      return in / 2. * (1 - axis->size / length) + (out + .5) / scale - .5;
    case MAFAT_COORDINATES_PYTORCH_HALF_PIXEL: return axis->size > 1 ? (out + .5) / scale - .5 : 0;
    case MAFAT_COORDINATES_ALIGN_CORNERS: return axis->size > 1 ? out * (in - 1.) / (length - 1) : 0;
    case MAFAT_COORDINATES_ASYMMETRIC: return out / scale;
    case MAFAT_COORDINATES_TF_HALF_PIXEL_FOR_NN: return (out + .5) / scale;
    default: return (out + .5) / scale - .5;
  }
}

/* Scales are rounded to single precision: what by a scale of 8/3 lies on a pixel or between two is there. */
static double snap(double point)
{
  double halves = floor(2 * point + .5) / 2;
  return fabs(point - halves) < 1e-7 * (1 + fabs(point)) ? halves : point;
}

static double nearest(enum mafat_rounding rounding, double point)
{
  double p = snap(point);
  switch (rounding) {
    case MAFAT_ROUND_PREFER_CEIL: return floor(p + .5);
    case MAFAT_ROUND_FLOOR: return floor(p);
    case MAFAT_ROUND_CEIL: return ceil(p);
    default: return ceil(p - .5);
  }
}

struct mafat_tap mafat_resample_tap(const struct mafat_resample *r, bool axis_y, int in, int out)
{
  double last = in - 1, point = point_of(r->coordinates, axis_y ? &r->y : &r->x, in, out);
  if (r->interpolation == MAFAT_INTERPOLATE_NEAREST) point = nearest(r->rounding, point);
  point = point > 0 ? point < last ? point : last : 0;
  struct mafat_tap tap = {(int)point, (int)point, (float)(point - (int)point)};
  if (tap.weight > 0) tap.next++;
  return tap;
}
