/* Groups that are split: how a plan comes to their parts, in which order these run, and what each of them reads and makes. */
#ifndef MAFAT_PREDICTOR_PARTS_H
#define MAFAT_PREDICTOR_PARTS_H

#include "predictor/plan/partition.h"
#include "predictor/plan/plan.h"

/* Fills plan->parts, where a group is split. After fusions, before weight placement. MAFAT_EINVAL: the diagnostic says which
 * layer cannot be cut so, and why; MAFAT_ENOMEM. */
int mafat_parts_find(struct mafat_plan *plan, const struct mafat_network *n, const struct mafat_walked *walked, struct mafat_diagnostic *d);

/* Puts the parts of split groups in the order plan->sorting; else they stay layer by layer. MAFAT_ENOMEM. */
int mafat_parts_sort(struct mafat_plan *plan, const struct mafat_network *n);

/* Puts parts of the inputs that lie in partition buffers into the list, each as late as can be: a source gives its rows from the first
 * on. MAFAT_ENOMEM. */
int mafat_parts_place_inputs(struct mafat_plan *plan, const struct mafat_network *n);

/* Numbers the positions of all groups, one behind the other. */
void mafat_parts_number(struct mafat_plan *plan);

/* ---- partition buffers ---- */

/* NULL: the tensor is whole. */
static inline const struct mafat_partition *mafat_parts_partition(const struct mafat_plan *plan, int tensor)
{
  return plan->parts && plan->parts->partitioned[tensor] ? &plan->parts->partitions[tensor] : NULL;
}

/* A walk over the partition buffers that a part reads, or makes; each once for every source it is of. */
struct mafat_buffer_walk {
  const struct mafat_plan *plan;
  const struct mafat_network *network;
  const struct mafat_layer_part *part;
  struct mafat_reads reads;
  struct mafat_partition_buffer wanted; /* of the tensor */
  int tensor, buffer_index;         /* now; a tensor that is whole has one partition buffer */
  struct mafat_span met[MAFAT_N_SPLIT_AXES]; /* its partition buffers along each axis that have some of that, */
  int next, n;               /* all together */
};

struct mafat_buffer_walk mafat_parts_reads(const struct mafat_plan *plan, const struct mafat_network *n,
                                          const struct mafat_layer_part *part);
bool mafat_parts_reads_next(struct mafat_buffer_walk *w);
/* The partition buffer of an output of its layer that the part makes, or goes on with; 0 of a whole tensor. */
int mafat_parts_made(const struct mafat_plan *plan, const struct mafat_layer_part *part, int tensor);

/* Does the layer sum its input in several parts? */
static inline bool mafat_parts_sum(const struct mafat_plan *plan, int layer)
{
  return plan->parts && plan->parts->partitions[layer].sums;
}

/* Whole numbers: what is put out has no room for such sums. */
static inline bool mafat_parts_keep_sums(const struct mafat_plan *plan, const struct mafat_network *n, int layer)
{
  return mafat_parts_sum(plan, layer) && mafat_layer_sums_integers(&n->layers[layer]);
}

/* Of one part of the map; saturates to UINT64_MAX. */
uint64_t mafat_parts_sums_bytes(const struct mafat_layer *l, struct mafat_box box);

#endif
