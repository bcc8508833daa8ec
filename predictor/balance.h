/* Uneven tiles (the paper's future work): boundaries that minimise the largest
 * tile's bytes. Tiles at the map's edge grow back on one side only, so even
 * shares leave them smaller than the ones inside. */
#ifndef MAFAT_PREDICTOR_BALANCE_H
#define MAFAT_PREDICTOR_BALANCE_H

#include "predictor/plan.h"

/* Replaces the even boundaries of one group. */
int mafat_balance_group(const struct mafat_network *n, struct mafat_plan *plan, int group,
                        struct mafat_diagnostic *d);

#endif
