/* What an ONNX file says of its pictures: properties whose names begin with Image. (ONNX's MetadataProps.md); and how they lie. */
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

static void take_range(struct mafat_picture_said *said, const char *value)
{
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
    if (strcmp(value, ranges[i].name) == 0) {
      said->normalized = true;
      for (int c = 0; c < 3; c++) {
        said->mean[c] = ranges[i].mean;
        said->scale[c] = ranges[i].scale;
      }
    }
}

void mafat_onnx_picture(struct mafat_picture_said *said, const struct mafat_onnx *m)
{
  for (int i = 0; i < m->n_properties; i++) {
    const struct mafat_onnx_property *p = &m->properties[i];
    if (strcmp(p->key, "Image.NominalPixelRange") == 0) take_range(said, p->value);
    if (strcmp(p->key, "Image.BitmapPixelFormat") == 0) said->swapped = strcmp(p->value, "Bgr8") == 0;
  }
}

/* The one node that reads a value as its first input; NULL: none does, or more than one reads it. */
static const struct mafat_onnx_node *only_reader(const struct mafat_onnx_importer *i, const struct mafat_onnx_value *v)
{
  if (i->values[v->index].readers != 1) return NULL;
  for (int n = 0; n < i->model->n_nodes; n++)
    if (i->model->nodes[n].n_inputs > 0 && i->model->nodes[n].inputs[0] == v) return &i->model->nodes[n];
  return NULL;
}

/* Channels behind, as exporters from TensorFlow leave them: where the only reader puts them in front. */
static bool is_put_in_front(const struct mafat_onnx_importer *i, const struct mafat_onnx_value *v)
{
  static const int64_t front[] = {0, 3, 1, 2};
  const struct mafat_onnx_node *n = only_reader(i, v);
  if (!n || strcmp(n->op_type, "Transpose") != 0) return false;
  const struct mafat_onnx_attribute *perm = mafat_onnx_attribute(n, "perm");
  return perm && perm->type == MAFAT_ONNX_ATTRIBUTE_INTS && perm->n == 4 && memcmp(perm->as.ints, front, sizeof front) == 0;
}

void mafat_onnx_input_axes(const struct mafat_onnx_importer *i, const struct mafat_onnx_value *v, int *axes)
{
  static const int of_four[] = {MAFAT_AXIS_H, MAFAT_AXIS_C, MAFAT_AXIS_H, MAFAT_AXIS_W},
                   behind[] = {MAFAT_AXIS_H, MAFAT_AXIS_H, MAFAT_AXIS_W, MAFAT_AXIS_C};
  int n_dims = v->info->rank;
  if (n_dims == 4) memcpy(axes, is_put_in_front(i, v) ? behind : of_four, sizeof of_four);
  else mafat_view_usual_axes(n_dims, axes);
}
