/* Prices units (transfers.h) in milliseconds, by the latency model. Each unit is timed in plans
 * that fuse its layers (units_spec.h), one for each extent that is tried; the fastest counts. Units
 * without common layers form a round and are timed in the same plans. A step's time counts for the
 * layer that owns the step; a layer that is computed inside it costs nothing by itself. Called by
 * api/transfers.c and search/separable/separable.c. */
#ifndef MAFAT_PREDICTOR_TRANSFERS_PRICES_H
#define MAFAT_PREDICTOR_TRANSFERS_PRICES_H

#include "predictor/cost/calibration.h"
#include "predictor/plan/plan.h"
#include "predictor/transfers/transfers.h"

struct mafat_priced_unit {
  struct mafat_unit unit; /* with the fastest extent */
  double ms;              /* milliseconds; INFINITY: no plan fuses these layers like this */
  int round;              /* number of its round; -1: no plan */
};

struct mafat_unit_latency {
  const struct mafat_network *network;
  double *apart; /* [layer]: milliseconds of its steps in the plan without units of several layers;
                    owned, as are the following */
  int *next;     /* [layer]: next layer on its path (mafat_transfers_paths); -1: none */
  struct mafat_priced_unit *list; /* (n) all candidate units of several layers */
  int n;
};

/* Lists the units of the first n_layers and prices all of them, in plans with these options; this
 * is slow. MAFAT_ENOMEM, or an error of making a plan; then there is nothing to close. */
int mafat_unit_latency_open(struct mafat_unit_latency *out, const struct mafat_network *n,
                            int n_layers, const struct mafat_plan_options *options,
                            const struct mafat_calibration *c, struct mafat_diagnostic *d);
void mafat_unit_latency_close(struct mafat_unit_latency *l);

/* True if some plan computes the unit. */
bool mafat_unit_can_run(const struct mafat_unit_latency *l, const struct mafat_unit *u);
/* Price function (transfers.h): milliseconds of a unit. `latency` is the struct above. */
double mafat_unit_ms(const void *latency, const struct mafat_unit *u);
/* Extent of the unit in the fastest plan. */
int mafat_unit_fastest(const struct mafat_unit_latency *l, const struct mafat_unit *u);

#endif
