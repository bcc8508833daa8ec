/* Shapes and geometry of kind convolutional: windows over the channels of a group, with weights.
 * Called by api/, formats/, predictor/, programs/make_weights, runner/ and search/ through
 * mafat_kind_convolutional, its entry in the table of kinds (network/kind.h). infer sets the
 * layer's output shape; nothing is allocated. */
#include "network/network.h"

#include "base/part.h" /* MAFAT_PART: code that is dropped from memory after opening */
#include "network/kinds/kinds.h"

MAFAT_PART(opening)
static int infer(struct mafat_layer *l, const struct mafat_infer_context *context)
{
  if (l->in.c % l->groups || l->filters % l->groups)
    return mafat_kind_refuse(context, "expects groups that divide both channels and filters");
  if (mafat_window_area(&l->window) < 1)
    return mafat_kind_refuse(context, "has a window without taps");
  long long h = mafat_taps_outputs(l->window.y, l->in.h),
            w = mafat_taps_outputs(l->window.x, l->in.w);
  if (h < 1 || w < 1)
    return mafat_kind_refuse(context, "has a window larger than its padded input");
  double taps = (double)l->window.y.size * l->window.x.size;
  int code = mafat_kind_check_weights(context, l->filters, (double)(l->in.c / l->groups) * taps);
  return code ? code : mafat_kind_put_out(l, context, h, w, l->filters);
}

/* Clips to the map. For a window that is entirely in the padding, returns the pixel at the edge:
 * the zeros that the window reads are stored next to that pixel. */
static struct mafat_span clip_to_touch(struct mafat_span s, int extent)
{
  if (s.begin >= extent) return mafat_span(extent - 1, extent);
  if (s.end <= 0) return mafat_span(0, 1);
  return mafat_span_clip(s, extent);
}

static struct mafat_span in_span(const struct mafat_layer *l, int operand, bool axis_y,
                                 struct mafat_span out)
{
  (void)operand;
  return clip_to_touch(mafat_taps_span(mafat_window_along(&l->window, axis_y), out),
                       axis_y ? l->in.h : l->in.w);
}

MAFAT_PART(opening) static void find_pads(const struct mafat_layer *l, int *left, int *right)
{
  int beyond = mafat_taps_span(l->window.x, mafat_span(0, l->out.w)).end - l->in.w;
  *left = l->window.x.before;
  *right = beyond > 0 ? beyond : 0;
}

static struct mafat_matrix matrix(const struct mafat_layer *l)
{
  /* called often: avoids a division in most cases */
  int inputs = l->groups == 1 ? l->in.c : l->in.c / l->groups;
  return (struct mafat_matrix){l->filters, inputs, mafat_window_area(&l->window)};
}

/* Returns NULL if the layer can compute with integers, else the reason. An activation with a slope
 * needs a separate factor for negative sums, which only ONNX's requantization has. */
static const char *check_integers(const struct mafat_network *n, int layer)
{
  const struct mafat_layer *l = &n->layers[layer];
  bool sloped =
      l->activation.kind == MAFAT_SLOPED && l->quantization.rounding == MAFAT_REQUANTIZE_EVEN;
  if (l->activation.kind != MAFAT_LINEAR && !sloped && l->out_type != MAFAT_F32)
    return "of integers has an activation: expected bounds of its output instead";
  return mafat_kind_numbers_alone(n, layer);
}

const struct mafat_kind mafat_kind_convolutional = {
    .name = "convolutional",
    .along = MAFAT_ALONG_MAP | MAFAT_ALONG_FILTERS | MAFAT_ALONG_INPUTS,
    .weights = MAFAT_WEIGHTS_PANELS,
    .convolves = true,
    .infer = infer,
    .in_span = in_span,
    .pads = find_pads,
    .matrix = matrix,
    .counts = mafat_kind_matrix_counts,
    .macs = mafat_kind_window_macs,
    .numbers = check_integers,
};
