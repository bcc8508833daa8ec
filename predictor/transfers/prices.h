/* Milliseconds of units, by the latency model, as what a choice of units goes by (transfers.h). Known of what the executor
 * does today: each layer by itself, and a depthwise layer a few rows at a time inside the 1x1 that reads it. Of the other
 * fusions nothing is known, and none is chosen. */
#ifndef MAFAT_PREDICTOR_TRANSFERS_PRICES_H
#define MAFAT_PREDICTOR_TRANSFERS_PRICES_H

#include "predictor/cost/calibration.h"
#include "predictor/transfers/transfers.h"

struct mafat_unit_latency {
  double *apart;    /* [layer]: ms of its steps where nothing is computed inside another's; owned, as are the following */
  double *together; /* [layer]: of the 1x1 with the depthwise layer inside; else INFINITY */
  int n_layers;
};

/* By the plan of whole maps, weights kept. MAFAT_ENOMEM and what making a plan may be. */
int mafat_unit_latency_open(struct mafat_unit_latency *out, const struct mafat_network *n, int n_layers, int n_threads,
                            const struct mafat_calibration *c, struct mafat_diagnostic *d);
void mafat_unit_latency_close(struct mafat_unit_latency *l);

/* Can it be executed today? */
bool mafat_unit_can_run(const struct mafat_unit_latency *l, const struct mafat_unit *u);
/* A price: the context is the struct above. */
double mafat_unit_ms(const void *latency, const struct mafat_unit *u);

#endif
