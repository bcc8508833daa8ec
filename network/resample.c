/* Computes, for each output along an axis of a map that is resized, its coordinate, and the inputs
 * and weights (taps) from which it is interpolated. Called by network/kinds/resample.c,
 * runner/engine/kinds/resample.c and runner/engine/kinds/integer/resample.c. Pure functions. */
#include "network/resample.h"

#include <math.h>
#include <stdint.h>

/* Output x has coordinate (x + shift) * up / down + offset (resample.h). p begins as half_pixel,
 * with shift 0.5 and offset -0.5, and is changed for other rules. */
struct mafat_points mafat_resample_points(const struct mafat_resample *r, bool axis_y, int in)
{
  const struct mafat_resample_axis *axis = axis_y ? &r->y : &r->x;
  bool scaled = axis->scale > 0, nearest = r->interpolation == MAFAT_INTERPOLATE_NEAREST;
  double length = scaled ? in * axis->scale : axis->size;
  struct mafat_points p = {
      .5, scaled ? 1 : in, scaled ? axis->scale : axis->size, -.5, in, nearest, r->precision,
      r->rounding, (double)r->keys, r->exclude_outside};
  bool centred = r->coordinates != MAFAT_COORDINATES_ASYMMETRIC &&
                 r->coordinates != MAFAT_COORDINATES_ALIGN_CORNERS;
  if (!centred) p.shift = 0;
  if (!centred || r->coordinates == MAFAT_COORDINATES_TF_HALF_PIXEL_FOR_NN) p.offset = 0;
  if (r->coordinates == MAFAT_COORDINATES_HALF_PIXEL_SYMMETRIC)
    p.offset += in / 2. * (1 - axis->size / length);
  if (r->coordinates == MAFAT_COORDINATES_ALIGN_CORNERS) {
    p.up = in - 1;
    p.down = length - 1;
  }
  if (axis->size > 1 || (r->coordinates != MAFAT_COORDINATES_ALIGN_CORNERS &&
                         r->coordinates != MAFAT_COORDINATES_PYTORCH_HALF_PIXEL))
    return p;
  p.up = p.shift = p.offset = 0; /* a single output has coordinate 0 */
  p.down = 1;
  return p;
}

/* Rounds a coordinate that is almost on a pixel or halfway between two. Files store scales such as
 * 8/3 as floats, so that coordinates are slightly off. */
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

/* ---- inexact coordinates: TFLite's ---- */

enum { FIXED_ONE = 1024 }; /* 1 in TFLite's fixed point */

/* Returns the tap between pixel `at` and the next pixel, whose weight is `weight`. Pixels outside
 * the map repeat its edge. */
static struct mafat_tap clamp_tap(const struct mafat_points *p, double at, float weight)
{
  double last = p->in - 1, edge = at > 0 ? at < last ? at : last : 0;
  return (struct mafat_tap){(int)edge, (int)edge + (at >= 0 && at < last && weight > 0), weight};
}

/* Returns the tap with TFLite's fixed-point coordinates, in units of 1 / FIXED_ONE pixel. */
static struct mafat_tap fixed_tap(const struct mafat_points *p, int out)
{
  const int64_t up = (int64_t)p->up, down = (int64_t)p->down,
                step = (FIXED_ONE * up + down / 2) / down;
  const int64_t place = out * step + (p->shift > 0 ? step / 2 - FIXED_ONE / 2 : 0);
  if (place < 0 || place / FIXED_ONE >= p->in) return clamp_tap(p, place < 0 ? 0 : p->in, 0);
  return clamp_tap(p, (double)(place / FIXED_ONE), (float)(place % FIXED_ONE) / FIXED_ONE);
}

/* Outside the map both pixels of the tap are the pixel at the edge. Their weights still count, as
 * in TFLite: after rounding to floats, weight and 1 - weight may not add up to exactly 1. */
static struct mafat_tap single_tap(const struct mafat_points *p, int out)
{
  const float scale = (float)p->up / (float)p->down,
              point = ((float)out + (float)p->shift) * scale + (float)p->offset;
  if (p->nearest)
    return clamp_tap(p, (double)(p->rounding == MAFAT_ROUND_FLOOR ? floorf(point) : roundf(point)),
                     0);
  return clamp_tap(p, (double)floorf(point), point - fmaxf(floorf(point), 0));
}

struct mafat_tap mafat_points_rounded_tap(const struct mafat_points *p, int out)
{
  return p->precision == MAFAT_POINTS_FIXED && !p->nearest ? fixed_tap(p, out) : single_tap(p, out);
}

/* ---- cubic ---- */

/* Returns the weight of a pixel at this distance (at most 2 pixels), by Keys' cubic polynomials,
 * whose slope at distance 1 is a. */
static double keys_weight(double a, double distance)
{
  double x = fabs(distance);
  return x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

struct mafat_cubic_tap mafat_points_cubic_tap(const struct mafat_points *p, int out)
{
  enum { REACH = 2 };
  struct mafat_cubic_tap tap;
  double weights[4], sum = 0, last = p->in - 1,
                     point = (out + p->shift) * p->up / p->down + p->offset;
  point = fmax(fmin(point, last + REACH), -REACH); /* further outside only the edge contributes */
  double below = floor(point);
  for (int k = 0; k < 4; k++) {
    double at = below - 1 + k;
    bool outside = at < 0 || at > last;
    weights[k] = outside && p->exclude_outside ? 0 : keys_weight(p->keys, point - at);
    tap.at[k] = (int)fmax(fmin(at, last), 0);
    sum += weights[k];
  }
  bool any = fabs(sum) > 0; /* false if all four pixels are excluded; the first then has weight 1 */
  for (int k = 0; k < 4; k++) tap.weights[k] = (float)(any ? weights[k] / sum : k == 0);
  return tap;
}
