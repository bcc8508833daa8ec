/* Head "yolov5": decodes exported YOLOv5 and v7, whose output has a row for each box: center and
 * size in pixels (or fractions) of the input, objectness, classes. Reports only the best class of
 * each box, as the programs of YOLOv5 do. Called by runner/detect/detect.c and heads.c through the
 * table in heads.c. Reads the output and reports boxes through decoding.h; allocates nothing. */
#include "runner/detect/heads/head.h"

/* BOX: values of a row before the classes; ANCHORS: boxes of a cell */
enum { BOX = 5, ANCHORS = 3 };

static const int strides[] = {8, 16, 32, 64};

static bool fits(const struct mafat_head_shapes *s, struct mafat_decoded *found)
{
  static const int64_t dims[] = {1, -1, -1};
  if (s->n < 1 || !mafat_head_has(s, 0, 3, dims) || s->list[0].dims[2] <= BOX) return false;
  int64_t boxes = s->list[0].dims[1];
  bool declared = boxes == ANCHORS * mafat_cells_count(s->in_w, s->in_h, strides, 3) ||
              boxes == ANCHORS * mafat_cells_count(s->in_w, s->in_h, strides, 4);
  *found = (struct mafat_decoded){.boxes = (uint64_t)boxes,
                                  .classes = (int)s->list[0].dims[2] - BOX,
                                  .best = true,
                                  .shares = s->relative_boxes,
                                  .declared = declared};
  return true;
}

static void decode(struct mafat_decoding *d)
{
  int per_box = d->decoded->classes + BOX;
  float w = d->decoded->shares ? (float)d->in_w : 1, h = d->decoded->shares ? (float)d->in_h : 1;
  for (uint32_t number = 0; number < d->decoded->boxes; number++) {
    float v[BOX], value = 0;
    long long first = (long long)number * per_box;
    mafat_decoding_read(d, 0, first, BOX, v);
    if (!(v[4] > d->thresh)) continue;
    int class = mafat_head_best(d, 0, first + BOX, &value);
    if (mafat_head_box(d, number, v[0] * w, v[1] * h, v[2] * w, v[3] * h))
      mafat_decoding_class(d, class, v[4] * value);
  }
}

static const struct mafat_usual_picture usual = {
    .rule = {.scale = {1 / 255.f, 1 / 255.f, 1 / 255.f}, .pad = 114},
    .fit = MAFAT_FIT_LETTERBOX};

const struct mafat_outputs_head mafat_head_yolov5 = {.name = "yolov5",
                                                     .fits = fits,
                                                     .usual = &usual,
                                                     .decode = decode,
                                                     .expects =
                                                         "a first output [1, boxes, 5 + classes]"};
