/* Parts: units of work into which the layers of some groups are divided (split(...), or rows with
 * partition buffers). A part writes a partition buffer, which is a part of a tensor and has a
 * lifetime of its own. Used by predictor/, search/, runner/, api/dry_run.c and
 * programs/mafat_ranks. Touches only its arguments; mafat_parts_close frees into the given heap. */
#ifndef MAFAT_PREDICTOR_PARTITION_H
#define MAFAT_PREDICTOR_PARTITION_H

#include "transform/split.h"

/* Action of a part. Only MAFAT_PART_COMPUTE occurs on a single device (ranks/rank_parts.h). */
enum mafat_part_act {
  MAFAT_PART_COMPUTE, /* compute the part, or read it from the source of an input */
  MAFAT_PART_SEND,    /* begin to send; the data must stay until MAFAT_PART_WAIT */
  MAFAT_PART_WAIT,    /* wait until the data has been sent */
  MAFAT_PART_RECEIVE  /* receive from another rank */
};

/* One part. It becomes a step of the schedule, or several steps if it is divided into panels. */
struct mafat_layer_part {
  int layer; /* number of the layer or input */
  struct mafat_box out; /* box of the output */
  struct mafat_span filters, channels; /* channels of the output and of the input, as in a step */
  enum mafat_part_act act;
  int peer, message; /* for messages: the other rank, and a number that is the same on both */
  bool sums;         /* the message has sums that its receiver continues */
  bool adds;         /* the sums are added to others that were received */
  bool apart;        /* the sums begin at zero although the part lacks the first channels; the rank
                        with the last channels adds the sums of all ranks */
};

/* Owned by a plan (plan.h), in its heap. */
struct mafat_parts {
  int n_tensors;
  struct mafat_layer_part *list; /* (n) group by group, in execution order */
  int n;
  int *at;                 /* [group], (n_groups + 1): first part of the group in the list */
  struct mafat_partition *partitions; /* [tensor]: division into parts; 1 x 1 x 1 if undivided */
  bool *partitioned;            /* [tensor]: stored in partition buffers; false: in one buffer */
  bool *across;            /* [tensor]: stored in one buffer only because some part reads several
                              parts of the same row */
};

/* Steps of groups by rows with partition buffers, in execution order (rows_parts.h). plan/parts.c
 * turns each step into a part. The list is in the plan's heap; the caller frees it. */
struct mafat_recorded_parts {
  struct mafat_layer_part *list; /* (n) */
  int n, capacity;
};

void mafat_parts_close(struct mafat_heap *heap, struct mafat_parts **parts);

/* Rows, columns and channels of a partition buffer. */
struct mafat_partition_buffer {
  struct mafat_box box;
  struct mafat_span channels;
};

/* Number of partition buffers. Parts that sum channels of the input write the same buffer. */
static inline int mafat_partition_n_buffers(const struct mafat_partition *c)
{
  return c->sums ? c->n[MAFAT_ALONG_H] * c->n[MAFAT_ALONG_W] : mafat_partition_n_parts(c);
}

/* Region of partition buffer `index`. Numbering: rows outermost, then columns, then channels. */
struct mafat_partition_buffer mafat_partition_buffer_at(const struct mafat_partition *c,
                                                        struct mafat_shape shape, int index);

/* Binary search for mafat_partition_index. */
int mafat_partition_search(const struct mafat_partition *c, enum mafat_split_axis axis, int at);

/* Number of the part along an axis that contains position `at`. Called for each row of each step,
 * so parts of equal size are found without a search. */
static inline int mafat_partition_index(const struct mafat_partition *c, enum mafat_split_axis axis,
                                        int at)
{
  if (c->n[axis] == 1) return 0;
  const int *bounds = c->bounds[axis];
  int even = at <= 0 ? 0 : bounds[1] == 1 ? at : (int)((unsigned)at / (unsigned)bounds[1]);
  return even < c->n[axis] && bounds[even] <= at && at < bounds[even + 1]
             ? even
             : mafat_partition_search(c, axis, at);
}

/* Number of the partition buffer that contains a channel of a pixel. */
static inline int mafat_partition_find_buffer(const struct mafat_partition *c, int channel, int y,
                                              int x)
{
  int map = mafat_partition_index(c, MAFAT_ALONG_H, y) * c->n[MAFAT_ALONG_W] +
            mafat_partition_index(c, MAFAT_ALONG_W, x);
  return c->sums ? map
                 : map * c->n[MAFAT_ALONG_C] + mafat_partition_index(c, MAFAT_ALONG_C, channel);
}

/* Returns the region of the partition buffer that contains a channel of a pixel, and its number in
 * *index. */
static inline struct mafat_partition_buffer mafat_partition_buffer_holding(
    const struct mafat_partition *c, struct mafat_shape shape, int channel, int y, int x,
    int *index)
{
  int row = mafat_partition_index(c, MAFAT_ALONG_H, y),
      col = mafat_partition_index(c, MAFAT_ALONG_W, x);
  int part = c->sums ? 0 : mafat_partition_index(c, MAFAT_ALONG_C, channel);
  *index = (row * c->n[MAFAT_ALONG_W] + col) * (c->sums ? 1 : c->n[MAFAT_ALONG_C]) + part;
  return (struct mafat_partition_buffer){
      .box.y = mafat_partition_part(c, MAFAT_ALONG_H, row, shape.h),
      .box.x = mafat_partition_part(c, MAFAT_ALONG_W, col, shape.w),
      .channels =
          c->sums ? mafat_span(0, shape.c) : mafat_partition_part(c, MAFAT_ALONG_C, part, shape.c)};
}

/* Elements stored per pixel in a partition buffer with these channels. Whole blocks are padded as
 * in a map; parts of a block are not padded. */
int mafat_partition_pixel(const struct mafat_partition *c, struct mafat_shape shape,
                          struct mafat_span channels);

/* Numbers of the parts along an axis that intersect `span`, which is not empty. */
struct mafat_span mafat_partition_span(const struct mafat_partition *c, enum mafat_split_axis axis,
                                       struct mafat_span span);

#endif
