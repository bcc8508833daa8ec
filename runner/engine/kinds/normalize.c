/* Normalizes the channels of each pixel (softmax, layer normalization and others), with one lane
 * (lanes.h) for each pixel. Sums are doubles, added channel by channel. Called by the executor
 * through the table in kinds.c. Writes the step's output and the worker's scratch, in the arena;
 * allocates nothing. */
#include "runner/engine/kinds/lanes.h"

#include <math.h>

/* Sum and maximum over the channels of each lane. */
struct norm_totals {
  double sum[MAFAT_LANES];
  float largest[MAFAT_LANES];
};

MAFAT_LANES_INLINE void find_largest(const float *x, int channels, struct norm_totals *t, int lanes)
{
  for (int i = 0; i < lanes; i++) t->largest[i] = -INFINITY;
  for (int c = 0; c < channels; c++, x += lanes)
    for (int i = 0; i < lanes; i++) t->largest[i] = x[i] > t->largest[i] ? x[i] : t->largest[i];
}

/* Subtracts each lane's maximum from x, and sums the exponentials of the differences. keep:
 * replaces x by the exponentials. */
MAFAT_LANES_INLINE void sum_exponentials(float *x, int channels, struct norm_totals *t, bool keep,
                                         int lanes)
{
  find_largest(x, channels, t, lanes);
  for (int i = 0; i < lanes; i++) t->sum[i] = 0;
  for (int c = 0; c < channels; c++, x += lanes) {
    float e[MAFAT_LANES];
    for (int i = 0; i < lanes; i++) x[i] -= t->largest[i];
    mafat_lanes_exponentials(x, e, lanes);
    for (int i = 0; i < lanes; i++) t->sum[i] += (double)e[i];
    for (int i = 0; i < lanes && keep; i++) x[i] = e[i];
  }
}

MAFAT_LANES_INLINE void scale(float *x, int channels, const float *by, int lanes)
{
  for (int c = 0; c < channels; c++, x += lanes)
    for (int i = 0; i < lanes; i++) x[i] *= by[i];
}

MAFAT_LANES_INLINE void subtract(float *x, int channels, const double *by, int lanes)
{
  for (int c = 0; c < channels; c++, x += lanes)
    for (int i = 0; i < lanes; i++) x[i] = (float)((double)x[i] - by[i]);
}

MAFAT_LANES_INLINE void softmax(float *x, int channels, int lanes)
{
  struct norm_totals t;
  float by[MAFAT_LANES];
  sum_exponentials(x, channels, &t, true, lanes);
  for (int i = 0; i < lanes; i++) by[i] = (float)(1 / t.sum[i]);
  scale(x, channels, by, lanes);
}

MAFAT_LANES_INLINE void log_softmax(float *x, int channels, int lanes)
{
  struct norm_totals t;
  sum_exponentials(x, channels, &t, false, lanes);
  for (int i = 0; i < lanes; i++) t.sum[i] = log(t.sum[i]);
  subtract(x, channels, t.sum, lanes);
}

MAFAT_LANES_INLINE void hardmax(float *x, int channels, int lanes)
{
  struct norm_totals t;
  bool found[MAFAT_LANES] = {false};
  find_largest(x, channels, &t, lanes);
  for (int c = 0; c < channels; c++, x += lanes)
    for (int i = 0; i < lanes; i++) {
      bool here = !found[i] && x[i] == t.largest[i];
      found[i] = found[i] || here;
      x[i] = here;
    }
}

MAFAT_LANES_INLINE void sum_squares(const float *x, int channels, double *sum, int lanes)
{
  for (int i = 0; i < lanes; i++) sum[i] = 0;
  for (int c = 0; c < channels; c++, x += lanes)
    for (int i = 0; i < lanes; i++) sum[i] += (double)x[i] * (double)x[i];
}

MAFAT_LANES_INLINE void normalize_mean_square(float *x, int channels, double epsilon, int lanes)
{
  double sum[MAFAT_LANES];
  float by[MAFAT_LANES];
  sum_squares(x, channels, sum, lanes);
  for (int i = 0; i < lanes; i++) by[i] = (float)(1 / sqrt(sum[i] / channels + epsilon));
  scale(x, channels, by, lanes);
}

MAFAT_LANES_INLINE void normalize_layer(float *x, int channels, double epsilon, int lanes)
{
  double mean[MAFAT_LANES] = {0};
  const float *at = x;
  for (int c = 0; c < channels; c++, at += lanes)
    for (int i = 0; i < lanes; i++) mean[i] += (double)at[i];
  for (int i = 0; i < lanes; i++) mean[i] /= channels;
  subtract(x, channels, mean, lanes);
  normalize_mean_square(x, channels, epsilon, lanes);
}

MAFAT_LANES_INLINE void normalize_norm(float *x, int channels, bool squares, double epsilon,
                                       int lanes)
{
  double norm[MAFAT_LANES] = {0};
  float by[MAFAT_LANES];
  const float *at = x;
  if (squares) sum_squares(x, channels, norm, lanes);
  for (int c = 0; c < channels && !squares; c++, at += lanes)
    for (int i = 0; i < lanes; i++) norm[i] += fabs((double)at[i]);
  for (int i = 0; i < lanes; i++) {
    if (squares) norm[i] = sqrt(norm[i]);
    norm[i] = norm[i] < epsilon ? epsilon : norm[i];
    by[i] = norm[i] == 0 ? 0 : (float)(1 / norm[i]);
  }
  scale(x, channels, by, lanes);
}

MAFAT_LANES_INLINE void normalize(const struct mafat_normalize *n, float *x, int channels,
                                  int lanes)
{
  switch (n->how) {
  case MAFAT_NORMALIZE_SOFTMAX: softmax(x, channels, lanes); break;
  case MAFAT_NORMALIZE_LOG_SOFTMAX: log_softmax(x, channels, lanes); break;
  case MAFAT_NORMALIZE_HARDMAX: hardmax(x, channels, lanes); break;
  case MAFAT_NORMALIZE_LAYER: normalize_layer(x, channels, (double)n->epsilon, lanes); break;
  case MAFAT_NORMALIZE_RMS: normalize_mean_square(x, channels, (double)n->epsilon, lanes); break;
  case MAFAT_NORMALIZE_L1: normalize_norm(x, channels, false, (double)n->epsilon, lanes); break;
  case MAFAT_NORMALIZE_L2: normalize_norm(x, channels, true, (double)n->epsilon, lanes); break;
  case MAFAT_N_NORMALIZATIONS: break;
  }
}

static void normalize_one(const struct mafat_normalize *n, float *x, int channels)
{
  normalize(n, x, channels, 1);
}

static void normalize_many(const struct mafat_normalize *n, float *x, int channels)
{
  normalize(n, x, channels, MAFAT_LANES);
}

static int run_normalize(const struct mafat_worker *w, const struct mafat_step *step)
{
  const struct mafat_layer *l = &w->tensors->network->layers[step->layer];
  int lanes = w->scratch->lanes;
  struct mafat_lanes_unit unit;
  while (mafat_lanes_take(w, step, &unit))
    for (int x = unit.cols.begin, n; x < unit.cols.end; x += n) {
      n = mafat_min(lanes, unit.cols.end - x);
      mafat_lanes_read(w, l, unit.y, x, n);
      (lanes == 1 ? normalize_one : normalize_many)(l->normalize, mafat_lanes_memory(w), l->in.c);
      mafat_lanes_write(w, step->layer, unit.y, x, n);
    }
  return MAFAT_OK;
}

const struct mafat_runner_kind mafat_runner_normalize = {.run = run_normalize,
                                                         .sharing = MAFAT_SHARED_BY_UNITS};
