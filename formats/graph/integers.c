/* Adds layers that quantize, requantize and clamp integers. Called by the importers in formats/onnx
 * and formats/tflite. Allocates layers in the graph. */
#include "formats/graph/compute.h"

static int end_one(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                   struct mafat_layer *l, struct mafat_meaning to)
{
  struct mafat_view view = in->view;
  if (!l) return MAFAT_EUNSUPPORTED;
  int code = mafat_graph_end_layer(g, l);
  l->out_type = to.type;
  l->quantization = to.numbers;
  return code ? code : mafat_graph_output(g, out, l, &view);
}

int mafat_graph_quantize(struct mafat_graph *g, struct mafat_value *out,
                         const struct mafat_value *in, struct mafat_meaning to,
                         enum mafat_requantizing rounding)
{
  if (in->form != MAFAT_VALUE_MAP)
    return mafat_graph_fail(g, MAFAT_EUNSUPPORTED,
                            "expected a tensor computed at run time, found only constants");
  struct mafat_meaning from = mafat_value_meaning(g, in);
  bool numbers = from.type != MAFAT_F32 && to.type != MAFAT_F32;
  to.numbers.rounding = (unsigned)rounding & 0x7f;
  if (numbers && !mafat_multiplier_can(mafat_requantizing_factor(&from.numbers, &to.numbers)))
    return mafat_graph_fail(g, MAFAT_EFORMAT,
                            "scale %g to scale %g: would need a multiplier of 2^30 or more",
                            (double)from.numbers.scale, (double)to.numbers.scale);
  return end_one(g, out, in, mafat_graph_begin(g, MAFAT_QUANTIZE, in), to);
}

int mafat_graph_rename_numbers(struct mafat_graph *g, struct mafat_value *out,
                               const struct mafat_value *in, struct mafat_meaning to)
{
  return end_one(g, out, in, mafat_graph_begin(g, MAFAT_ACTIVATION_LAYER, in), to);
}

int mafat_graph_clamp(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *in,
                      float least, float most)
{
  struct mafat_layer *l = mafat_graph_maker(g, in);
  if (l && (l->rearrange || l->resample)) l = NULL; /* layers that copy elements cannot clamp */
  int code = l ? mafat_value_copy(g, out, in)
               : mafat_graph_rename_numbers(g, out, in, mafat_value_meaning(g, in));
  if (code) return code;
  if (!l) l = &g->network->layers[out->maker];
  mafat_quantization_clamp(&l->quantization, least, most);
  return MAFAT_OK;
}
