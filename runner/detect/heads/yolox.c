/* Head "yolox": decodes YOLOX, whose output has for each cell of three grids: the offset of the
 * box's center in the cell, the logarithm of its size in cells, objectness, and classes. Called by
 * runner/detect/detect.c and heads.c through the table in heads.c. Reads the output and reports
 * boxes through decoding.h; allocates nothing. */
#include "runner/detect/heads/head.h"

#include <math.h>

enum { BOX = 5 }; /* values before the classes */

static const int strides[] = {8, 16, 32};

static bool fits(const struct mafat_head_shapes *s, struct mafat_decoded *found)
{
  int64_t cells = mafat_cells_count(s->in_w, s->in_h, strides, 3);
  const int64_t dims[] = {1, cells, -1};
  if (s->n != 1 || !mafat_head_has(s, 0, 3, dims) || s->list[0].dims[2] <= BOX) return false;
  *found = (struct mafat_decoded){
      .boxes = (uint64_t)cells, .classes = (int)s->list[0].dims[2] - BOX, .declared = true};
  return true;
}

static void decode(struct mafat_decoding *d)
{
  int per_box = d->decoded->classes + BOX;
  for (uint32_t number = 0; number < d->decoded->boxes; number++) {
    float v[BOX];
    long long first = (long long)number * per_box;
    mafat_decoding_read(d, 0, first, BOX, v);
    if (!(v[4] > d->thresh)) continue;
    struct mafat_cell cell = mafat_cells_at(d->in_w, d->in_h, strides, number);
    float stride = (float)cell.stride;
    if (mafat_head_box(d, number, (v[0] + (float)cell.x) * stride, (v[1] + (float)cell.y) * stride,
                       (float)exp((double)v[2]) * stride, (float)exp((double)v[3]) * stride))
      mafat_head_classes_of(d, 0, first + BOX, v[4]);
  }
}

/* Preprocessing of demo/ONNXRuntime in YOLOX since 0.1.1: values stay from 0 to 255. */
static const struct mafat_usual_picture usual = {
    .rule = {.swapped = true, .scale = {1, 1, 1}, .pad = 114},
    .fit = MAFAT_FIT_CORNER};

const struct mafat_outputs_head mafat_head_yolox = {
    .name = "yolox", .fits = fits, .usual = &usual, .decode = decode,
    .expects = "one output [1, cells of strides 8, 16 and 32, 5 + classes]"};
