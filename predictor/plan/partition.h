/* Parts of a split group's layers, in execution order, and the partition buffers of the tensors
 * between them, each with its own lifetime. Used by predictor/, search/, runner/, api/dry_run.c and
 * programs/mafat_ranks. */
#ifndef MAFAT_PREDICTOR_PARTITION_H
#define MAFAT_PREDICTOR_PARTITION_H

#include "transform/split.h"

/* Action of a part. Only MAFAT_PART_COMPUTE occurs on a single device (ranks/rank_parts.h). */
enum mafat_part_act {
  MAFAT_PART_COMPUTE, /* compute, or read an input */
  MAFAT_PART_SEND,    /* begin to send; the data stays until MAFAT_PART_WAIT */
  MAFAT_PART_WAIT,    /* wait until it is sent */
  MAFAT_PART_RECEIVE  /* receive from another rank */
};

/* A step: the part of a layer to compute, or of an input to read. */
struct mafat_layer_part {
  int layer; /* or input */
  struct mafat_box out;
  struct mafat_span filters, channels; /* ranges as in a step */
  enum mafat_part_act act;
  int peer, message; /* messages: the other rank, and a number that is the same on both */
  bool sums;         /* message of sums to be continued there */
  bool adds;         /* sums to be added to others received */
  bool apart;        /* sums begin at zero although the part lacks the first channels: the sums of
                        other ranks are added at its end */
};

/* Owned by a plan (plan.h), in its heap. */
struct mafat_parts {
  int n_tensors;
  struct mafat_layer_part *list; /* (n) group by group, in execution order */
  int n;
  int *at;                 /* [group + 1]: first part of a group; empty for groups without parts */
  struct mafat_partition *partitions; /* [tensor]: a single part for layers in no split group */
  bool *partitioned;            /* [tensor]: stored in partition buffers, one for each part along
                                   each axis; false: whole */
  bool *across;            /* [tensor]: not partitioned, because some part reads two tensors in the
                              same rows, which must be in one buffer */
};

/* Steps of groups of rows with partition buffers, recorded in order before parts are made
 * (rows_parts.h). */
struct mafat_walked {
  struct mafat_layer_part *list; /* (n) */
  int n, capacity;
};

void mafat_parts_close(struct mafat_heap *heap, struct mafat_parts **parts);

/* Rows, columns and channels of a partition buffer. */
struct mafat_partition_buffer {
  struct mafat_box box;
  struct mafat_span channels;
};

/* Number of partition buffers. The sums of all channel parts share one. */
static inline int mafat_partition_n_buffers(const struct mafat_partition *c)
{
  return c->sums ? c->n[MAFAT_ALONG_H] * c->n[MAFAT_ALONG_W] : mafat_partition_n_parts(c);
}

/* Partition buffer number `index`; channels innermost, rows outermost. */
struct mafat_partition_buffer mafat_partition_buffer_at(const struct mafat_partition *c,
                                                        struct mafat_shape shape, int index);

/* Part along an axis that contains position `at`. Called for each row of each step; parts of equal
 * size are found without a search. */
int mafat_partition_search(const struct mafat_partition *c, enum mafat_split_axis axis, int at);

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

/* Returns that partition buffer, and its number in *index. */
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

/* Elements of a pixel in a partition buffer, padded as blocks are. Parts of a block are packed
 * tightly. */
int mafat_partition_pixel(const struct mafat_partition *c, struct mafat_shape shape,
                          struct mafat_span channels);

/* Numbers, along an axis, of the parts that intersect a span that is not empty. */
struct mafat_span mafat_partition_span(const struct mafat_partition *c, enum mafat_split_axis axis,
                                       struct mafat_span span);

#endif
