/* Interface of output heads, which decode the outputs of a family of detectors or classifiers. A
 * head is chosen by the outputs' dimensions when a model is opened. After a run it reports boxes
 * like detection layers do (runner/engine/decoding.h).
 *
 * A family is a file here and a row of the table in heads.c. Heads read values and allocate
 * nothing. Included by api and runner/detect. */
#ifndef MAFAT_RUNNER_DETECT_HEADS_HEAD_H
#define MAFAT_RUNNER_DETECT_HEADS_HEAD_H

#include "runner/engine/decoding.h"
#include "runner/image/image.h"

/* Outputs of a model file. */
struct mafat_head_shapes {
  int in_w, in_h;   /* the network's first input, in pixels */
  size_t in_n;      /* number of its elements */
  /* boxes are fractions of the input, as in TFLite exports; other exporters write pixels */
  bool relative_boxes;
  int n;
  const struct mafat_port_facts *list; /* (n) */
};

/* Preprocessing that the models of a family are trained with: (byte - mean) * scale. */
struct mafat_usual_picture {
  struct mafat_pixel_rule rule;
  enum mafat_fit fit;
};

struct mafat_outputs_head {
  const char *name;    /* value of --decode */
  const char *expects; /* expected dimensions, for messages */
  const struct mafat_usual_picture *usual; /* NULL: the family has no usual preprocessing */
  /* Checks whether the outputs fit, and then fills *found except for head and sign. `told`: no
   * other head has such dimensions. */
  bool (*fits)(const struct mafat_head_shapes *s, struct mafat_decoded *found);
  void (*decode)(struct mafat_decoding *d);
  /* Returns a point of box `number` in fractions of the input; NULL: boxes have no points. */
  void (*point)(const struct mafat_decoding *d, uint32_t number, int point, float *x, float *y);
  /* Classifies the whole picture, in place of both. */
  void (*classify)(const struct mafat_decoding *d, struct mafat_class_score *top, int k, int *n);
};

extern const struct mafat_outputs_head mafat_head_yolox, mafat_head_yolov5, mafat_head_yolov8,
    mafat_head_nanodet, mafat_head_fastestdet, mafat_head_ssd, mafat_head_ultraface,
    mafat_head_yunet, mafat_head_classes;

/* Returns the name of the head that decodes the network's outputs; NULL: none. */
static inline const char *mafat_head_name(const struct mafat_network *n)
{
  return n->decoded.head ? n->decoded.head->name : NULL;
}

/* True if output `index` exists and has these dimensions. -1 matches any size from 1 to
 * INT32_MAX. */
bool mafat_head_has(const struct mafat_head_shapes *s, int index, int rank, const int64_t *dims);

/* ---- cells: one per stride x stride pixels, in row order, grids one after the other ---- */

struct mafat_cell {
  int stride, x, y;
};

/* Returns the cells of all grids; strides: (n). */
int64_t mafat_cells_count(int in_w, int in_h, const int *strides, int n);
/* Returns a cell by its number, which must be in range. */
struct mafat_cell mafat_cells_at(int in_w, int in_h, const int *strides, long long number);

/* ---- reporting ---- */

/* Reports a box by its centre, in pixels of the input. */
bool mafat_head_box(struct mafat_decoding *d, uint32_t number, float x, float y, float w, float h);
/* Reports a box by its corners, in fractions of the input. */
bool mafat_head_corners(struct mafat_decoding *d, uint32_t number, float left, float top,
                        float right, float bottom);
/* Reports all classes of the last box: scores from element `first` on, times a factor. */
void mafat_head_classes_of(struct mafat_decoding *d, int which, long long first, float factor);
/* Returns the best class from element `first` on; of equals, the lower one. */
int mafat_head_best(const struct mafat_decoding *d, int which, long long first, float *value);

#endif
