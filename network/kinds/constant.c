/* Shapes and geometry of kind constant: a map of values from the model's file, read with strides.
 * Called by api/, formats/, predictor/, programs/make_weights, runner/ and search/ through
 * mafat_kind_constant, its entry in the table of kinds (network/kind.h). infer sets the layer's
 * output shape; nothing is allocated. */
#include "network/kinds/kinds.h"

#include "base/part.h" /* MAFAT_PART: code that is dropped from memory after opening */

/* Widens [*least, *most], the range of element indices that are read, by the reach of one axis:
 * (extent - 1) * stride. False: overflow. */
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
    return mafat_kind_refuse(context, "reads values past the end of its constant");
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
