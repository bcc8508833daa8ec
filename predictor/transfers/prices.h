/* Prices units (transfers.h) in milliseconds, by the latency model. The time comes from plans that
 * compute a unit in this way (units_spec.h), with the fastest FD. Overlapping units have a plan
 * each; all others share one. A step counts for the layer that owns it, so a layer inside another's
 * step costs nothing by itself. Called by api/transfers.c and search/separable/separable.c. */
#ifndef MAFAT_PREDICTOR_TRANSFERS_PRICES_H
#define MAFAT_PREDICTOR_TRANSFERS_PRICES_H

#include "predictor/cost/calibration.h"
#include "predictor/plan/plan.h"
#include "predictor/transfers/transfers.h"

struct mafat_priced_unit {
  struct mafat_unit unit; /* with FD */
  double ms;              /* INFINITY: no plan computes it so */
  int round;              /* number of its round of plans; units in one round do not overlap */
};

struct mafat_unit_latency {
  const struct mafat_network *network;
  double *apart; /* [layer]: ms of its steps if depthwise layers run by themselves; owned, as are
                    the following */
  int *next;     /* [layer]: from mafat_transfers_paths */
  struct mafat_priced_unit *list; /* (n) units of several layers */
  int n;
};

/* Uses plans with these options. MAFAT_ENOMEM, or an error of making a plan. */
int mafat_unit_latency_open(struct mafat_unit_latency *out, const struct mafat_network *n,
                            int n_layers, const struct mafat_plan_options *options,
                            const struct mafat_calibration *c, struct mafat_diagnostic *d);
void mafat_unit_latency_close(struct mafat_unit_latency *l);

/* True if some plan computes the unit. */
bool mafat_unit_can_run(const struct mafat_unit_latency *l, const struct mafat_unit *u);
/* Price function; `latency` is the struct above. */
double mafat_unit_ms(const void *latency, const struct mafat_unit *u);
/* FD of the fastest plan. */
int mafat_unit_fastest(const struct mafat_unit_latency *l, const struct mafat_unit *u);

#endif
