/* What a split group is made of: the parts of its layers, in the order in which they run, and the partition buffers that tensors between
 * them lie in, each a buffer with a life of its own. */
#ifndef MAFAT_PREDICTOR_PARTITION_H
#define MAFAT_PREDICTOR_PARTITION_H

#include "transform/split.h"

/* What is done with it; all but the first where devices share the parts (ranks/rank_parts.h). */
enum mafat_part_act {
  MAFAT_PART_COMPUTE, /* or read, of an input */
  MAFAT_PART_SEND,    /* begin to send it: it stays until */
  MAFAT_PART_WAIT,    /* it is sent */
  MAFAT_PART_RECEIVE  /* it is made elsewhere */
};

/* A step: what of a layer is computed, or read of an input. */
struct mafat_layer_part {
  int layer; /* or the input */
  struct mafat_box out;
  struct mafat_span filters, channels; /* as a step has them */
  enum mafat_part_act act;
  int peer, message; /* of what is sent: to or from which rank, and its number, the same on both */
  bool sums;         /* it is sums that go on there, */
  bool adds;         /* to others that have come */
  bool apart;        /* its sums begin at zero, though it has not the first channels: others are added where they end */
};

/* Of a plan (plan.h), whose heap it lies in. */
struct mafat_parts {
  int n_tensors;
  struct mafat_layer_part *list; /* (n) group by group, as they run */
  int n;
  int *at;                 /* [group + 1]: those of a group; none, where it is not split */
  struct mafat_partition *partitions; /* [tensor]: all in one of layers that are in no split group */
  bool *partitioned;            /* [tensor]: does it lie in partition buffers, one for each part along each axis? Else it is whole */
  bool *across;            /* [tensor]: it would, but some part reads two that lie in the same rows: they have to lie in one buffer */
};

/* Steps of groups of rows in partition buffers, in their order, as they are walked through ahead of all else (rows_parts.h). */
struct mafat_walked {
  struct mafat_layer_part *list; /* (n) */
  int n, room;
};

void mafat_parts_close(struct mafat_heap *heap, struct mafat_parts **parts);

/* A tensor's: rows, columns, channels. */
struct mafat_partition_buffer {
  struct mafat_box box;
  struct mafat_span channels;
};

/* Sums of parts lie in one. */
static inline int mafat_partition_n_buffers(const struct mafat_partition *c)
{
  return c->sums ? c->n[MAFAT_ALONG_H] * c->n[MAFAT_ALONG_W] : mafat_partition_n_parts(c);
}

/* Number `index` of them; channels lie innermost, rows outermost. */
struct mafat_partition_buffer mafat_partition_buffer_at(const struct mafat_partition *c, struct mafat_shape shape, int index);

/* Which part along an axis holds a place. Asked for each row of each step: parts that are as large as each other, as most are, are
 * found without a search. */
int mafat_partition_search(const struct mafat_partition *c, enum mafat_split_axis axis, int at);

static inline int mafat_partition_index(const struct mafat_partition *c, enum mafat_split_axis axis, int at)
{
  if (c->n[axis] == 1) return 0;
  const int *bounds = c->bounds[axis];
  int even = at <= 0 ? 0 : bounds[1] == 1 ? at : (int)((unsigned)at / (unsigned)bounds[1]);
  return even < c->n[axis] && bounds[even] <= at && at < bounds[even + 1] ? even : mafat_partition_search(c, axis, at);
}

/* The number of the partition buffer that holds a pixel of a channel. */
static inline int mafat_partition_find_buffer(const struct mafat_partition *c, int channel, int y, int x)
{
  int map = mafat_partition_index(c, MAFAT_ALONG_H, y) * c->n[MAFAT_ALONG_W] + mafat_partition_index(c, MAFAT_ALONG_W, x);
  return c->sums ? map : map * c->n[MAFAT_ALONG_C] + mafat_partition_index(c, MAFAT_ALONG_C, channel);
}

/* Both at once: *index of the one that is returned. */
static inline struct mafat_partition_buffer mafat_partition_buffer_holding(const struct mafat_partition *c, struct mafat_shape shape, int channel, int y, int x, int *index)
{
  int row = mafat_partition_index(c, MAFAT_ALONG_H, y), col = mafat_partition_index(c, MAFAT_ALONG_W, x);
  int part = c->sums ? 0 : mafat_partition_index(c, MAFAT_ALONG_C, channel);
  *index = (row * c->n[MAFAT_ALONG_W] + col) * (c->sums ? 1 : c->n[MAFAT_ALONG_C]) + part;
  return (struct mafat_partition_buffer){.box.y = mafat_partition_part(c, MAFAT_ALONG_H, row, shape.h),
                              .box.x = mafat_partition_part(c, MAFAT_ALONG_W, col, shape.w),
                              .channels = c->sums ? mafat_span(0, shape.c) : mafat_partition_part(c, MAFAT_ALONG_C, part, shape.c)};
}

/* Elements that a pixel of one takes, padded as blocks are; parts of a block lie close. */
int mafat_partition_pixel(const struct mafat_partition *c, struct mafat_shape shape, struct mafat_span channels);

/* Numbers, along an axis, of those that hold something of a span, which is not empty. */
struct mafat_span mafat_partition_span(const struct mafat_partition *c, enum mafat_split_axis axis, struct mafat_span span);

#endif
