/* Head "yunet": decodes YuNet, which detects faces with five points each (the person's right eye,
 * left eye, nose, right and left corner of the mouth). Each of three grids has four outputs: two
 * scores (the confidence is their geometric mean), a box, and the five points. Called by
 * runner/detect/detect.c and heads.c through the table in heads.c. Reads the outputs and reports
 * boxes through decoding.h; allocates nothing. */
#include "runner/detect/heads/head.h"

#include <math.h>

/* CLASS, OBJECT, BOXES, POINTS: position of the first grid's output in mafat_decoded.outputs */
enum { GRIDS = 3, CLASS = 0, OBJECT = 3, BOXES = 6, POINTS = 9, N_POINTS = 5, N_OUTPUTS = 12 };

static const int strides[] = {8, 16, 32};

/* Returns the index of the nth output, from 0, that has `numbers` values for each cell of a grid.
 * -1: there is none. */
static int find(const struct mafat_head_shapes *s, int grid, int numbers, int nth)
{
  const int64_t dims[] = {1, mafat_cells_count(s->in_w, s->in_h, &strides[grid], 1), numbers};
  for (int i = 0; i < s->n; i++)
    if (mafat_head_has(s, i, 3, dims) && nth-- == 0) return i;
  return -1;
}

/* Finds the outputs by their dimensions, in any order. The two scores are interchangeable. */
static bool fits(const struct mafat_head_shapes *s, struct mafat_decoded *found)
{
  if (s->n != N_OUTPUTS) return false;
  struct mafat_decoded f = {.boxes = (uint64_t)mafat_cells_count(s->in_w, s->in_h, strides, GRIDS),
                            .classes = 1,
                            .points = N_POINTS,
                            .declared = true};
  for (int g = 0; g < GRIDS; g++) {
    f.outputs[CLASS + g] = find(s, g, 1, 0);
    f.outputs[OBJECT + g] = find(s, g, 1, 1);
    f.outputs[BOXES + g] = find(s, g, 4, 0);
    f.outputs[POINTS + g] = find(s, g, 2 * N_POINTS, 0);
  }
  for (int i = 0; i < N_OUTPUTS; i++)
    if (f.outputs[i] < 0) return false;
  *found = f;
  return true;
}

/* Position of a box's values in the outputs. */
struct grid_cell {
  int grid;
  long long index; /* index of its cell in the grid */
  struct mafat_cell cell;
};

static struct grid_cell find_place(const struct mafat_decoding *d, uint32_t number)
{
  struct grid_cell p = {.index = number, .cell = mafat_cells_at(d->in_w, d->in_h, strides, number)};
  for (; strides[p.grid] != p.cell.stride; p.grid++)
    p.index -= mafat_cells_count(d->in_w, d->in_h, &strides[p.grid], 1);
  return p;
}

/* Clamps a score to 0 ... 1. */
static double share(float x)
{
  return x < 0 ? 0 : x > 1 ? 1 : (double)x;
}

static void decode(struct mafat_decoding *d)
{
  for (uint32_t number = 0; number < d->decoded->boxes; number++) {
    struct grid_cell p = find_place(d, number);
    float of_class, of_object, v[4], stride = (float)p.cell.stride;
    mafat_decoding_read(d, CLASS + p.grid, p.index, 1, &of_class);
    mafat_decoding_read(d, OBJECT + p.grid, p.index, 1, &of_object);
    float score = (float)sqrt(share(of_class) * share(of_object));
    if (!(score > d->thresh)) continue;
    mafat_decoding_read(d, BOXES + p.grid, 4 * p.index, 4, v);
    if (mafat_head_box(d, number, (v[0] + (float)p.cell.x) * stride,
                       (v[1] + (float)p.cell.y) * stride, (float)exp((double)v[2]) * stride,
                       (float)exp((double)v[3]) * stride))
      mafat_decoding_class(d, 0, score);
  }
}

static void find_point(const struct mafat_decoding *d, uint32_t number, int point, float *x,
                       float *y)
{
  struct grid_cell p = find_place(d, number);
  float v[2];
  mafat_decoding_read(d, POINTS + p.grid, 2 * N_POINTS * p.index + 2 * point, 2, v);
  *x = (v[0] + (float)p.cell.x) * (float)p.cell.stride / (float)d->in_w;
  *y = (v[1] + (float)p.cell.y) * (float)p.cell.stride / (float)d->in_h;
}

static const struct mafat_usual_picture usual = {
    .rule = {.swapped = true, .scale = {1, 1, 1}, .pad = 114},
    .fit = MAFAT_FIT_STRETCH};

const struct mafat_outputs_head mafat_head_yunet = {
    .name = "yunet",
    .fits = fits,
    .usual = &usual,
    .decode = decode,
    .point = find_point,
    .expects = "for each of the strides 8, 16 and 32 two outputs [1, cells, 1], one [1, cells, 4], "
               "one [1, cells, 10]"};
