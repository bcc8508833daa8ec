/* Shapes and geometry of kind postprocess: decodes boxes as TFLite_Detection_PostProcess does. Each
 * operand has one row and a column per anchor: encoded boxes (y, x, height, width, and unused
 * values), class scores, and the anchors (y, x, height, width). A column of the output is a
 * detection with channels top, left, bottom, right, class, score; unused columns are 0. The last
 * channel of every column is the number of boxes found. Called by api/, formats/, predictor/,
 * programs/make_weights, runner/ and search/ through mafat_kind_postprocess, its entry in the table
 * of kinds (network/kind.h). infer sets the layer's output shape; nothing is allocated. */
#include "network/network.h"

#include "base/part.h" /* MAFAT_PART: code that is dropped from memory after opening */
#include "network/kinds/kinds.h"

enum { CORNERS = 4, VALUES = 7 };

MAFAT_PART(opening)
static int infer(struct mafat_layer *l, const struct mafat_infer_context *context)
{
  const struct mafat_postprocess *p = l->postprocess;
  if (l->n_operands != 3) return mafat_kind_refuse(context, "expects boxes, scores and anchors");
  struct mafat_shape boxes = l->in, scores = l->operands[1].shape, anchors = l->operands[2].shape;
  if (boxes.h == 1 && scores.h == 1 && anchors.h == 1 && boxes.w == scores.w &&
      boxes.w == anchors.w && boxes.c >= CORNERS && anchors.c == CORNERS && p->classes >= 1 &&
      p->classes <= scores.c)
    return mafat_kind_put_out(l, context, 1, (long long)p->detections * p->classes_per_detection,
                              VALUES);
  return mafat_fail(
      context->d, MAFAT_EFORMAT,
      "%s:%d: %s expects boxes and scores of %d classes for each anchor, found %d x %d x %d, "
      "%d x %d x %d and %d x %d x %d (height, width, channels)",
      context->path, context->line, context->name, p->classes, boxes.h, boxes.w, boxes.c, scores.h,
      scores.w, scores.c, anchors.h, anchors.w, anchors.c);
}

static struct mafat_span in_span(const struct mafat_layer *l, int operand, bool axis_y,
                                 struct mafat_span out)
{
  (void)out;
  return mafat_span(0, axis_y ? 1 : l->operands[operand].shape.w);
}

/* Returns NULL if the layer can run on integers, else the reason why not. Inputs may be integers,
 * which are dequantized. */
static const char *check_integers(const struct mafat_network *n, int layer)
{
  return n->layers[layer].out_type == MAFAT_F32 ? NULL : "expects an output of floats";
}

const struct mafat_kind mafat_kind_postprocess = {
    .name = "postprocess",
    .apart = true,
    .infer = infer,
    .in_span = in_span,
    .numbers = check_integers,
};
