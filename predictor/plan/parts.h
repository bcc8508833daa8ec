/* Parts of layers (partition.h): creates them, puts them in order, and finds the partition buffers
 * that a part reads and writes. Called by predictor/ (layout, plan, planning, ranks, schedule).
 * Fills the plan; allocates from its heap. */
#ifndef MAFAT_PREDICTOR_PARTS_H
#define MAFAT_PREDICTOR_PARTS_H

#include "predictor/plan/partition.h"
#include "predictor/plan/plan.h"

/* Fills plan->parts if a group has parts. recorded: the parts of groups by rows
 * (schedule/rows_parts.h); splits come from the plan. Call after fusions are found, before weight
 * placement. Returns MAFAT_EINVAL, with a diagnostic that names the layer and the reason, if a
 * layer cannot be divided as the plan says; MAFAT_ENOMEM if out of memory. */
int mafat_parts_find(struct mafat_plan *plan, const struct mafat_network *n,
                     const struct mafat_recorded_parts *recorded, struct mafat_diagnostic *d);

/* Orders the parts of split groups by the method plan->op_order. With MAFAT_OP_ORDER_FILE they stay
 * layer by layer. MAFAT_ENOMEM. */
int mafat_parts_order(struct mafat_plan *plan, const struct mafat_network *n);

/* Inserts the parts of partitioned inputs into plan->parts->list, each just before the first part
 * that reads it. They stay in the order of their rows, because an input's source delivers rows from
 * top to bottom. MAFAT_ENOMEM. */
int mafat_parts_place_inputs(struct mafat_plan *plan, const struct mafat_network *n);

/* Sets each group's range of positions in time, and shifts the layers' positions into it. Call it
 * once, after all orders are found. */
void mafat_parts_number(struct mafat_plan *plan);

/* ---- partition buffers ---- */

/* Returns the partition of a tensor; NULL if it is stored in one buffer. */
static inline const struct mafat_partition *mafat_parts_partition(const struct mafat_plan *plan,
                                                                  int tensor)
{
  return plan->parts && plan->parts->partitioned[tensor] ? &plan->parts->partitions[tensor] : NULL;
}

/* Walk over the partition buffers that a part reads, source by source. If two sources of the part
 * are the same tensor, its buffers occur twice. */
struct mafat_buffer_walk {
  const struct mafat_plan *plan;
  const struct mafat_network *network;
  const struct mafat_layer_part *part;
  struct mafat_reads reads;
  struct mafat_partition_buffer wanted; /* region of the current source that the part reads */
  int tensor, buffer_index; /* current buffer: its tensor, and its number among the tensor's
                               partition buffers (0 if the tensor is stored in one buffer) */
  struct mafat_span met[MAFAT_N_SPLIT_AXES]; /* [axis]: parts of the tensor that intersect
                                                `wanted` */
  int next, n; /* index of the next buffer, and number of buffers, of the current source */
};

/* Start a walk; move to the next buffer (false at the end):
 *   for (w = mafat_parts_reads(plan, n, part); mafat_parts_reads_next(&w);) ... */
struct mafat_buffer_walk mafat_parts_reads(const struct mafat_plan *plan,
                                           const struct mafat_network *n,
                                           const struct mafat_layer_part *part);
bool mafat_parts_reads_next(struct mafat_buffer_walk *w);
/* Index of the partition buffer of `tensor`, an output of the part's layer, that the part writes; 0
 * if the tensor is stored in one buffer. */
int mafat_parts_made(const struct mafat_plan *plan, const struct mafat_layer_part *part,
                     int tensor);

/* True if several parts of the layer share the sum over its input channels. */
static inline bool mafat_parts_sum(const struct mafat_plan *plan, int layer)
{
  return plan->parts && plan->parts->partitions[layer].sums;
}

/* True if the layer's sums need buffers of their own, because integer sums are wider than the
 * elements of its output. */
static inline bool mafat_parts_keep_sums(const struct mafat_plan *plan,
                                         const struct mafat_network *n, int layer)
{
  return mafat_parts_sum(plan, layer) && mafat_layer_sums_integers(&n->layers[layer]);
}

/* Bytes of the integer sums of one part of the map; UINT64_MAX on overflow. */
uint64_t mafat_parts_sums_bytes(const struct mafat_layer *l, struct mafat_box box);

#endif
