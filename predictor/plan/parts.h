/* Parts of layers (partition.h): their creation, their order, and the partition buffers that each
 * reads and writes. Called by predictor/ (planning/lay.c, layout/maker.c, schedule/). Allocates
 * from the plan's heap. */
#ifndef MAFAT_PREDICTOR_PARTS_H
#define MAFAT_PREDICTOR_PARTS_H

#include "predictor/plan/partition.h"
#include "predictor/plan/plan.h"

/* Fills plan->parts if a group has parts. Call after fusions are found, before weight placement.
 * MAFAT_EINVAL: the diagnostic says which layer cannot be divided like this, and why;
 * MAFAT_ENOMEM. */
int mafat_parts_find(struct mafat_plan *plan, const struct mafat_network *n,
                     const struct mafat_recorded_parts *recorded, struct mafat_diagnostic *d);

/* Orders the parts of split groups by plan->op_order; by default they stay layer by layer.
 * MAFAT_ENOMEM. */
int mafat_parts_order(struct mafat_plan *plan, const struct mafat_network *n);

/* Inserts the parts of partitioned inputs into the list, each just before the first part that
 * reads it. They stay in the order of rows, in which a source delivers them. MAFAT_ENOMEM. */
int mafat_parts_place_inputs(struct mafat_plan *plan, const struct mafat_network *n);

/* Numbers the positions of all groups consecutively. */
void mafat_parts_number(struct mafat_plan *plan);

/* ---- partition buffers ---- */

/* Returns the partition of a tensor; NULL if it is stored in one buffer. */
static inline const struct mafat_partition *mafat_parts_partition(const struct mafat_plan *plan,
                                                                  int tensor)
{
  return plan->parts && plan->parts->partitioned[tensor] ? &plan->parts->partitions[tensor] : NULL;
}

/* Walk over the partition buffers that a part reads. A buffer occurs once for each source in which
 * the part reads it. */
struct mafat_buffer_walk {
  const struct mafat_plan *plan;
  const struct mafat_network *network;
  const struct mafat_layer_part *part;
  struct mafat_reads reads;
  struct mafat_partition_buffer wanted; /* region of the current source that the part reads */
  int tensor, buffer_index;         /* current buffer; 0 if the tensor is stored in one buffer */
  struct mafat_span met[MAFAT_N_SPLIT_AXES]; /* [axis]: parts of the tensor that intersect
                                                `wanted` */
  int next, n;               /* next of the n buffers of the current source */
};

/* Starts a walk, and moves to the next buffer (false at the end):
 *   for (w = mafat_parts_reads(plan, n, part); mafat_parts_reads_next(&w);) ... */
struct mafat_buffer_walk mafat_parts_reads(const struct mafat_plan *plan,
                                           const struct mafat_network *n,
                                           const struct mafat_layer_part *part);
bool mafat_parts_reads_next(struct mafat_buffer_walk *w);
/* Index of the partition buffer of `tensor`, an output of the part's layer, that the part writes; 0
 * if the tensor is stored in one buffer. */
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

/* Bytes of the integer sums of one part of the map; UINT64_MAX on overflow. */
uint64_t mafat_parts_sums_bytes(const struct mafat_layer *l, struct mafat_box box);

#endif
