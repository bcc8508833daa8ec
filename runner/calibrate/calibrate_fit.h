/* Finds prices, the costs of each kind of work, that explain measurements: amounts of work and
 * their total times. Included by calibrate.c. Allocates matrices and frees them before it
 * returns. */
#ifndef MAFAT_RUNNER_CALIBRATE_CALIBRATE_FIT_H
#define MAFAT_RUNNER_CALIBRATE_CALIBRATE_FIT_H

#include <stddef.h>

/* Non-negative least squares: finds the x >= 0 that minimizes |A x - y|, given gram = A'A (n, n)
 * and moment = A'y (n). Uses coordinate descent from the given x. The x of a zero column is 0. */
void mafat_fit_solve(int n, const double *gram, const double *moment, double *x);

/* Finds prices (n_terms) such that counts (n, n_terms) x prices approximate ns (n). Minimizes
 * a weighted sum of relative errors, not of their squares, so that outliers count less. `prices`
 * holds first guesses, which are first multiplied by the median ratio of measured to predicted
 * time. A price that the measurements do not determine stays near its guess; 0 is no guess.
 * *error: median relative error. MAFAT_ENOMEM. */
int mafat_fit_prices(size_t n, int n_terms, const double *counts, const double *ns, double *prices,
                     double *error);

#endif
