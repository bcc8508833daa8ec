/* A network of detection heads only, and its tensors, in which a test sets cells. One network at
 * a time, in static variables. Included by the suites in tests/unit/detect. */
#ifndef MAFAT_TESTS_SUPPORT_CELLS_H
#define MAFAT_TESTS_SUPPORT_CELLS_H

#include "runner/detect/detect.h"

enum { CELLS_LAYERS = 4, CELLS_FLOATS = 1024 };

extern struct mafat_network cells_network;
extern struct mafat_layer cells_layers[CELLS_LAYERS + 1];  /* the input is the last one */
extern float cells_tensors[CELLS_LAYERS][CELLS_FLOATS];    /* (c, h, w) each */
extern float cells_anchors[4];                             /* (2, 2), for every head */

/* Starts a network without heads, with an input of this size. */
void cells_start(int w, int h, bool letterbox);
struct mafat_layer *cells_add_layer(enum mafat_layer_type type, int h, int w, int c);
/* [region] or [yolo], Gaussian or not, of h x w cells. */
struct mafat_layer *cells_add(enum mafat_layer_type type, int h, int w, int n_anchors, int classes);

struct cell {
  int layer, anchor, y, x;
};

float *cells_element(int layer, int c, int y, int x);
/* Sets the values of an anchor of a cell: x, y, w, h (Gaussian: each followed by its sigma),
 * objectness, class probabilities. */
void cells_set(struct cell at, const float *values);

/* An input for detections in these tensors, and the detections. */
struct mafat_detect_input cells_input(int picture_w, int picture_h);
struct mafat_detections *cells_detect(const struct mafat_detect_input *in, size_t boxes);

#endif
