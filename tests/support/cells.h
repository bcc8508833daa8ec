/* A network that has only detection heads, and the heads' tensors, which tests fill in. There is
 * one network at a time, in static variables. Included by the suites in tests/unit/detect. */
#ifndef MAFAT_TESTS_SUPPORT_CELLS_H
#define MAFAT_TESTS_SUPPORT_CELLS_H

#include "runner/detect/detect.h"

enum { CELLS_LAYERS = 4, CELLS_FLOATS = 1024 };

extern struct mafat_network cells_network;
/* the heads in order, then the input layer */
extern struct mafat_layer cells_layers[CELLS_LAYERS + 1];
extern float cells_tensors[CELLS_LAYERS][CELLS_FLOATS];    /* [head], each in order (c, h, w) */
extern float cells_anchors[4]; /* (w, h) of two anchors, which all heads use */

/* Replaces the network by one that has no heads yet and whose input has this size. All tensors
 * become 0. */
void cells_start(int w, int h, bool letterbox);
struct mafat_layer *cells_add_layer(enum mafat_layer_type type, int h, int w, int c);
/* Adds a head of this type, [region] or [yolo] (Gaussian or not), with h x w cells. */
struct mafat_layer *cells_add(enum mafat_layer_type type, int h, int w, int n_anchors, int classes);

struct cell {
  int layer, anchor, y, x;
};

float *cells_element(int layer, int c, int y, int x);
/* Sets the values of one anchor in one cell: x, y, w, h (Gaussian: each is followed by its
 * sigma), objectness, and a probability for each class. */
void cells_set(struct cell at, const float *values);

/* cells_input prepares the input of detection for these tensors. cells_detect returns the
 * detections. */
struct mafat_detect_input cells_input(int picture_w, int picture_h);
struct mafat_detections *cells_detect(const struct mafat_detect_input *in, size_t boxes);

#endif
