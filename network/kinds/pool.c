/* The largest of each window, or the mean. */
#include "network/network.h"

#include "network/kinds/kinds.h"

/* A window wholly in the padding would put out -FLT_MAX, as it does in Darknet, or 0 / 0: no
 * trained network has one, so it is taken for a mistake. */
static bool sees_map(struct mafat_taps t, long long outputs, int extent)
{
  for (int i = 0; i < outputs; i++) {
    int first = mafat_taps_first(t, i);
    int outside = first < 0 ? (t.dilation - 1 - first) / t.dilation : 0; /* taps before the map */
    if (outside >= t.size || first + (long long)outside * t.dilation >= extent) return false;
  }
  return true;
}

static int infer(struct mafat_layer *l, const struct mafat_subject *subject)
{
  long long h = mafat_taps_outputs(l->window.y, l->in.h), w = mafat_taps_outputs(l->window.x, l->in.w);
  if (h < 1 || w < 1) return mafat_kind_refuse(subject, "has a window larger than its padded input");
  if (h > MAFAT_MAX_EXTENT || w > MAFAT_MAX_EXTENT) return mafat_kind_put_out(l, subject, h, w, l->in.c);
  if (!sees_map(l->window.y, h, l->in.h) || !sees_map(l->window.x, w, l->in.w))
    return mafat_kind_refuse(subject, "has a window that sees only padding");
  return mafat_kind_put_out(l, subject, h, w, l->in.c);
}

static struct mafat_span in_span(const struct mafat_layer *l, int operand, bool axis_y, struct mafat_span out)
{
  (void)operand;
  return mafat_span_clip(mafat_taps_span(mafat_window_along(&l->window, axis_y), out), axis_y ? l->in.h : l->in.w);
}

/* By ONNX's rule numbers may change their scale on the way. */
static const char *pool_numbers(const struct mafat_network *n, int layer)
{
  const struct mafat_layer *l = &n->layers[layer];
  if (l->count_padding) return "counts padding of whole numbers";
  return l->quantization.rounding == MAFAT_REQUANTIZE_EVEN ? mafat_kind_numbers_alone(n, layer) : mafat_kind_numbers_kept(n, layer);
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
    .numbers = pool_numbers,
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
    .numbers = pool_numbers,
};
