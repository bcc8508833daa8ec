/* The making of a layout (layout.h): of the plan, and of what a dry walk of its schedule learns. maker.c calls the others in the
 * order in which they stand here; nobody else does. */
#ifndef MAFAT_PREDICTOR_LAYOUT_MAKER_H
#define MAFAT_PREDICTOR_LAYOUT_MAKER_H

#include "network/network.h"
#include "predictor/layout/layout.h"
#include "predictor/plan/plan.h"
#include "predictor/schedule/schedule.h"

/* What the dry walk learns of a tensor and of a layer's steps. */
struct mafat_extent {
  int rows, cols;         /* largest held box; cols with the padding */
  int pixel_width;        /* largest held range of channels, in elements of a pixel */
  int out_rows, out_cols; /* largest computed box */
};

/* First and last time of a life, inclusive. */
struct mafat_times {
  int first, last;
};

struct mafat_layout_maker {
  const struct mafat_network *network;
  const struct mafat_plan *plan;
  struct mafat_schedule *schedule;
  struct mafat_layout *layout;
  struct mafat_extent *extents; /* [tensor] */
  struct mafat_times *lives;    /* [tensor]; of one in partition buffers of all together */
  struct mafat_times *partition_buffers;   /* [partition buffer]: of tensors in partition buffers, one tensor's after the other's; then of sums */
  int *first_partition_buffer;             /* [tensor]: in that list */
  int *first_sums;              /* [operator]: there, of each part of the map */
  struct mafat_times *parts;    /* [operator]: of the steps of layers that are in parts */
  int *slots;                   /* [tensor]: of the ring that it owns; 0: it owns none */
  bool outline, sketch;         /* layout.h */
  struct mafat_heap *work;      /* of what is done with once the layout stands: these lists, and what arranges blocks */
};

/* lives.c: when each tensor and partition buffer is written for the first time and read for the last. */
void mafat_layout_find_lives(struct mafat_layout_maker *m);
struct mafat_times mafat_times_of_group(const struct mafat_group *g);
/* When a step's own memory is in use: scratch. Not of parts, of which each has its own (schedule/parts_scratch.h). */
struct mafat_times mafat_times_of_step(const struct mafat_layout_maker *m, int layer);
/* Loaded weights, and what they are read through: in all tiles the same. */
struct mafat_times mafat_times_of_weights(const struct mafat_layout_maker *m, int layer);

/* extents.c: the schedule walked dry. How much of each tensor is held at a time, with the padding that its readers want, and
 * what the steps compute. */
void mafat_layout_find_extents(struct mafat_layout_maker *m);

/* buffers.c: a buffer for each of what lives, from extents and lives. MAFAT_ELIMIT when sizes overflow, MAFAT_ENOMEM. */
int mafat_layout_list_buffers(struct mafat_layout_maker *m);

/* Do steps of several layers come in between each other? */
static inline bool mafat_group_takes_turns(const struct mafat_group *g)
{
  return mafat_group_lifetime(g) == MAFAT_LIFE_GROUP;
}

#endif
