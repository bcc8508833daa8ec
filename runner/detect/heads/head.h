/* A head that is no layer: how the outputs of a family of detectors, or of classifiers, are read. What it looks at
 * when a model is opened are dimensions alone; once a run is done it tells of its boxes as kinds of heads do
 * (runner/engine/decoding.h).
 *
 * A family is a file and a row of the table (heads.c). */
#ifndef MAFAT_RUNNER_DETECT_HEADS_HEAD_H
#define MAFAT_RUNNER_DETECT_HEADS_HEAD_H

#include "runner/engine/decoding.h"

/* What a file puts out. */
struct mafat_head_shapes {
  int in_w, in_h;   /* of the network's first input, pixels */
  size_t in_n;      /* its elements */
  bool relative_boxes; /* in shares of the input, where exporters to other formats write pixels */
  int n;
  const struct mafat_port_facts *list; /* (n) */
};

struct mafat_outputs_head {
  const char *name;    /* --decode's */
  const char *expects; /* dimensions, for messages */
  /* Can these outputs be read so? Then what they hold, but for head and sign; `told`: nothing else has such
   * dimensions. */
  bool (*fits)(const struct mafat_head_shapes *s, struct mafat_decoded *found);
  void (*decode)(struct mafat_decoding *d);
  /* A point of box `number`, in shares of the network's input; NULL: they have none. */
  void (*point)(const struct mafat_decoding *d, uint32_t number, int point, float *x, float *y);
  /* Of the whole picture, in place of both. */
  void (*classify)(const struct mafat_decoding *d, struct mafat_class_score *top, int k, int *n);
};

extern const struct mafat_outputs_head mafat_head_yolox, mafat_head_yolov5, mafat_head_yolov8, mafat_head_nanodet,
    mafat_head_fastestdet, mafat_head_ssd, mafat_head_ultraface, mafat_head_yunet, mafat_head_classes;

/* Of the head that reads a network's outputs; NULL: none does. */
static inline const char *mafat_head_name(const struct mafat_network *n)
{
  return n->decoded.head ? n->decoded.head->name : NULL;
}

/* Is output `index` there, of these dimensions? -1: of any size, 1 or more, that an int holds. */
bool mafat_head_has(const struct mafat_head_shapes *s, int index, int rank, const int64_t *dims);

/* ---- cells: one for each so many pixels of the input, row by row, one grid behind the other ---- */

struct mafat_cell {
  int stride, x, y;
};

/* Of all grids; strides: (n). */
int64_t mafat_cells_count(int in_w, int in_h, const int *strides, int n);
/* Of those cells; number: less than they are. */
struct mafat_cell mafat_cells_at(int in_w, int in_h, const int *strides, long long number);

/* ---- telling ---- */

/* A box by its centre, all in pixels of the input. */
bool mafat_head_box(struct mafat_decoding *d, uint32_t number, float x, float y, float w, float h);
/* The same by its corners, in shares of the input. */
bool mafat_head_corners(struct mafat_decoding *d, uint32_t number, float left, float top, float right, float bottom);
/* All classes of the box that was told last: their numbers from `first` on, each times a factor. */
void mafat_head_classes_of(struct mafat_decoding *d, int which, long long first, float factor);
/* The best class from `first` on, of equals the lower; its number. */
int mafat_head_best(const struct mafat_decoding *d, int which, long long first, float *value);

#endif
