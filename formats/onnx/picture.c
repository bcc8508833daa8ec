/* What an ONNX file says of its pictures: properties whose names begin with Image. (ONNX's MetadataProps.md). */
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
