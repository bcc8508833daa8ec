/* Chooses quantization ranges from observed values. Called by api/packing/calibrate.c and
 * runner/weights/equalize.c. Touches only its arguments. */
#include "runner/weights/ranges.h"

#include <math.h>

enum { STEPS = 255 }; /* steps between the 256 values of a byte */

void mafat_range_see(struct mafat_range *seen, const float *x, size_t n)
{
  float least = (float)seen->least, most = (float)seen->most;
  for (size_t i = 0; i < n; i++) {
    least = x[i] < least ? x[i] : least;
    most = x[i] > most ? x[i] : most;
  }
  *seen = (struct mafat_range){(double)least, (double)most};
}

static double bin_width(const struct mafat_histogram *h)
{
  return (h->seen.most - h->seen.least) / MAFAT_HISTOGRAM_BINS;
}

void mafat_histogram_add(struct mafat_histogram *h, const float *x, size_t n)
{
  double width = bin_width(h), per = width > 0 ? 1 / width : 0;
  for (size_t i = 0; i < n; i++) {
    int bin = (int)(((double)x[i] - h->seen.least) * per);
    if (x[i] == 0) continue;
    h->bins[bin < 0 ? 0 : bin < MAFAT_HISTOGRAM_BINS ? bin : MAFAT_HISTOGRAM_BINS - 1]++;
    h->n++;
  }
}

/* ---- ranges ---- */

struct mafat_range mafat_range_join(struct mafat_range a, struct mafat_range b)
{
  return (struct mafat_range){fmin(a.least, b.least), fmax(a.most, b.most)};
}

double mafat_histogram_error(const struct mafat_histogram *h, struct mafat_range r)
{
  double width = bin_width(h), step = (r.most - r.least) / STEPS, inside = step * step / 12,
         error = 0;
  for (int i = 0; i < MAFAT_HISTOGRAM_BINS; i++) {
    double x = h->seen.least + (i + .5) * width, beyond = fmax(r.least - x, x - r.most);
    if (h->bins[i] > 0) error += h->bins[i] * (beyond > 0 ? beyond * beyond : inside);
  }
  return h->n > 0 ? error / h->n : 0;
}

/* number of candidates for an end of the range: i / TRIED times the observed end */
enum { TRIED = 128 };

static double best_most(const struct mafat_histogram *h, double least)
{
  double error = INFINITY, best = h->seen.most;
  for (int i = TRIED; i > 0 && h->seen.most > 0; i--) {
    struct mafat_range r = {least, h->seen.most * i / TRIED};
    double candidate = mafat_histogram_error(h, r);
    if (candidate < error) error = candidate, best = r.most;
  }
  return best;
}

static double best_least(const struct mafat_histogram *h, double most)
{
  double error = INFINITY, best = h->seen.least;
  for (int i = TRIED; i > 0 && h->seen.least < 0; i--) {
    struct mafat_range r = {h->seen.least * i / TRIED, most};
    double candidate = mafat_histogram_error(h, r);
    if (candidate < error) error = candidate, best = r.least;
  }
  return best;
}

/* Finds the range with the least squared error: optimizes one end after the other, twice. */
static struct mafat_range by_squares(const struct mafat_histogram *h)
{
  struct mafat_range r = h->seen;
  for (int turn = 0; turn < 2; turn++) {
    r.most = best_most(h, r.least);
    r.least = best_least(h, r.most);
  }
  return r;
}

/* Returns one end of the range: at most `share` of the values, a fraction, is beyond it. Counts
 * values from bin `first`, the first or last, in direction `step`, 1 or -1. */
static double cut(const struct mafat_histogram *h, double share, int first, int step)
{
  double left = h->n * share, width = bin_width(h);
  int i = first;
  for (; i >= 0 && i < MAFAT_HISTOGRAM_BINS && h->bins[i] <= left; i += step) left -= h->bins[i];
  return h->seen.least + width * (step > 0 ? i : i + 1);
}

static struct mafat_range by_percentile(const struct mafat_histogram *h)
{
  const double share = .00005; /* fraction of the values that is left out at each end */
  struct mafat_range r = {cut(h, share, 0, 1), cut(h, share, MAFAT_HISTOGRAM_BINS - 1, -1)};
  return (struct mafat_range){fmin(r.least, 0), fmax(r.most, 0)};
}

struct mafat_range mafat_histogram_range(const struct mafat_histogram *h,
                                         enum mafat_range_method method)
{
  if (bin_width(h) <= 0) return h->seen;
  return method == MAFAT_RANGE_SQUARES ? by_squares(h) : by_percentile(h);
}

void mafat_range_numbers(struct mafat_range r, float *scale, unsigned char *zero)
{
  const double least_scale = 0x1p-30; /* so that the scale is not 0 if all values are 0 */
  *scale = (float)fmin(fmax((r.most - r.least) / STEPS, least_scale), 1 / least_scale);
  *zero = (unsigned char)fmin(fmax(rint(-r.least / (double)*scale), 0), STEPS);
}
