/* Makes networks of detection heads in static variables and sets their cells. Called by the
 * suites in tests/unit/detect. */
#include "tests/support/cells.h"

#include "tests/unit/detect/detections.h"

#include <check.h>
#include <string.h>

struct mafat_network cells_network;
struct mafat_layer cells_layers[CELLS_LAYERS + 1];
float cells_tensors[CELLS_LAYERS][CELLS_FLOATS];
float cells_anchors[] = {2, 3, 4, 1.5f};
static const int context = 7; /* its address is the context of read_element */

void cells_start(int w, int h, bool letterbox)
{
  memset(cells_layers, 0, sizeof cells_layers);
  memset(cells_tensors, 0, sizeof cells_tensors);
  cells_network =
      (struct mafat_network){.letterbox = letterbox, .layers = cells_layers, .n_inputs = 1};
  cells_layers[0] = (struct mafat_layer){.type = MAFAT_INPUT_LAYER, .out = {h, w, 3}};
}

struct mafat_layer *cells_add_layer(enum mafat_layer_type type, int h, int w, int c)
{
  ck_assert_int_lt(cells_network.n_layers, CELLS_LAYERS);
  ck_assert_int_le(h * w * c, CELLS_FLOATS);
  struct mafat_layer *l = &cells_layers[cells_network.n_layers++];
  l[1] = l[0];
  *l = (struct mafat_layer){.type = type, .in = {h, w, c}, .out = {h, w, c}};
  return l;
}

struct mafat_layer *cells_add(enum mafat_layer_type type, int h, int w, int n_anchors, int classes)
{
  int coords = type == MAFAT_GAUSSIAN_YOLO ? 8 : 4;
  struct mafat_layer *l = cells_add_layer(type, h, w, n_anchors * (coords + 1 + classes));
  l->head = (struct mafat_head){.classes = classes, .coords = coords, .n_anchors = n_anchors,
                                .anchors = cells_anchors, .scale_xy = 1, .softmax = true};
  return l;
}

float *cells_element(int layer, int c, int y, int x)
{
  struct mafat_shape out = cells_layers[layer].out;
  /* ck_assert also records every success, which is too slow here. */
  if (layer < 0 || layer >= cells_network.n_layers || c < 0 || c >= out.c || y < 0 || y >= out.h ||
      x < 0 || x >= out.w)
    ck_abort_msg("layer %d has no element (%d, %d, %d)", layer, c, y, x);
  return &cells_tensors[layer][(c * out.h + y) * out.w + x];
}

void cells_set(struct cell at, const float *values)
{
  int n = cells_layers[at.layer].head.coords + 1 + cells_layers[at.layer].head.classes;
  for (int i = 0; i < n; i++) *cells_element(at.layer, at.anchor * n + i, at.y, at.x) = values[i];
}

static float read_element(const void *given, int layer, int c, int y, int x)
{
  if (given != &context) ck_abort_msg("the context is not the caller's");
  return *cells_element(layer, c, y, x);
}

struct mafat_detect_input cells_input(int picture_w, int picture_h)
{
  struct mafat_detect_input in = test_detect_input(&cells_network, picture_w, picture_h);
  in.at = read_element;
  in.context = &context;
  return in;
}

struct mafat_detections *cells_detect(const struct mafat_detect_input *in, size_t boxes)
{
  return test_detect(&cells_network, in, boxes);
}
