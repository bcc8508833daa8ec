/* Shapes and geometry of the detection heads region, yolo and Gaussian_yolo: several boxes for each
 * pixel, each with its classes. Called by api/, formats/, predictor/, programs/make_weights,
 * runner/ and search/ through their entries in the table of kinds (network/kind.h). infer sets the
 * layer's output shape; nothing is allocated. */
#include "network/kinds/kinds.h"

#include "base/part.h" /* MAFAT_PART: code that is dropped from memory after opening */

MAFAT_PART(opening)
static int infer(struct mafat_layer *l, const struct mafat_infer_context *context)
{
  const struct mafat_head *h = &l->head;
  long long channels = (long long)h->n_anchors * (h->classes + h->coords + 1);
  if (l->in.c == channels) return mafat_kind_like_input(l, context);
  return mafat_fail(context->d, MAFAT_EFORMAT,
                    "%s:%d: layer [%s] expects %lld input channels (boxes x (classes + coordinates "
                    "+ 1)), found %d",
                    context->path, context->line, context->name, channels, l->in.c);
}

static uint64_t boxes(const struct mafat_layer *l)
{
  return (uint64_t)l->out.h * (uint64_t)l->out.w * (uint64_t)l->head.n_anchors;
}

const struct mafat_kind mafat_kind_region = {
    .name = "region",
    .head = true,
    .boxes = boxes,
    .infer = infer,
    .in_span = mafat_kind_whole_span,
};

const struct mafat_kind mafat_kind_yolo = {
    .name = "yolo",
    .head = true,
    .boxes = boxes,
    .infer = infer,
    .in_span = mafat_kind_whole_span,
};

const struct mafat_kind mafat_kind_gaussian_yolo = {
    .name = "Gaussian_yolo",
    .head = true,
    .boxes = boxes,
    .infer = infer,
    .in_span = mafat_kind_whole_span,
};
