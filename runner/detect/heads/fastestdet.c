/* Head "fastestdet": decodes FastestDet, whose output has a value for each cell of one grid in maps
 * of objectness, of the box's x, y, width and height, and of each class. Reports only the best
 * class of each box. Called by runner/detect/detect.c and heads.c through the table in heads.c.
 * Reads the output and reports boxes through decoding.h; allocates nothing. */
#include "runner/detect/heads/head.h"

#include <math.h>

enum { BOX = 5 }; /* number of maps before the maps of the classes */

static const int strides[] = {16}; /* pixels of a cell's side */

static bool fits(const struct mafat_head_shapes *s, struct mafat_decoded *found)
{
  static const int64_t dims[] = {1, -1, -1, -1};
  if (s->n != 1 || !mafat_head_has(s, 0, 4, dims)) return false;
  const int64_t *out = s->list[0].dims;
  if (out[1] <= BOX || out[2] != (s->in_h + strides[0] - 1) / strides[0] ||
      out[3] != (s->in_w + strides[0] - 1) / strides[0]) return false;
  *found = (struct mafat_decoded){.boxes = (uint64_t)(out[2] * out[3]),
                                  .classes = (int)out[1] - BOX,
                                  .best = true,
                                  .declared = true};
  return true;
}

static double logistic(float x)
{
  return 1 / (1 + exp(-(double)x));
}

static double tangent(float x)
{
  return 2 * logistic(2 * x) - 1;
}

static void emit_box(struct mafat_decoding *d, uint32_t number, const float *v, int class,
                     float score)
{
  struct mafat_cell cell = mafat_cells_at(d->in_w, d->in_h, strides, number);
  int cols = (d->in_w + strides[0] - 1) / strides[0],
      rows = (d->in_h + strides[0] - 1) / strides[0];
  const struct mafat_rectangle box = {(float)((cell.x + tangent(v[1])) / cols),
                                      (float)((cell.y + tangent(v[2])) / rows),
                                      (float)logistic(v[3]), (float)logistic(v[4])};
  if (mafat_decoding_numbered(d, number, box)) mafat_decoding_class(d, class, score);
}

static void decode(struct mafat_decoding *d)
{
  long long cells = (long long)d->decoded->boxes;
  for (uint32_t number = 0; number < cells; number++) {
    float v[BOX], best = 0, value;
    int class = 0;
    mafat_decoding_read(d, 0, number, 1, &v[0]);
    /* the score is at most v[0]^.6, because a class probability is at most 1 */
    if (!(pow((double)v[0], .6) > (double)d->thresh)) continue;
    for (int i = 1; i < BOX; i++) mafat_decoding_read(d, 0, i * cells + number, 1, &v[i]);
    for (int c = 0; c < d->decoded->classes; c++) {
      mafat_decoding_read(d, 0, (BOX + c) * cells + number, 1, &value);
      if (c > 0 && !(value > best)) continue;
      best = value;
      class = c;
    }
    emit_box(d, number, v, class, (float)(pow((double)v[0], .6) * pow((double)best, .4)));
  }
}

static const struct mafat_usual_picture usual = {
    .rule = {.swapped = true, .scale = {1 / 255.f, 1 / 255.f, 1 / 255.f}, .pad = 114},
    .fit = MAFAT_FIT_STRETCH};

const struct mafat_outputs_head mafat_head_fastestdet = {
    .name = "fastestdet", .fits = fits, .usual = &usual, .decode = decode,
    .expects = "one output [1, 5 + classes, rows, columns] of cells of 16 x 16 pixels"};
