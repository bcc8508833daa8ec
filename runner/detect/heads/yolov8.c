/* Head "yolov8": decodes exported YOLOv8, v9 and v11, whose output has a column for each box, with
 * center and size in pixels (or fractions) of the input, and classes. Reports only the best class
 * of each box, as the original YOLO programs do. Called by runner/detect/detect.c and heads.c
 * through the table in heads.c. Reads the output and reports boxes through decoding.h; allocates
 * nothing. */
#include "runner/detect/heads/head.h"

enum { BOX = 4, PART = 64 }; /* BOX: rows before the classes; PART: boxes that are read at a time */

static const int strides[] = {8, 16, 32};

static bool fits(const struct mafat_head_shapes *s, struct mafat_decoded *found)
{
  static const int64_t dims[] = {1, -1, -1};
  if (s->n != 1 || !mafat_head_has(s, 0, 3, dims) || s->list[0].dims[1] <= BOX)
    return false;
  int64_t boxes = s->list[0].dims[2];
  bool declared = boxes == mafat_cells_count(s->in_w, s->in_h, strides, 3);
  *found = (struct mafat_decoded){.boxes = (uint64_t)boxes,
                                  .classes = (int)s->list[0].dims[1] - BOX,
                                  .best = true,
                                  .shares = s->relative_boxes,
                                  .declared = declared};
  return true;
}

/* n consecutive boxes, from box `first` on, and their best classes with scores. */
struct boxes {
  long long first;
  int n;
  int class[PART];
  float best[PART], values[BOX][PART];
};

/* Finds the best class of each box. Reads row by row, because a row is contiguous. */
static void read_best(const struct mafat_decoding *d, struct boxes *b)
{
  float row[PART];
  long long all = (long long)d->decoded->boxes;
  for (int c = 0; c < d->decoded->classes; c++) {
    mafat_decoding_read(d, 0, (BOX + c) * all + b->first, b->n, row);
    for (int i = 0; i < b->n; i++) {
      if (c > 0 && !(row[i] > b->best[i])) continue;
      b->best[i] = row[i];
      b->class[i] = c;
    }
  }
}

static void decode(struct mafat_decoding *d)
{
  struct boxes b;
  long long all = (long long)d->decoded->boxes;
  float w = d->decoded->shares ? (float)d->in_w : 1, h = d->decoded->shares ? (float)d->in_h : 1;
  for (b.first = 0; b.first < all; b.first += b.n) {
    b.n = all - b.first < PART ? (int)(all - b.first) : PART;
    for (int v = 0; v < BOX; v++) mafat_decoding_read(d, 0, v * all + b.first, b.n, b.values[v]);
    read_best(d, &b);
    for (int i = 0; i < b.n; i++)
      if (b.best[i] > d->thresh &&
          mafat_head_box(d, (uint32_t)(b.first + i), b.values[0][i] * w, b.values[1][i] * h,
                         b.values[2][i] * w, b.values[3][i] * h))
        mafat_decoding_class(d, b.class[i], b.best[i]);
  }
}

static const struct mafat_usual_picture usual = {
    .rule = {.scale = {1 / 255.f, 1 / 255.f, 1 / 255.f}, .pad = 114},
    .fit = MAFAT_FIT_LETTERBOX};

const struct mafat_outputs_head mafat_head_yolov8 = {.name = "yolov8",
                                                     .fits = fits,
                                                     .usual = &usual,
                                                     .decode = decode,
                                                     .expects =
                                                         "one output [1, 4 + classes, boxes]"};
