/* State of a layout (layout.h) while it is made, and the stages of making it. maker.c calls the
 * stages below in this order; buffers.c calls the functions mafat_times_of_*. Included by
 * predictor/layout/ only. */
#ifndef MAFAT_PREDICTOR_LAYOUT_MAKER_H
#define MAFAT_PREDICTOR_LAYOUT_MAKER_H

#include "network/network.h"
#include "predictor/layout/layout.h"
#include "predictor/plan/plan.h"
#include "predictor/schedule/schedule.h"

/* Sizes of a tensor and of a layer's steps, found by the dry walk. */
struct mafat_extent {
  int rows, cols;         /* largest box held; cols with padding */
  int pixel_width;        /* largest range of channels held, in elements of a pixel */
  int out_rows, out_cols; /* largest box computed */
};

/* First and last time of a lifetime, inclusive. */
struct mafat_times {
  int first, last;
};

struct mafat_layout_maker {
  const struct mafat_network *network;
  const struct mafat_plan *plan;
  struct mafat_schedule *schedule;
  struct mafat_layout *layout;
  struct mafat_extent *extents; /* [tensor] */
  struct mafat_times *lives;    /* [tensor]; in partition buffers, of all of them together */
  struct mafat_times *partition_buffers;   /* [partition buffer]: those of each tensor in turn, then
                                              those of sums */
  int *first_partition_buffer;             /* [tensor]: index in that list */
  int *first_sums;              /* [operator]: index in that list; one for each part of the map */
  struct mafat_times *parts;    /* [operator]: steps of layers in parts */
  int *slots;                   /* [tensor]: row slots of the ring that it owns; 0: owns none */
  bool outline, sketch;         /* layout.h */
  struct mafat_heap *work;      /* temporary: these lists and the work of offset assignment */
};

/* lives.c: finds the first write and the last read of each tensor and partition buffer. */
void mafat_layout_find_lives(struct mafat_layout_maker *m);
struct mafat_times mafat_times_of_group(const struct mafat_group *g);
/* Lifetime of a step's scratch. Not for parts, which have their own (schedule/parts_scratch.h). */
struct mafat_times mafat_times_of_step(const struct mafat_layout_maker *m, int layer);
/* Lifetime of loaded weights and their read buffers: the whole group, the same in all tiles. */
struct mafat_times mafat_times_of_weights(const struct mafat_layout_maker *m, int layer);

/* extents.c: walks the schedule dry. Finds how much of each tensor is held at a time, with its
 * readers' padding, and the sizes of the steps. */
void mafat_layout_find_extents(struct mafat_layout_maker *m);

/* buffers.c: creates a buffer for everything with a lifetime, from extents and lives. Returns
 * MAFAT_ELIMIT when sizes overflow, or MAFAT_ENOMEM. */
int mafat_layout_list_buffers(struct mafat_layout_maker *m);

/* True if steps of several layers alternate. */
static inline bool mafat_group_takes_turns(const struct mafat_group *g)
{
  return mafat_group_lifetime(g) == MAFAT_LIFE_GROUP;
}

#endif
