/* Chooses the algorithm (direct or Winograd) of each convolution of a plan: that of the plan's
 * options, unless the spec of the group names another (spec.h). Called by predictor/planning
 * (lay.c, planning.c) and search/best/proposer.c. Allocates from the plan's or the choice's
 * heap. */
#ifndef MAFAT_PREDICTOR_PLAN_ALGORITHMS_H
#define MAFAT_PREDICTOR_PLAN_ALGORITHMS_H

#include "predictor/plan/plan.h"

/* Fills plan->algorithms with chosen[layer] or, if chosen is NULL, by the options of the plan.
 * Returns MAFAT_ENOMEM if out of memory. */
int mafat_algorithms_default(struct mafat_plan *plan, const struct mafat_network *n,
                             const enum mafat_algorithm *chosen);

/* Applies the spec's word for `algorithm` (such as winograd2,4) to a group with these layers
 * (ascending). Returns MAFAT_EINVAL if the word names a layer that is not in the group, or names
 * singly a layer that cannot use the algorithm; in a range such layers are skipped. */
int mafat_algorithms_apply(struct mafat_plan *plan, const struct mafat_network *n,
                           const int *layers, int n_layers, enum mafat_algorithm algorithm,
                           const struct mafat_algorithm_word *word, struct mafat_diagnostic *d);

/* Algorithms of a group's layers, and the algorithm that the options name (`wanted`). */
struct mafat_algorithm_choice {
  const struct mafat_network *network;
  enum mafat_algorithm wanted;
  const enum mafat_algorithm *algorithms; /* [layer] of the network */
  const int *layers;                      /* (n) ascending */
  int n;
  struct mafat_heap *heap;                /* heap for the words */
};

/* Fills in the group's words (group->algorithms, empty before the call) for the layers whose
 * algorithm differs from the default of the options. Returns MAFAT_ENOMEM if out of memory. */
int mafat_algorithms_words(const struct mafat_algorithm_choice *choice,
                           struct mafat_group_spec *group);

#endif
