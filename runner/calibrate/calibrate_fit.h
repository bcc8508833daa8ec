/* Finds the price of each kind of work (nanoseconds for each unit of it) from measurements, which
 * consist of amounts of work and a total time. Included by calibrate.c. Allocates matrices, which
 * it frees before it returns. */
#ifndef MAFAT_RUNNER_CALIBRATE_CALIBRATE_FIT_H
#define MAFAT_RUNNER_CALIBRATE_CALIBRATE_FIT_H

#include <stddef.h>

/* Solves non-negative least squares: finds the x >= 0 that minimizes |A x - y|, given gram = A'A
 * (n, n) and moment = A'y (n). Uses coordinate descent, beginning with the given x. If a column of
 * A is 0, its x is 0. */
void mafat_fit_solve(int n, const double *gram, const double *moment, double *x);

/* Finds prices (n_terms) such that counts (n, n_terms) x prices approximates ns (n), the measured
 * nanoseconds. Minimizes a weighted sum of relative errors, not of their squares, so that outliers
 * count less. `prices` holds first guesses, which are first multiplied by the median ratio of
 * measured to predicted time. A price that the measurements do not determine stays near its guess;
 * a guess of 0 has no effect. *error: median relative error. MAFAT_OK or MAFAT_ENOMEM. */
int mafat_fit_prices(size_t n, int n_terms, const double *counts, const double *ns, double *prices,
                     double *error);

#endif
