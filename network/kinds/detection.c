/* Shapes and geometry of kind detection: the head of the first YOLO, a list of values for a grid of
 * cells. Called by api/, formats/, predictor/, programs/make_weights, runner/ and search/ through
 * mafat_kind_detection, its entry in the table of kinds (network/kind.h). infer sets the layer's
 * output shape; nothing is allocated. */
#include "network/kinds/kinds.h"

#include "base/part.h" /* MAFAT_PART: code that is dropped from memory after opening */

MAFAT_PART(opening)
static int infer(struct mafat_layer *l, const struct mafat_infer_context *context)
{
  const struct mafat_head *h = &l->head;
  long long expected =
      (long long)h->side * h->side * ((1LL + h->coords) * h->n_anchors + h->classes);
  if (mafat_shape_elements(l->in) == expected) return mafat_kind_like_input(l, context);
  return mafat_fail(context->d, MAFAT_EFORMAT, "%s:%d: layer [%s] expects %lld inputs, found %lld",
                    context->path, context->line, context->name, expected,
                    mafat_shape_elements(l->in));
}

static uint64_t boxes(const struct mafat_layer *l)
{
  return (uint64_t)l->head.side * (uint64_t)l->head.side * (uint64_t)l->head.n_anchors;
}

const struct mafat_kind mafat_kind_detection = {
    .name = "detection",
    .head = true,
    .boxes = boxes,
    .infer = infer,
    .in_span = mafat_kind_whole_span,
};
