/* A network of Darknet's heads only, and their tensors, whose cells a test sets: what detections
 * are made of. One at a time. */
#ifndef MAFAT_TESTS_SUPPORT_CELLS_H
#define MAFAT_TESTS_SUPPORT_CELLS_H

#include "runner/detect/detect.h"

enum { CELLS_LAYERS = 4, CELLS_FLOATS = 1024 };

extern struct mafat_network cells_network;
extern struct mafat_layer cells_layers[CELLS_LAYERS + 1];  /* the input is behind all others */
extern float cells_tensors[CELLS_LAYERS][CELLS_FLOATS];    /* (c, h, w) each */
extern float cells_anchors[4];                             /* of every head; (2, 2) */

/* Starts cells without a layer, with an input of this size. */
void cells_start(int w, int h, bool letterbox);
struct mafat_layer *cells_add_layer(enum mafat_layer_type type, int h, int w, int c);
/* [region] or [yolo], Gaussian or not, of h x w cells. */
struct mafat_layer *cells_add(enum mafat_layer_type type, int h, int w, int n_anchors, int classes);

struct cell {
  int layer, anchor, y, x;
};

float *cells_element(int layer, int c, int y, int x);
/* Values of one anchor of one cell: x, y, w, h (Gaussian: each with its sigma), objectness,
 * class probabilities. */
void cells_set(struct cell at, const float *values);

/* tests/unit/detect/detections.h, of these tensors. */
struct mafat_detect_input cells_input(int picture_w, int picture_h);
struct mafat_detections *cells_detect(const struct mafat_detect_input *in, size_t boxes);

#endif
