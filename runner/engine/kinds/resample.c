/* Resizes maps with interpolation. Linear: the weighted mean of the left and right pixel in the
 * rows above and below the point, then of these two means. Cubic: the weighted sum of four pixels
 * in each of four rows, then of these sums. Nearest: copies a pixel. Called by the executor through
 * the table in kinds.c. Writes the step's output in the arena; allocates nothing. */
#include "network/resample.h"

#include "runner/engine/kinds/rows.h"

#include <string.h>

enum {
  COLUMNS = 64, /* output columns whose taps are computed at a time */
  COLOURS = 3
};

/* n output columns from `begin` on. Their taps are the input columns that each is interpolated
 * from, with weights. */
struct tap_columns {
  int begin, n, first;          /* first: input column at which row pointers point */
  bool cubic;
  union {
    struct mafat_tap taps[COLUMNS];
    struct mafat_cubic_tap cubic_taps[COLUMNS];
  };
};

static struct tap_columns columns_of(const struct mafat_layer *l, int begin, int end)
{
  struct tap_columns c;
  const struct mafat_points points = mafat_resample_points(l->resample, false, l->in.w);
  c.begin = begin;
  c.n = mafat_min(end - begin, COLUMNS);
  c.cubic = l->resample->interpolation == MAFAT_INTERPOLATE_CUBIC;
  for (int i = 0; i < c.n; i++) {
    if (c.cubic) c.cubic_taps[i] = mafat_points_cubic_tap(&points, begin + i);
    else c.taps[i] = mafat_points_tap(&points, begin + i);
  }
  c.first = c.cubic ? c.cubic_taps[0].at[0] : c.taps[0].at;
  return c;
}

/* Part of an output row, in one channel block, and the input rows from which it is computed. */
struct resample_row {
  float *to;
  const float *above, *below;
  size_t to_pixel, from_pixel; /* floats from a pixel to the next, in output and input */
  float weight; /* weight of the row below */
};

static inline void copy_row(const struct resample_row *r, const struct tap_columns *c, int n)
{
  float *to = r->to;
  for (int i = 0; i < c->n; i++, to += r->to_pixel) {
    const float *from = r->above + (size_t)(c->taps[i].at - c->first) * r->from_pixel;
    memcpy(to, from, (size_t)n * sizeof *to);
  }
}

/* Interpolates n channels between four corners. across, down: weights of the right and the lower
 * corners. */
static inline void mix(float *restrict to, const float *const corners[4], float across, float down,
                       int n)
{
  const float *restrict a = corners[0], *restrict b = corners[1], *restrict c = corners[2],
                        *restrict d = corners[3];
  for (int k = 0; k < n; k++) {
    float upper = a[k] * (1 - across) + b[k] * across;
    float lower = c[k] * (1 - across) + d[k] * across;
    to[k] = upper * (1 - down) + lower * down;
  }
}

static inline void mix_row(const struct resample_row *r, const struct tap_columns *c, int n)
{
  float *to = r->to;
  for (int i = 0; i < c->n; i++, to += r->to_pixel) {
    size_t left = (size_t)(c->taps[i].at - c->first) * r->from_pixel;
    size_t right = (size_t)(c->taps[i].next - c->first) * r->from_pixel;
    const float *const corners[] = {r->above + left, r->above + right, r->below + left,
                                    r->below + right};
    mix(to, corners, c->taps[i].weight, r->weight, n);
  }
}

/* Computes a row. Constant numbers of channels let the compiler vectorize the loops. */
static void make_row(const struct resample_row *r, const struct tap_columns *c, int n, bool linear)
{
  if (linear && n == MAFAT_CHANNEL_BLOCK) mix_row(r, c, MAFAT_CHANNEL_BLOCK);
  else if (linear && n == COLOURS) mix_row(r, c, COLOURS);
  else if (linear) mix_row(r, c, n);
  else if (n == MAFAT_CHANNEL_BLOCK) copy_row(r, c, MAFAT_CHANNEL_BLOCK);
  else copy_row(r, c, n);
}

/* ---- cubic ---- */

struct cubic_row {
  float *to;
  const float *rows[4];
  size_t to_pixel, from_pixel;
  float weights[4]; /* weights of the rows */
};

static inline float sum_of(const float *from, const size_t places[4], const float weights[4])
{
  return ((from[places[0]] * weights[0] + from[places[1]] * weights[1]) +
          from[places[2]] * weights[2]) +
         from[places[3]] * weights[3];
}

static inline void sum_row(const struct cubic_row *r, const struct tap_columns *c, int n)
{
  float *restrict to = r->to;
  for (int i = 0; i < c->n; i++, to += r->to_pixel) {
    const struct mafat_cubic_tap *tap = &c->cubic_taps[i];
    size_t places[4];
    for (int k = 0; k < 4; k++) places[k] = (size_t)(tap->at[k] - c->first) * r->from_pixel;
    for (int k = 0; k < n; k++) {
      float sum = sum_of(r->rows[0] + k, places, tap->weights) * r->weights[0];
      for (int row = 1; row < 4; row++)
        sum += sum_of(r->rows[row] + k, places, tap->weights) * r->weights[row];
      to[k] = sum;
    }
  }
}

static void make_cubic_run(const struct mafat_worker *w, const struct mafat_step *step,
                           const struct mafat_run *run, const struct tap_columns *c)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  const struct mafat_points points = mafat_resample_points(l->resample, true, l->in.h);
  struct cubic_row row = {
      .to_pixel = (size_t)mafat_tensors_pixel_floats(t, step->layer, run->out_block),
      .from_pixel = (size_t)mafat_tensors_pixel_floats(t, run->tensor, run->block)};
  for (int y = step->out.y.begin; y < step->out.y.end; y++) {
    const struct mafat_cubic_tap tap = mafat_points_cubic_tap(&points, y);
    row.to = mafat_tensors_pixel(t, step->layer, run->out_block, y, c->begin) + run->out_lane;
    for (int k = 0; k < 4; k++)
      row.rows[k] = mafat_runs_read(t, mafat_layer_sources(l), run, tap.at[k], c->first);
    memcpy(row.weights, tap.weights, sizeof row.weights);
    if (run->n == MAFAT_CHANNEL_BLOCK) sum_row(&row, c, MAFAT_CHANNEL_BLOCK);
    else sum_row(&row, c, run->n);
  }
}

/* ---- steps ---- */

static void make_run(const struct mafat_worker *w, const struct mafat_step *step,
                     const struct mafat_run *run, const struct tap_columns *c)
{
  const struct mafat_tensors *t = w->tensors;
  const struct mafat_layer *l = &t->network->layers[step->layer];
  const struct mafat_sources *sources = mafat_layer_sources(l);
  const struct mafat_points points = mafat_resample_points(l->resample, true, l->in.h);
  struct resample_row row = {
      .to_pixel = (size_t)mafat_tensors_pixel_floats(t, step->layer, run->out_block),
      .from_pixel = (size_t)mafat_tensors_pixel_floats(t, run->tensor, run->block)};
  for (int y = step->out.y.begin; y < step->out.y.end; y++) {
    struct mafat_tap tap = mafat_points_tap(&points, y);
    row.to = mafat_tensors_pixel(t, step->layer, run->out_block, y, c->begin) + run->out_lane;
    row.above = mafat_runs_read(t, sources, run, tap.at, c->first);
    row.below = mafat_runs_read(t, sources, run, tap.next, c->first);
    row.weight = tap.weight;
    make_row(&row, c, run->n, l->resample->interpolation == MAFAT_INTERPOLATE_LINEAR);
  }
}

static int run_resample(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  for (int x = step->out.x.begin; x < step->out.x.end; x += COLUMNS) {
    const struct tap_columns c = columns_of(l, x, step->out.x.end);
    struct mafat_runs runs = mafat_runs_of(mafat_layer_sources(l), step->filters);
    struct mafat_run run;
    while (mafat_runs_next(&runs, &run)) {
      if (c.cubic) make_cubic_run(w, step, &run, &c);
      else make_run(w, step, &run, &c);
    }
  }
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_runner_resample = {.run = run_resample,
                                                        .sharing = MAFAT_SHARED_BY_ROWS};
