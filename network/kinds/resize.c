/* Shapes and geometry of kind upsample: repeats every pixel. Called by api/, formats/, predictor/,
 * programs/make_weights, runner/ and search/ through mafat_kind_upsample, its entry in the table of
 * kinds (network/kind.h). infer sets the layer's output shape; nothing is allocated. */
#include "network/network.h"

#include "base/part.h" /* MAFAT_PART: code that is dropped from memory after opening */
#include "network/kinds/kinds.h"

MAFAT_PART(opening)
static int infer(struct mafat_layer *l, const struct mafat_infer_context *context)
{
  return mafat_kind_put_out(l, context, (long long)l->in.h * l->factor,
                            (long long)l->in.w * l->factor, l->in.c);
}

static struct mafat_span in_span(const struct mafat_layer *l, int operand, bool axis_y,
                                 struct mafat_span out)
{
  (void)operand, (void)axis_y;
  return mafat_span(out.begin / l->factor, (out.end - 1) / l->factor + 1);
}

/* Returns NULL if the layer can run on integers, else the reason why not. */
static const char *check_integers(const struct mafat_network *n, int layer)
{
  return n->layers[layer].scale == 1 ? mafat_kind_numbers_kept(n, layer)
                                     : "of integers: expected scale=1";
}

const struct mafat_kind mafat_kind_upsample = {
    .name = "upsample",
    .keeps = true,
    .along = MAFAT_ALONG_MAP | MAFAT_ALONG_FILTERS,
    .lanewise = true,
    .infer = infer,
    .in_span = in_span,
    .numbers = check_integers,
};
