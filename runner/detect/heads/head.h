/* Interface of output heads. An output head decodes the outputs of one family of detectors or
 * classifiers, whose networks have no detection layers. It is chosen by name or by the outputs'
 * dimensions when a model is opened (heads.h). After a run it reports boxes as detection layers do
 * (runner/engine/decoding.h), or returns classes. Each head has a file here and a row in the table
 * in heads.c. Heads allocate nothing. Included by api and runner/detect. */
#ifndef MAFAT_RUNNER_DETECT_HEADS_HEAD_H
#define MAFAT_RUNNER_DETECT_HEADS_HEAD_H

#include "runner/engine/decoding.h"
#include "runner/image/image.h"

/* Dimensions of a model's input and outputs. */
struct mafat_head_shapes {
  int in_w, in_h;   /* width and height of the network's first input, in pixels */
  size_t in_n;      /* number of elements of that input */
  /* boxes are in fractions of the input, as in TFLite exports; else in pixels */
  bool relative_boxes;
  int n; /* number of outputs */
  const struct mafat_port_facts *list; /* (n): name and dimensions of each output */
};

/* Preprocessing of pictures with which the models of a family are trained: (byte - mean) * scale,
 * and how the picture is fitted into the input. */
struct mafat_usual_picture {
  struct mafat_pixel_rule rule;
  enum mafat_fit fit;
};

struct mafat_outputs_head {
  const char *name;    /* name in the option --decode */
  const char *expects; /* dimensions that the outputs must have, for messages */
  const struct mafat_usual_picture *usual; /* NULL: the family has no usual preprocessing */
  /* Returns true if this head can decode outputs of these dimensions. Then fills *found, except for
   * `head` and `sign`, and sets found->declared if no other head has these dimensions. */
  bool (*fits)(const struct mafat_head_shapes *s, struct mafat_decoded *found);
  /* Reports all boxes. NULL: a classifier. */
  void (*decode)(struct mafat_decoding *d);
  /* Sets *x and *y to a point of box `number`, in fractions of the input. NULL: boxes have no
   * points. */
  void (*point)(const struct mafat_decoding *d, uint32_t number, int point, float *x, float *y);
  /* Sets `top` to the k most likely classes and *n to their number. NULL: not a classifier. */
  void (*classify)(const struct mafat_decoding *d, struct mafat_class_score *top, int k, int *n);
};

extern const struct mafat_outputs_head mafat_head_yolox, mafat_head_yolov5, mafat_head_yolov8,
    mafat_head_nanodet, mafat_head_fastestdet, mafat_head_ssd, mafat_head_ultraface,
    mafat_head_yunet, mafat_head_classes;

/* Returns the name of the head that decodes the network's outputs. NULL: there is none. */
static inline const char *mafat_head_name(const struct mafat_network *n)
{
  return n->decoded.head ? n->decoded.head->name : NULL;
}

/* True if output `index` exists and has these dimensions. -1 matches any size from 1 to
 * INT32_MAX. */
bool mafat_head_has(const struct mafat_head_shapes *s, int index, int rank, const int64_t *dims);

/* ---- cells ---- */

/* A grid divides the input into cells of stride x stride pixels. Cells are numbered row by row; the
 * numbers of the next stride's grid follow. */
struct mafat_cell {
  int stride, x, y; /* x, y: column and row in the grid */
};

/* Returns the number of cells of n grids, which have the given strides in pixels. */
int64_t mafat_cells_count(int in_w, int in_h, const int *strides, int n);
/* Returns a cell by its number, which must be in range. */
struct mafat_cell mafat_cells_at(int in_w, int in_h, const int *strides, long long number);

/* ---- reporting ---- */

/* Reports a box by its center and size, in pixels of the input. False: it contains NaN and is
 * ignored. */
bool mafat_head_box(struct mafat_decoding *d, uint32_t number, float x, float y, float w, float h);
/* Reports a box by its corners, in fractions of the input. False: it contains NaN and is
 * ignored. */
bool mafat_head_corners(struct mafat_decoding *d, uint32_t number, float left, float top,
                        float right, float bottom);
/* Reports all classes of the last box. Their scores are the elements from `first` on of the head's
 * output number `which`, multiplied by `factor`. */
void mafat_head_classes_of(struct mafat_decoding *d, int which, long long first, float factor);
/* Returns the class whose score is the highest of the elements from `first` on of the head's output
 * number `which`; among equals, the lower class. *value: that score. */
int mafat_head_best(const struct mafat_decoding *d, int which, long long first, float *value);

#endif
