/* Reads how pictures must be preprocessed, which an ONNX file declares in properties that begin
 * with "Image." (ONNX's docs/MetadataProps.md), and finds the layout of inputs. Called by
 * formats/onnx/import.c. Touches only its arguments. */
#include "formats/onnx/importer.h"

#include <string.h>

/* value = (byte - mean) * scale */
static const struct range {
  const char *name;
  float mean, scale;
} ranges[] = {
    {"NominalRange_0_255", 0, 1},
    {"Normalized_0_1", 0, 1 / 255.f},
    {"Normalized_1_1", 127.5f, 1 / 127.5f},
    {"NominalRange_16_235", -16 * 255.f / 219, 219 / 255.f},
};

static void take_range(struct mafat_picture_declared *declared, const char *value)
{
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
    if (strcmp(value, ranges[i].name) == 0) {
      declared->normalized = true;
      for (int c = 0; c < 3; c++) {
        declared->mean[c] = ranges[i].mean;
        declared->scale[c] = ranges[i].scale;
      }
    }
}

void mafat_onnx_picture(struct mafat_picture_declared *declared, const struct mafat_onnx *m)
{
  for (int i = 0; i < m->n_properties; i++) {
    const struct mafat_onnx_property *p = &m->properties[i];
    if (strcmp(p->key, "Image.NominalPixelRange") == 0) take_range(declared, p->value);
    if (strcmp(p->key, "Image.BitmapPixelFormat") == 0) {
      declared->ordered = true;
      declared->swapped = strcmp(p->value, "Bgr8") == 0;
    }
  }
}

static bool is_constant(const struct mafat_onnx_importer *i, const struct mafat_onnx_value *v)
{
  return !v || v->initializer ||
         (v->node >= 0 && strcmp(i->model->nodes[v->node].op_type, "Constant") == 0);
}

/* True if a node works element by element, such as (byte - mean) * scale. */
static bool is_elementwise(const struct mafat_onnx_importer *i, const struct mafat_onnx_node *n,
                           const struct mafat_onnx_value *v)
{
  static const char *const names[] = {
      "Identity",        "Cast", "Add", "Sub", "Mul", "Div", "Neg", "Clip", "QuantizeLinear",
      "DequantizeLinear"};
  bool known = false;
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    known = known || strcmp(n->op_type, names[k]) == 0;
  for (int k = 0; k < n->n_inputs; k++)
    known = known && (n->inputs[k] == v || is_constant(i, n->inputs[k]));
  return known && n->n_outputs == 1 && n->outputs[0];
}

/* True if the input has channels last, as models converted from TensorFlow do: a Transpose moves
 * them first, and before it there are only elementwise operators. */
static bool has_channels_last(const struct mafat_onnx_importer *i, const struct mafat_onnx_value *v)
{
  enum { MOST = 8 }; /* a longer chain is not a normalization */
  static const int64_t front[] = {0, 3, 1, 2};
  const struct mafat_onnx_node *n = mafat_onnx_only_reader(i, v);
  for (int k = 0; k < MOST && n && is_elementwise(i, n, v); k++) {
    v = n->outputs[0];
    n = mafat_onnx_only_reader(i, v);
  }
  if (!n || strcmp(n->op_type, "Transpose") != 0) return false;
  const struct mafat_onnx_attribute *perm = mafat_onnx_attribute(n, "perm");
  return perm && perm->type == MAFAT_ONNX_ATTRIBUTE_INTS && perm->n == 4 &&
         memcmp(perm->as.ints, front, sizeof front) == 0;
}

void mafat_onnx_input_axes(const struct mafat_onnx_importer *i, const struct mafat_onnx_value *v,
                           int *axes)
{
  static const int of_four[] = {MAFAT_AXIS_H, MAFAT_AXIS_C, MAFAT_AXIS_H, MAFAT_AXIS_W},
                   after[] = {MAFAT_AXIS_H, MAFAT_AXIS_H, MAFAT_AXIS_W, MAFAT_AXIS_C};
  int n_dims = v->info->rank;
  if (n_dims == 4) memcpy(axes, has_channels_last(i, v) ? after : of_four, sizeof of_four);
  else mafat_view_usual_axes(n_dims, axes);
}
