/* Prices from measurements: what each kind of work costs, given how much of each there
 * was and how long all of it took. Numbers in, numbers out. */
#ifndef MAFAT_RUNNER_CALIBRATE_CALIBRATE_FIT_H
#define MAFAT_RUNNER_CALIBRATE_CALIBRATE_FIT_H

#include <stddef.h>

/* Least squares without negative numbers: the x >= 0 that makes |A x - y| least, given
 * gram = A'A (n, n), of which an element of the diagonal may be 0, and moment = A'y (n).
 * By coordinate descent from where x stands; columns without length become 0. */
void mafat_fit_solve(int n, const double *gram, const double *moment, double *x);

/* Prices (n_terms) such that counts (n, n_terms) x prices come near ns (n): by relative
 * errors, robustly (outliers count by their size, not its square), and near the prices
 * given, which decide where the measurements do not. Prices given as 0 are free.
 * *error: the median relative error. MAFAT_ENOMEM. */
int mafat_fit_prices(size_t n, int n_terms, const double *counts, const double *ns, double *prices, double *error);

#endif
