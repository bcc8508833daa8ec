/* Predicts the milliseconds of units (sets of layers computed together: transfers.h) by the latency
 * model. Called by api/transfers.c and search/separable/separable.c. Allocates lists, which
 * mafat_unit_latency_close frees.
 *
 * Each unit is put into plans that fuse its layers (units_spec.h), one plan for each extent that is
 * tried: a number of rows or channels computed at a time. The unit's price is its time in the
 * fastest of these plans. Units that have no layer in common form a round, whose plans have all
 * units of the round. A step's time counts for the layer that the step computes; layers that are
 * fused into the step add no time of their own. */
#ifndef MAFAT_PREDICTOR_TRANSFERS_PRICES_H
#define MAFAT_PREDICTOR_TRANSFERS_PRICES_H

#include "predictor/cost/calibration.h"
#include "predictor/plan/plan.h"
#include "predictor/transfers/transfers.h"

struct mafat_priced_unit {
  struct mafat_unit unit; /* with the fastest extent */
  double ms;              /* milliseconds; INFINITY: no plan fuses these layers like this */
  int round;              /* number of its round; -1: no plan fuses these layers like this */
};

struct mafat_unit_latency {
  const struct mafat_network *network;
  /* These lists are owned: mafat_unit_latency_close frees them. */
  double *apart; /* [layer]: milliseconds of its steps in a plan that fuses no layers */
  int *next;     /* [layer]: next layer on its path (mafat_transfers_paths); -1: none */
  struct mafat_priced_unit *list; /* (n) all candidate units of several layers */
  int n;
};

/* Lists the units of the first n_layers layers and predicts their times, in plans with these
 * options. This is slow. Returns MAFAT_ENOMEM or an error of making a plan; after an error the
 * caller need not close *out. */
int mafat_unit_latency_open(struct mafat_unit_latency *out, const struct mafat_network *n,
                            int n_layers, const struct mafat_plan_options *options,
                            const struct mafat_calibration *c, struct mafat_diagnostic *d);
void mafat_unit_latency_close(struct mafat_unit_latency *l);

/* True if some plan computes the unit. */
bool mafat_unit_can_run(const struct mafat_unit_latency *l, const struct mafat_unit *u);
/* Price function (transfers.h): milliseconds of a unit. latency: a struct mafat_unit_latency. */
double mafat_unit_ms(const void *latency, const struct mafat_unit *u);
/* Extent with which the unit is fastest. */
int mafat_unit_fastest(const struct mafat_unit_latency *l, const struct mafat_unit *u);

#endif
