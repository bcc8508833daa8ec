/* The making of plans: from a spec or its text, for a network, by options. */
#ifndef MAFAT_PREDICTOR_PLANNING_PLANNING_H
#define MAFAT_PREDICTOR_PLANNING_PLANNING_H

#include "predictor/plan/plan.h"

/* A plan for the first n_layers of a network; without options (NULL) by the
 * defaults. A layer that cannot be cut inside a tiled group or one of rows splits it:
 * it becomes a 1x1 group of its own, and what follows starts a new group. MAFAT_EINVAL
 * with the reason when the spec is none for this network. */
int mafat_plan_make(struct mafat_plan **out, const struct mafat_spec *spec,
                    const struct mafat_network *network, int n_layers,
                    const struct mafat_plan_options *options, struct mafat_diagnostic *d);
/* The same from a spec's text; MAFAT_EINVAL also when it is none. */
int mafat_plan_read(struct mafat_plan **out, const char *text,
                    const struct mafat_network *network, int n_layers,
                    const struct mafat_plan_options *options, struct mafat_diagnostic *d);
/* One group of one tile: layer by layer, whole maps. */
int mafat_plan_untiled(struct mafat_plan **out, const struct mafat_network *network, int n_layers,
                       const struct mafat_plan_options *options, struct mafat_diagnostic *d);

/* The canonical spec of a plan: made again from it, it is the same plan. Boundaries that
 * were balanced are part of it, though the writer leaves them out. MAFAT_ENOMEM. */
int mafat_plan_spec(struct mafat_spec **out, const struct mafat_plan *plan, const struct mafat_network *network);

#endif
