/* Shapes and geometry of kind constant: a map of values from the model's file, read with strides.
 * Called by the readers, predictor/ and runner/ through its row (network/kind.h). Its infer fills
 * in the layer; nothing is allocated. */
#include "network/kinds/kinds.h"

#include "base/part.h"

/* Extends the range of element indices by an axis. False: overflow. */
static bool add_reach(int extent, int64_t stride, int64_t *least, int64_t *most)
{
  int64_t reach;
  if (__builtin_mul_overflow((int64_t)extent - 1, stride, &reach)) return false;
  return !__builtin_add_overflow(reach < 0 ? *least : *most, reach, reach < 0 ? least : most);
}

MAFAT_PART(opening)
static int infer(struct mafat_layer *l, const struct mafat_infer_context *context)
{
  const struct mafat_strides *s = l->strides;
  int64_t least = s->first, most = s->first;
  int code = mafat_kind_check_weights(context, 1, (double)s->n);
  if (code) return code;
  if (!add_reach(l->in.h, s->rows, &least, &most) ||
      !add_reach(l->in.w, s->columns, &least, &most) ||
      !add_reach(l->in.c, s->channels, &least, &most) || least < 0 || (uint64_t)most >= s->n)
    return mafat_kind_refuse(context, "takes numbers that its constant has not");
  return mafat_kind_like_input(l, context);
}

static struct mafat_weight_counts counts(const struct mafat_layer *l)
{
  return (struct mafat_weight_counts){0, 0, l->strides->n};
}

const struct mafat_kind mafat_kind_constant = {
    .name = "constant",
    .along = MAFAT_ALONG_MAP | MAFAT_ALONG_FILTERS,
    .weights = MAFAT_WEIGHTS_NUMBERS,
    .constant = true,
    .infer = infer,
    .in_span = mafat_kind_same_span,
    .counts = counts,
    .numbers = mafat_kind_numbers_kept,
};
