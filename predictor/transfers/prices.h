/* Milliseconds of units, by the latency model, as what a choice of units goes by (transfers.h): of plans that compute them so
 * (units_spec.h), with FD as is fastest. Of units that overlap there is a plan each, of all others one together; a step counts for
 * the layer whose step it is, so that a layer inside another's step costs nothing by itself. */
#ifndef MAFAT_PREDICTOR_TRANSFERS_PRICES_H
#define MAFAT_PREDICTOR_TRANSFERS_PRICES_H

#include "predictor/cost/calibration.h"
#include "predictor/plan/plan.h"
#include "predictor/transfers/transfers.h"

struct mafat_priced_unit {
  struct mafat_unit unit; /* with FD */
  double ms;              /* INFINITY: no plan has it */
  int round;              /* of plans: what is in one does not overlap */
};

struct mafat_unit_latency {
  const struct mafat_network *network;
  double *apart; /* [layer]: ms of its steps where depthwise layers run by themselves; owned, as are the following */
  int *next;     /* [layer]: as mafat_transfers_paths has it */
  struct mafat_priced_unit *list; /* (n) of several layers */
  int n;
};

/* By plans with these options. MAFAT_ENOMEM and what making a plan may be. */
int mafat_unit_latency_open(struct mafat_unit_latency *out, const struct mafat_network *n, int n_layers,
                            const struct mafat_plan_options *options, const struct mafat_calibration *c, struct mafat_diagnostic *d);
void mafat_unit_latency_close(struct mafat_unit_latency *l);

/* Can it be executed? */
bool mafat_unit_can_run(const struct mafat_unit_latency *l, const struct mafat_unit *u);
/* A price: the context is the struct above. */
double mafat_unit_ms(const void *latency, const struct mafat_unit *u);
/* FD of the fastest. */
int mafat_unit_fastest(const struct mafat_unit_latency *l, const struct mafat_unit *u);

#endif
