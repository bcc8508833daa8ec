/* Fits prices of work to measured times by weighted non-negative least squares. Called by
 * runner/calibrate/calibrate.c. Allocates matrices, which it frees before it returns. */
#include "runner/calibrate/calibrate_fit.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  SWEEPS = 4000, /* most passes over all unknowns in mafat_fit_solve */
  ROUNDS = 14    /* solutions in mafat_fit_prices; each weights measurements by the errors of the
                    solution before */
};

/* An error is divided by the measured time plus FLOOR_NS. Measurements from SHORT_NS to LONG_NS
 * have the more weight the longer they are, because a plan's total time matters. */
static const double FLOOR_NS = 5e3, SHORT_NS = 30e3, LONG_NS = 5e6;
/* weight of the first guess of a price, relative to an average measurement */
static const double PRIOR = 0.02;

void mafat_fit_solve(int n, const double *gram, const double *moment, double *x)
{
  for (int sweep = 0; sweep < SWEEPS; sweep++) {
    double moved = 0;
    for (int j = 0; j < n; j++) {
      double square = gram[j * n + j], before = x[j], slope = moment[j];
      if (square <= 0) {
        x[j] = 0;
        continue;
      }
      for (int k = 0; k < n; k++) slope -= gram[j * n + k] * x[k];
      x[j] = before + slope / square;
      if (x[j] < 0) x[j] = 0;
      double step = fabs(x[j] - before) * sqrt(square);
      if (step > moved) moved = step;
    }
    double size = 0;
    for (int j = 0; j < n; j++) size += x[j] * sqrt(gram[j * n + j]);
    if (moved <= 1e-12 * size) return;
  }
}

static int compare(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double product(const double *row, const double *prices, int n_terms)
{
  double sum = 0;
  for (int t = 0; t < n_terms; t++) sum += row[t] * prices[t];
  return sum;
}

/* Returns the median ratio of measured time to the time that the prices predict. */
static double pace(size_t n, int n_terms, const double *counts, const double *ns,
                   const double *prices, double *sorted)
{
  size_t m = 0;
  for (size_t i = 0; i < n; i++) {
    double expected = product(counts + i * (size_t)n_terms, prices, n_terms);
    if (expected > 0 && ns[i] > 0) sorted[m++] = ns[i] / expected;
  }
  if (m == 0) return 1;
  qsort(sorted, m, sizeof *sorted, compare);
  return sorted[m / 2];
}

static double weight_of(double ns, double error)
{
  double length = ns < LONG_NS ? ns : LONG_NS;
  double weight = sqrt(length / LONG_NS + SHORT_NS / LONG_NS) / (ns + FLOOR_NS);
  return weight * weight / (error > 0.01 ? error : 0.01);
}

static double error_of(double expected, double ns)
{
  return fabs(expected - ns) / (ns + FLOOR_NS);
}

int mafat_fit_prices(size_t n, int n_terms, const double *counts, const double *ns, double *prices,
                     double *error)
{
  size_t width = (size_t)n_terms;
  double *gram = calloc(width * width + 2 * width + n + 1, sizeof *gram);
  if (!gram) return MAFAT_ENOMEM;
  double *moment = gram + width * width, *prior = moment + width, *sorted = prior + width;
  double slower = pace(n, n_terms, counts, ns, prices, sorted);
  for (size_t t = 0; t < width; t++) prior[t] = prices[t] *= slower;
  for (int round = 0; round < ROUNDS; round++) {
    double weights = 0;
    memset(gram, 0, (width * width + width) * sizeof *gram);
    for (size_t i = 0; i < n; i++) {
      const double *row = counts + i * width;
      double w =
          weight_of(ns[i], round == 0 ? 0.05 : error_of(product(row, prices, n_terms), ns[i]));
      for (size_t a = 0; a < width; a++) {
        if (row[a] == 0) continue;
        moment[a] += w * row[a] * ns[i];
        for (size_t b = 0; b < width; b++) gram[a * width + b] += w * row[a] * row[b];
      }
      weights += w * ns[i] * ns[i];
    }
    for (size_t t = 0; t < width; t++) {
      if (prior[t] <= 0) continue;
      double w = PRIOR * weights / (double)(n + 1) / (prior[t] * prior[t]);
      gram[t * width + t] += w;
      moment[t] += w * prior[t];
    }
    mafat_fit_solve(n_terms, gram, moment, prices);
  }
  for (size_t i = 0; i < n; i++)
    sorted[i] = error_of(product(counts + i * width, prices, n_terms), ns[i]);
  qsort(sorted, n, sizeof *sorted, compare);
  *error = n ? sorted[n / 2] : 0;
  free(gram);
  return MAFAT_OK;
}
