/* The largest of each window. */
#include "network/kinds/kinds.h"

static int infer(struct mafat_layer *l, const struct mafat_subject *subject)
{
  long long h = (long long)l->in.h + l->padding - l->size;
  long long w = (long long)l->in.w + l->padding - l->size;
  if (h < 0 || w < 0) return mafat_kind_refuse(subject, "has a window larger than its padded input");
  /* A window wholly in the padding would put out -FLT_MAX, as it does in
   * Darknet: no trained network has one, so it is taken for a mistake. */
  long long out_h = h / l->stride + 1, out_w = w / l->stride + 1;
  if (l->pad >= l->size || (out_h - 1) * l->stride - l->pad >= l->in.h ||
      (out_w - 1) * l->stride - l->pad >= l->in.w)
    return mafat_kind_refuse(subject, "has a window that sees only padding");
  return mafat_kind_put_out(l, subject, out_h, out_w, l->in.c);
}

static struct mafat_span in_span(const struct mafat_layer *l, int operand, bool axis_y, struct mafat_span out)
{
  (void)operand;
  return mafat_span_clip(mafat_span_window(out, l->size, l->stride, l->pad), axis_y ? l->in.h : l->in.w);
}

const struct mafat_kind mafat_kind_maxpool = {
    .name = "maxpool",
    .along = MAFAT_ALONG_MAP | MAFAT_ALONG_FILTERS,
    .pools = true,
    .infer = infer,
    .in_span = in_span,
};
