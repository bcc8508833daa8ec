/* Computes sums, means and extremes over rows, columns or channels. Values are added as doubles, in
 * the order of rows, columns, channels. If channels are reduced, each output pixel has a lane of
 * its own (lanes.h); else each channel of a block has one. Called by the executor through the table
 * in kinds.c. Writes the step's output and the worker's scratch, in the arena; allocates
 * nothing. */
#include "runner/engine/kinds/lanes.h"
#include "runner/engine/kinds/rows.h"

#include <math.h>

/* Intermediate results of all lanes. */
struct reduce_totals {
  enum mafat_reduction how;
  bool last; /* argmin and argmax return the last index of equal values, else the first */
  double sum[MAFAT_LANES];
  float best[MAFAT_LANES];
  int at[MAFAT_LANES]; /* index of the best value, in the order of adding */
  int taken;           /* number of values added to each lane */
};

static void begin(struct reduce_totals *t, enum mafat_reduction how)
{
  bool least = how == MAFAT_REDUCE_MIN || how == MAFAT_REDUCE_ARG_MIN;
  t->how = how;
  t->taken = 0;
  for (int i = 0; i < MAFAT_LANES; i++) {
    t->sum[i] = how == MAFAT_REDUCE_PRODUCT;
    t->best[i] = how == MAFAT_REDUCE_LOG_SUM_EXP ? t->best[i] : least ? INFINITY : -INFINITY;
    t->at[i] = 0;
  }
}

MAFAT_LANES_INLINE void add_exponentials(struct reduce_totals *t, const float *x, int n)
{
  float less[MAFAT_LANES], e[MAFAT_LANES];
  for (int i = 0; i < n; i++) less[i] = x[i] - t->best[i];
  mafat_lanes_exponentials(less, e, n);
  for (int i = 0; i < n; i++) t->sum[i] += (double)e[i];
}

/* Adds value x[lane] to each of n lanes. */
MAFAT_LANES_INLINE void take_one(struct reduce_totals *t, const float *x, int n)
{
  switch (t->how) {
  case MAFAT_REDUCE_SUM:
  case MAFAT_REDUCE_MEAN:
  case MAFAT_REDUCE_LOG_SUM:
    for (int i = 0; i < n; i++) t->sum[i] += (double)x[i];
    break;
  case MAFAT_REDUCE_PRODUCT:
    for (int i = 0; i < n; i++) t->sum[i] *= (double)x[i];
    break;
  case MAFAT_REDUCE_L1:
    for (int i = 0; i < n; i++) t->sum[i] += fabs((double)x[i]);
    break;
  case MAFAT_REDUCE_L2:
  case MAFAT_REDUCE_SUM_OF_SQUARES:
    for (int i = 0; i < n; i++) t->sum[i] += (double)x[i] * (double)x[i];
    break;
  case MAFAT_REDUCE_LOG_SUM_EXP:
    add_exponentials(t, x, n);
    break;
  case MAFAT_REDUCE_MAX:
    for (int i = 0; i < n; i++) t->best[i] = x[i] > t->best[i] ? x[i] : t->best[i];
    break;
  case MAFAT_REDUCE_MIN:
    for (int i = 0; i < n; i++) t->best[i] = x[i] < t->best[i] ? x[i] : t->best[i];
    break;
  case MAFAT_REDUCE_ARG_MAX:
  case MAFAT_REDUCE_ARG_MIN:
    for (int i = 0; i < n; i++) {
      bool better = t->how == MAFAT_REDUCE_ARG_MAX ? x[i] > t->best[i] : x[i] < t->best[i];
      if (!better && !(t->last && x[i] == t->best[i])) continue;
      t->best[i] = x[i];
      t->at[i] = t->taken;
    }
    break;
  case MAFAT_N_REDUCTIONS: break;
  }
  t->taken++;
}

/* Adds `count` values to each of n lanes; a lane's values are `step` floats apart. */
static void take(struct reduce_totals *t, const float *x, size_t step, int count, int n)
{
  if (n == MAFAT_LANES)
    for (; count > 0; count--, x += step) take_one(t, x, MAFAT_LANES);
  else if (n == 1)
    for (; count > 0; count--, x += step) take_one(t, x, 1);
  else
    for (; count > 0; count--, x += step) take_one(t, x, n);
}

static float result(const struct reduce_totals *t, int lane)
{
  double sum = t->sum[lane];
  switch (t->how) {
  case MAFAT_REDUCE_MEAN: return (float)(sum / t->taken);
  case MAFAT_REDUCE_L2: return (float)sqrt(sum);
  case MAFAT_REDUCE_LOG_SUM: return (float)log(sum);
  case MAFAT_REDUCE_LOG_SUM_EXP: return (float)((double)t->best[lane] + log(sum));
  case MAFAT_REDUCE_MAX:
  case MAFAT_REDUCE_MIN: return t->best[lane];
  case MAFAT_REDUCE_ARG_MAX:
  case MAFAT_REDUCE_ARG_MIN: return (float)t->at[lane];
  default: return (float)sum;
  }
}

/* Input that is reduced to one output pixel or, if only channels are reduced, to n pixels. */
struct float_region {
  const struct mafat_worker *w;
  const struct mafat_layer *l;
  struct mafat_span rows, cols;
  const struct mafat_run *run; /* channels that are reduced separately; NULL: all are reduced */
  int n;                       /* lanes: channels of the run, or output pixels */
};

static struct float_region region_of(const struct mafat_worker *w, const struct mafat_layer *l,
                                     int y, int x)
{
  return (struct float_region){.w = w,
                               .l = l,
                               .rows = mafat_layer_in_span(l, 0, true, mafat_span(y, y + 1)),
                               .cols = mafat_layer_in_span(l, 0, false, mafat_span(x, x + 1))};
}

static void take_row(struct reduce_totals *t, const struct float_region *r, int y)
{
  const struct mafat_tensors *tensors = r->w->tensors;
  const struct mafat_sources *sources = mafat_layer_sources(r->l);
  if (r->run) {
    take(t, mafat_runs_read(tensors, sources, r->run, y, r->cols.begin),
         (size_t)mafat_tensors_pixel_floats(tensors, r->run->tensor, r->run->block),
         mafat_span_size(r->cols), r->n);
    return;
  }
  int lanes = r->w->scratch->lanes;
  for (int x = r->cols.begin; x < r->cols.end; x++) {
    mafat_lanes_read(r->w, r->l, y, x, r->n);
    take(t, mafat_lanes_memory(r->w), (size_t)lanes, r->l->in.c, lanes);
  }
}

static void take_all(struct reduce_totals *t, const struct float_region *r,
                     enum mafat_reduction how)
{
  begin(t, how);
  for (int y = r->rows.begin; y < r->rows.end; y++) take_row(t, r, y);
}

/* Reduces a region. For LOG_SUM_EXP it first finds the maximum, which it subtracts from the values
 * so that no exponential overflows. */
static void reduce(struct reduce_totals *t, const struct float_region *r)
{
  const struct mafat_reduce *reduce = r->l->reduce;
  t->last = reduce->last;
  if (reduce->how == MAFAT_REDUCE_LOG_SUM_EXP) take_all(t, r, MAFAT_REDUCE_MAX);
  take_all(t, r, reduce->how);
}

static void reduce_channels(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  struct mafat_lanes_unit unit;
  while (mafat_lanes_take(w, step, &unit))
    for (int x = unit.cols.begin; x < unit.cols.end; x += w->scratch->lanes) {
      struct reduce_totals t;
      struct float_region r = region_of(w, l, unit.y, x);
      r.n = mafat_min(w->scratch->lanes, unit.cols.end - x);
      reduce(&t, &r);
      /* the output has one channel, so its pixels are contiguous */
      float *out = mafat_tensors_pixel(w->tensors, step->layer, 0, unit.y, x);
      for (int i = 0; i < r.n; i++) out[i] = result(&t, i);
    }
}

static void reduce_run(const struct mafat_worker *w, const struct mafat_step *step,
                       const struct mafat_run *run, int y)
{
  const struct mafat_tensors *t = w->tensors;
  int pixel_floats = mafat_tensors_pixel_floats(t, step->layer, run->out_block);
  float *out = mafat_rows_out(w, step, run, y);
  for (int x = step->out.x.begin; x < step->out.x.end; x++, out += pixel_floats) {
    struct reduce_totals totals;
    struct float_region r = region_of(w, &t->network->layers[step->layer], y, x);
    r.run = run;
    r.n = run->n;
    reduce(&totals, &r);
    for (int c = 0; c < run->n; c++) out[c] = result(&totals, c);
  }
}

/* Reduces rows or columns. Workers take units from the team; a unit is a channel block of a row. */
static void reduce_map(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_sources *sources =
      mafat_layer_sources(&w->tensors->network->layers[step->layer]);
  int first = step->filters.begin / MAFAT_CHANNEL_BLOCK,
      n = mafat_n_blocks(step->filters.end) - first;
  for (int unit;
       (unit = mafat_team_take(w->team, w->index, n * mafat_span_size(step->out.y))) >= 0;) {
    int channel = (first + unit % n) * MAFAT_CHANNEL_BLOCK;
    struct mafat_runs runs = mafat_runs_of(
        sources, mafat_span(mafat_max(channel, step->filters.begin),
                            mafat_min(channel + MAFAT_CHANNEL_BLOCK, step->filters.end)));
    struct mafat_run run;
    while (mafat_runs_next(&runs, &run)) reduce_run(w, step, &run, step->out.y.begin + unit / n);
  }
}

static int run_reduce(const struct mafat_worker *w, const struct mafat_step *step)
{
  if (w->tensors->network->layers[step->layer].reduce->channels) reduce_channels(w, step);
  else reduce_map(w, step);
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_runner_reduce = {.run = run_reduce,
                                                      .sharing = MAFAT_SHARED_BY_UNITS};
