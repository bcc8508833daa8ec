/* Shapes and geometry of kinds maxpool and local_avgpool: the maximum or mean of each window.
 * Called by api/, formats/, predictor/, programs/make_weights, runner/ and search/ through their
 * entries in the table of kinds (network/kind.h). infer sets the layer's output shape; nothing is
 * allocated. */
#include "network/network.h"

#include "base/part.h" /* MAFAT_PART: code that is dropped from memory after opening */
#include "network/kinds/kinds.h"

/* Returns the smallest x with x * step mod m in [least, most], for 0 < least <= most < m and step <
 * m; -1: none. As in Euclid's algorithm, the problem modulo m is reduced to one modulo step. */
static long long first_within(long long step, long long m, long long least, long long most)
{
  if (step == 0) return -1;
  long long x = (least + step - 1) / step;
  if (x * step <= most) return x;
  long long turns = first_within(m % step, step, step - most % step, step - least % step);
  return turns < 0 ? -1 : (least + turns * m + step - 1) / step;
}

/* True if some window has one tap before the map and the next one past the map's end, so that the
 * window reads no element. This needs a dilation larger than the map. */
static bool steps_over(struct mafat_taps t, long long outputs, int extent)
{
  if (t.before == 0 || t.dilation <= extent) return false;
  long long begin = (t.before + t.stride - 1LL) / t.stride, n = outputs < begin ? outputs : begin;
  /* position of the first window's first tap at or after the map's begin */
  int place = (t.dilation - t.before % t.dilation) % t.dilation;
  if (place >= extent) return true;
  long long found =
      first_within(t.stride % t.dilation, t.dilation, extent - place, t.dilation - 1 - place);
  return found >= 0 && found < n;
}

/* True if every window reads an element of the map. Otherwise the result would be -FLT_MAX, as in
 * Darknet, or 0 / 0; no trained network has such windows. Takes constant time, because a file may
 * have thousands of pools: it checks the first and the last window, and steps_over() finds the
 * others. */
static bool sees_map(struct mafat_taps t, long long outputs, int extent)
{
  long long last = (outputs - 1) * t.stride - t.before;
  return (t.size - 1LL) * t.dilation >= t.before && last < extent &&
         !steps_over(t, outputs, extent);
}

MAFAT_PART(opening)
static int infer(struct mafat_layer *l, const struct mafat_infer_context *context)
{
  long long h = mafat_taps_outputs(l->window.y, l->in.h),
            w = mafat_taps_outputs(l->window.x, l->in.w);
  if (h < 1 || w < 1)
    return mafat_kind_refuse(context, "has a window larger than its padded input");
  if (h > MAFAT_MAX_EXTENT || w > MAFAT_MAX_EXTENT)
    return mafat_kind_put_out(l, context, h, w, l->in.c);
  if (!sees_map(l->window.y, h, l->in.h) || !sees_map(l->window.x, w, l->in.w))
    return mafat_kind_refuse(context, "has a window that sees only padding");
  return mafat_kind_put_out(l, context, h, w, l->in.c);
}

static struct mafat_span in_span(const struct mafat_layer *l, int operand, bool axis_y,
                                 struct mafat_span out)
{
  (void)operand;
  return mafat_span_clip(mafat_taps_span(mafat_window_along(&l->window, axis_y), out),
                         axis_y ? l->in.h : l->in.w);
}

/* Returns NULL if integers are supported, else the reason. The output may have another scale than
 * the input only with ONNX's rounding. */
static const char *check_integers(const struct mafat_network *n, int layer)
{
  const struct mafat_layer *l = &n->layers[layer];
  if (l->count_padding) return "of integers counts padding in its mean";
  return l->quantization.rounding == MAFAT_REQUANTIZE_EVEN ? mafat_kind_numbers_alone(n, layer)
                                                           : mafat_kind_numbers_kept(n, layer);
}

const struct mafat_kind mafat_kind_maxpool = {
    .name = "maxpool",
    .keeps = true,
    .along = MAFAT_ALONG_MAP | MAFAT_ALONG_FILTERS,
    .lanewise = true,
    .mergeable = true,
    .within = true,
    .pools = true,
    .infer = infer,
    .in_span = in_span,
    .numbers = check_integers,
};

const struct mafat_kind mafat_kind_local_avgpool = {
    .name = "local_avgpool",
    .keeps = true,
    .along = MAFAT_ALONG_MAP | MAFAT_ALONG_FILTERS,
    .lanewise = true,
    .mergeable = true,
    .within = true,
    .infer = infer,
    .in_span = in_span,
    .numbers = check_integers,
};
