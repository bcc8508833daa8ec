/* Parts of split groups: their creation, their order, and the partition buffers that each reads and
 * writes. Called by predictor/ (planning/lay.c, layout/maker.c, schedule/). */
#ifndef MAFAT_PREDICTOR_PARTS_H
#define MAFAT_PREDICTOR_PARTS_H

#include "predictor/plan/partition.h"
#include "predictor/plan/plan.h"

/* Fills plan->parts if a group is split. Call after fusions, before weight placement. MAFAT_EINVAL:
 * the diagnostic says which layer cannot be split so, and why; MAFAT_ENOMEM. */
int mafat_parts_find(struct mafat_plan *plan, const struct mafat_network *n,
                     const struct mafat_walked *walked, struct mafat_diagnostic *d);

/* Schedules the parts of split groups by plan->op_order; by default they stay layer by layer.
 * MAFAT_ENOMEM. */
int mafat_parts_order(struct mafat_plan *plan, const struct mafat_network *n);

/* Inserts the parts of partitioned inputs into the list, each as late as possible, because a source
 * delivers its rows in order. MAFAT_ENOMEM. */
int mafat_parts_place_inputs(struct mafat_plan *plan, const struct mafat_network *n);

/* Numbers the positions of all groups consecutively. */
void mafat_parts_number(struct mafat_plan *plan);

/* ---- partition buffers ---- */

/* Returns NULL if the tensor is whole. */
static inline const struct mafat_partition *mafat_parts_partition(const struct mafat_plan *plan,
                                                                  int tensor)
{
  return plan->parts && plan->parts->partitioned[tensor] ? &plan->parts->partitions[tensor] : NULL;
}

/* Walk over the partition buffers that a part reads or writes; each comes once for every source
 * that contains it. */
struct mafat_buffer_walk {
  const struct mafat_plan *plan;
  const struct mafat_network *network;
  const struct mafat_layer_part *part;
  struct mafat_reads reads;
  struct mafat_partition_buffer wanted; /* wanted range of the tensor */
  int tensor, buffer_index;         /* current; a whole tensor has one partition buffer */
  struct mafat_span met[MAFAT_N_SPLIT_AXES]; /* its partition buffers that intersect `wanted`, along
                                                each axis */
  int next, n;               /* their number */
};

struct mafat_buffer_walk mafat_parts_reads(const struct mafat_plan *plan,
                                           const struct mafat_network *n,
                                           const struct mafat_layer_part *part);
bool mafat_parts_reads_next(struct mafat_buffer_walk *w);
/* Partition buffer of a layer's output that the part writes or continues; 0 if the tensor is
 * whole. */
int mafat_parts_made(const struct mafat_plan *plan, const struct mafat_layer_part *part,
                     int tensor);

/* True if the layer sums its input in several parts. */
static inline bool mafat_parts_sum(const struct mafat_plan *plan, int layer)
{
  return plan->parts && plan->parts->partitions[layer].sums;
}

/* True if the layer's sums need buffers of their own: integer sums do not fit in its output. */
static inline bool mafat_parts_keep_sums(const struct mafat_plan *plan,
                                         const struct mafat_network *n, int layer)
{
  return mafat_parts_sum(plan, layer) && mafat_layer_sums_integers(&n->layers[layer]);
}

/* Bytes of the sums of one part of the map; saturates to UINT64_MAX. */
uint64_t mafat_parts_sums_bytes(const struct mafat_layer *l, struct mafat_box box);

#endif
