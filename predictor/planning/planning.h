/* Makes a plan from a network, options, and a spec or a spec's text; and makes a spec from a plan.
 * Called by api/, search/, predictor/transfers/prices.c, runner/calibrate and experiments/.
 * Allocates from the options' heap. The caller frees plans by mafat_plan_close and specs by
 * mafat_spec_close. */
#ifndef MAFAT_PREDICTOR_PLANNING_PLANNING_H
#define MAFAT_PREDICTOR_PLANNING_PLANNING_H

#include "predictor/plan/plan.h"

/* Makes a plan for the first n_layers of a network. options NULL: defaults. A layer that cannot be
 * tiled or run by rows divides its group: it becomes a 1x1 group, and the layers after it start a
 * new group. MAFAT_EINVAL: the spec does not fit this network, and the diagnostic says why;
 * MAFAT_ENOMEM. *out is NULL after a failure. */
int mafat_plan_make(struct mafat_plan **out, const struct mafat_spec *spec,
                    const struct mafat_network *network, int n_layers,
                    const struct mafat_plan_options *options, struct mafat_diagnostic *d);
/* Makes a plan from a spec's text. Also returns MAFAT_EINVAL if the text is no spec. */
int mafat_plan_read(struct mafat_plan **out, const char *text,
                    const struct mafat_network *network, int n_layers,
                    const struct mafat_plan_options *options, struct mafat_diagnostic *d);
/* Makes a plan of one group and one tile: layer by layer, each on whole maps. */
int mafat_plan_untiled(struct mafat_plan **out, const struct mafat_network *network, int n_layers,
                       const struct mafat_plan_options *options, struct mafat_diagnostic *d);

/* Makes the canonical spec of a plan, in the plan's heap. A plan made from this spec is the same.
 * For a balanced grid, the spec has the boundaries of the tiles; its text only has ":balanced".
 * MAFAT_ENOMEM. */
int mafat_plan_spec(struct mafat_spec **out, const struct mafat_plan *plan,
                    const struct mafat_network *network);

#endif
