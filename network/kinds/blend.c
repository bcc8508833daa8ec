/* Two maps added, pixel by pixel. */
#include "network/kinds/kinds.h"

/* Darknet asserts that both maps relate by one whole factor, up or down. */
static bool sizes_agree(struct mafat_shape from, struct mafat_shape to)
{
  return from.w / to.w == from.h / to.h && to.w / from.w == to.h / from.h &&
         (from.w / to.w >= 1 || to.w / from.w >= 1);
}

static int infer(struct mafat_layer *l, const struct mafat_subject *subject)
{
  struct mafat_shape from = l->operands[1].shape;
  if (sizes_agree(from, l->in)) return mafat_kind_like_input(l, subject);
  return mafat_fail(subject->d, MAFAT_EFORMAT,
                    "%s:%d: %s expects maps that differ by one whole factor, found %d x %d and %d x %d",
                    subject->path, subject->line, subject->name, from.h, from.w, l->in.h, l->in.w);
}

/* Output i * sample takes input i * stride of the other map, for i below the smaller extent. */
static struct mafat_span from_span(int from, int to, struct mafat_span out)
{
  int stride = from / to > 1 ? from / to : 1, sample = to / from > 1 ? to / from : 1;
  struct mafat_span i = {(out.begin + sample - 1) / sample, (out.end - 1) / sample + 1};
  i = mafat_span_clip(i, from < to ? from : to);
  return mafat_span_is_empty(i) ? mafat_span(0, 0) : mafat_span(i.begin * stride, (i.end - 1) * stride + 1);
}

static struct mafat_span in_span(const struct mafat_layer *l, int operand, bool axis_y, struct mafat_span out)
{
  if (operand == 0) return out;
  struct mafat_shape from = l->operands[operand].shape;
  return axis_y ? from_span(from.h, l->out.h, out) : from_span(from.w, l->out.w, out);
}

const struct mafat_kind mafat_kind_shortcut = {
    .name = "shortcut",
    .along = MAFAT_ALONG_MAP | MAFAT_ALONG_FILTERS,
    .adds = true,
    .infer = infer,
    .in_span = in_span,
};
