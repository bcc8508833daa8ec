#include "network/resample.h"

#include <math.h>

struct mafat_points mafat_resample_points(const struct mafat_resample *r, bool axis_y, int in)
{
  const struct mafat_resample_axis *axis = axis_y ? &r->y : &r->x;
  bool scaled = axis->scale > 0, nearest = r->interpolation == MAFAT_INTERPOLATE_NEAREST;
  double length = scaled ? in * axis->scale : axis->size;
  struct mafat_points p = {.5, scaled ? 1 : in, scaled ? axis->scale : axis->size, -.5, in, nearest, r->rounding};
  bool centred = r->coordinates != MAFAT_COORDINATES_ASYMMETRIC && r->coordinates != MAFAT_COORDINATES_ALIGN_CORNERS;
  if (!centred) p.shift = 0;
  if (!centred || r->coordinates == MAFAT_COORDINATES_TF_HALF_PIXEL_FOR_NN) p.offset = 0;
  if (r->coordinates == MAFAT_COORDINATES_HALF_PIXEL_SYMMETRIC) p.offset += in / 2. * (1 - axis->size / length);
  if (r->coordinates == MAFAT_COORDINATES_ALIGN_CORNERS) {
    p.up = in - 1;
    p.down = length - 1;
  }
  if (axis->size > 1 || (r->coordinates != MAFAT_COORDINATES_ALIGN_CORNERS &&
                         r->coordinates != MAFAT_COORDINATES_PYTORCH_HALF_PIXEL))
    return p;
  p.up = p.shift = p.offset = 0; /* a single output is the first pixel */
  p.down = 1;
  return p;
}

/* Scales are rounded to single precision: what by a scale of 8/3 lies on a pixel or between two is there. */
static double snap(double point)
{
  double halves = floor(2 * point + .5) / 2;
  return fabs(point - halves) < 1e-7 * (1 + fabs(point)) ? halves : point;
}

double mafat_points_nearest(const struct mafat_points *p, double point)
{
  double snapped = snap(point);
  switch (p->rounding) {
    case MAFAT_ROUND_PREFER_CEIL: return floor(snapped + .5);
    case MAFAT_ROUND_FLOOR: return floor(snapped);
    case MAFAT_ROUND_CEIL: return ceil(snapped);
    default: return ceil(snapped - .5);
  }
}
