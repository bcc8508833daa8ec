/* State of a layout (layout.h) while it is made, and the stages of making it. maker.c calls the
 * stages in the order below; buffers.c calls the functions mafat_times_of_*. Included by
 * predictor/layout/ only. */
#ifndef MAFAT_PREDICTOR_LAYOUT_MAKER_H
#define MAFAT_PREDICTOR_LAYOUT_MAKER_H

#include "network/network.h"
#include "predictor/layout/layout.h"
#include "predictor/plan/plan.h"
#include "predictor/schedule/schedule.h"

/* Sizes of a tensor and of a layer's steps, found by a walk over the schedule (extents.c). */
struct mafat_extent {
  int rows, cols;         /* largest box of the tensor held at a time; cols with padding */
  int pixel_width; /* elements stored for each pixel: for the largest range of channels held */
  int out_rows, out_cols; /* largest box that a step of the layer computes */
};

/* First and last time of a lifetime, inclusive (layout.h: struct mafat_buffer). */
struct mafat_times {
  int first, last;
};

struct mafat_layout_maker {
  const struct mafat_network *network;
  const struct mafat_plan *plan;
  struct mafat_schedule *schedule;
  struct mafat_layout *layout;
  struct mafat_extent *extents; /* [tensor] */
  /* [tensor]: lifetime; of a tensor in partition buffers: from the first time of any of these to
   * the last */
  struct mafat_times *lives;
  struct mafat_times *partition_buffers;   /* [partition buffer]: lifetime. Tensor by tensor: its
                                              partition buffers, then its buffers of integer sums */
  int *first_partition_buffer;             /* [tensor]: index in partition_buffers of the tensor's
                                              first partition buffer */
  /* [tensor]: index in partition_buffers of its first buffer of sums; there is one for each part of
   * the map */
  int *first_sums;
  struct mafat_times *parts;    /* [layer]: first and last time of the steps of a layer in parts */
  int *slots;                   /* [tensor]: row slots of the in-place ring that it owns; 0: none */
  bool outline, sketch;         /* the layout is reduced (layout.h) */
  struct mafat_heap *work;      /* heap of these lists and of all temporary memory */
};

/* lives.c: finds the first write and the last read of each tensor and partition buffer. */
void mafat_layout_find_lives(struct mafat_layout_maker *m);
/* Returns the times from the group's first step to its last. */
struct mafat_times mafat_times_of_group(const struct mafat_group *g);
/* Lifetime of a step's scratch. Not for parts, which have their own (schedule/parts_scratch.h). */
struct mafat_times mafat_times_of_step(const struct mafat_layout_maker *m, int layer);
/* Lifetime of loaded weights: the layer's own steps if these follow each other; in tiles and rows
 * the whole group, because each tile needs them. */
struct mafat_times mafat_times_of_weights(const struct mafat_layout_maker *m, int layer);

/* extents.c: walks the schedule. Finds how much of each tensor is held at a time, with its readers'
 * padding, and the sizes of the steps. */
void mafat_layout_find_extents(struct mafat_layout_maker *m);

/* buffers.c: creates all buffers, from extents and lives. Returns MAFAT_ELIMIT when sizes overflow,
 * or MAFAT_ENOMEM. */
int mafat_layout_list_buffers(struct mafat_layout_maker *m);

/* True if steps of several layers alternate. */
static inline bool mafat_group_takes_turns(const struct mafat_group *g)
{
  return mafat_group_lifetime(g) == MAFAT_LIFE_GROUP;
}

#endif
