/* Head "nanodet": decodes NanoDet and NanoDet-Plus. Each cell has a score for each class and, for
 * each side of its box, a distribution of the side's distance from the cell, in cells. Called by
 * runner/detect/detect.c and heads.c through the table in heads.c. Reads the output and reports
 * boxes through decoding.h; allocates nothing. */
#include "runner/detect/heads/head.h"

#include <math.h>

/* DISTANCES: logits of one distribution, for distances 0 to 7; SIDES: sides of a box; BOX: logits
 * of a box; COCO: number of classes of the COCO data set */
enum { DISTANCES = 8, SIDES = 4, BOX = SIDES * DISTANCES, COCO = 80 };

static const int strides[] = {8, 16, 32, 64};

/* NanoDet-Plus has a fourth grid, of stride 64. */
static bool fits(const struct mafat_head_shapes *s, struct mafat_decoded *found)
{
  static const int64_t dims[] = {1, -1, -1};
  if (s->n != 1 || !mafat_head_has(s, 0, 3, dims) || s->list[0].dims[2] <= BOX)
    return false;
  int64_t cells = s->list[0].dims[1];
  bool plus = cells == mafat_cells_count(s->in_w, s->in_h, strides, 4);
  if (!plus && cells != mafat_cells_count(s->in_w, s->in_h, strides, 3)) return false;
  int classes = (int)s->list[0].dims[2] - BOX;
  *found = (struct mafat_decoded){
      .boxes = (uint64_t)cells, .classes = classes, .declared = plus || classes == COCO};
  return true;
}

/* Returns the mean of a distribution of distances, in cells, from its logits. */
static float distance(const float *likely)
{
  double sum = 0, weighted = 0, most = (double)likely[0];
  for (int i = 1; i < DISTANCES; i++) most = (double)likely[i] > most ? (double)likely[i] : most;
  for (int i = 0; i < DISTANCES; i++) {
    double e = exp((double)likely[i] - most);
    sum += e;
    weighted += i * e;
  }
  return (float)(weighted / sum);
}

static float within(float value, float most)
{
  return value < 0 ? 0 : value > most ? most : value;
}

/* Reports a box, clamped to the input. first: index of its first logit in the output. */
static bool emit_box(struct mafat_decoding *d, uint32_t number, long long first)
{
  float v[BOX], side[SIDES];
  struct mafat_cell cell = mafat_cells_at(d->in_w, d->in_h, strides, number);
  bool plus = d->decoded->boxes == (uint64_t)mafat_cells_count(d->in_w, d->in_h, strides, 4);
  float stride = (float)cell.stride, within_cell = plus ? 0 : .5f;
  float x = ((float)cell.x + within_cell) * stride, y = ((float)cell.y + within_cell) * stride;
  mafat_decoding_read(d, 0, first, BOX, v);
  for (int i = 0; i < SIDES; i++) side[i] = distance(v + i * DISTANCES) * stride;
  float w = (float)d->in_w, h = (float)d->in_h;
  return mafat_head_corners(d, number, within(x - side[0], w) / w, within(y - side[1], h) / h,
                            within(x + side[2], w) / w, within(y + side[3], h) / h);
}

static void decode(struct mafat_decoding *d)
{
  int per_box = d->decoded->classes + BOX;
  for (uint32_t number = 0; number < d->decoded->boxes; number++) {
    float best = 0;
    long long first = (long long)number * per_box;
    mafat_head_best(d, 0, first, &best);
    if (best > d->thresh && emit_box(d, number, first + d->decoded->classes))
      mafat_head_classes_of(d, 0, first, 1);
  }
}

static const struct mafat_usual_picture usual = {
    .rule = {.swapped = true, .mean = {103.53f, 116.28f, 123.675f},
             .scale = {1 / 57.375f, 1 / 57.12f, 1 / 58.395f}, .pad = 114},
    .fit = MAFAT_FIT_STRETCH};

const struct mafat_outputs_head mafat_head_nanodet = {
    .name = "nanodet", .fits = fits, .usual = &usual, .decode = decode,
    .expects = "one output [1, cells of strides 8, 16, 32 and, of NanoDet-Plus, 64, classes + 32]"};
