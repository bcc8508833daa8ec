/* Shapes and geometry of kind resample: resizes maps, by the nearest pixel or by linear or cubic
 * interpolation. Called by api/, formats/, predictor/, programs/make_weights, runner/ and search/
 * through mafat_kind_resample, its entry in the table of kinds (network/kind.h). infer sets the
 * layer's output shape; nothing is allocated. */
#include "network/resample.h"

#include "base/part.h" /* MAFAT_PART: code that is dropped from memory after opening */
#include "network/kinds/kinds.h"
#include "network/network.h"

#include <math.h>

/* largest magnitude of `keys`, the slope of cubic interpolation, so that its weights stay small */
static const float MOST_KEYS = 4;

/* True if the file declares no scale (0), or one that gives valid coordinates. in: the map's rows
 * or columns. With align_corners, coordinates are divided by in * scale - 1, which must be
 * positive. */
static bool is_sound(const struct mafat_resample_axis *axis, int in)
{
  return isfinite(axis->scale) && axis->scale >= 0 &&
         (axis->scale == 0 || axis->size == 1 || axis->scale * in > 1.);
}

/* True if the precision of coordinates is supported. Rounded coordinates are supported only without
 * cubic interpolation, and if the file declares no scales. */
static bool can_round(const struct mafat_resample *r)
{
  bool plain = r->interpolation != MAFAT_INTERPOLATE_CUBIC && r->y.scale == 0 && r->x.scale == 0;
  return r->precision == MAFAT_POINTS_EXACT ||
         ((unsigned)r->precision < MAFAT_N_PRECISIONS && plain);
}

MAFAT_PART(opening)
static int infer(struct mafat_layer *l, const struct mafat_infer_context *context)
{
  const struct mafat_resample *r = l->resample;
  if (!r || (unsigned)r->interpolation >= MAFAT_N_INTERPOLATIONS ||
      (unsigned)r->coordinates >= MAFAT_N_COORDINATES ||
      (unsigned)r->rounding >= MAFAT_N_ROUNDINGS || !can_round(r) || !(fabsf(r->keys) <= MOST_KEYS))
    return mafat_kind_refuse(context, "has invalid parameters of resizing");
  if (!is_sound(&r->y, l->in.h) || !is_sound(&r->x, l->in.w))
    return mafat_kind_refuse(context, "expects scales that fit its sizes");
  return mafat_kind_put_out(l, context, r->y.size, r->x.size, l->in.c);
}

static struct mafat_span in_span(const struct mafat_layer *l, int operand, bool axis_y,
                                 struct mafat_span out)
{
  (void)operand;
  const struct mafat_points points =
      mafat_resample_points(l->resample, axis_y, axis_y ? l->in.h : l->in.w);
  if (l->resample->interpolation == MAFAT_INTERPOLATE_CUBIC)
    return mafat_span(mafat_points_cubic_tap(&points, out.begin).at[0],
                      mafat_points_cubic_tap(&points, out.end - 1).at[3] + 1);
  return mafat_span(mafat_points_tap(&points, out.begin).at,
                    mafat_points_tap(&points, out.end - 1).next + 1);
}

/* Returns NULL if the layer can run on integers, else the reason why not. With ONNX's rounding,
 * linear interpolation may change the quantization parameters. */
static const char *check_integers(const struct mafat_network *n, int layer)
{
  const struct mafat_layer *l = &n->layers[layer];
  if (l->resample->interpolation == MAFAT_INTERPOLATE_CUBIC)
    return "is not run on integers with cubic interpolation";
  bool even = l->quantization.rounding == MAFAT_REQUANTIZE_EVEN &&
              l->resample->interpolation == MAFAT_INTERPOLATE_LINEAR;
  return even ? mafat_kind_numbers_alone(n, layer) : mafat_kind_numbers_kept(n, layer);
}

const struct mafat_kind mafat_kind_resample = {
    .name = "resample",
    .keeps = true,
    .along = MAFAT_ALONG_MAP | MAFAT_ALONG_FILTERS,
    .lanewise = true,
    .apart = true,
    .infer = infer,
    .in_span = in_span,
    .numbers = check_integers,
};
