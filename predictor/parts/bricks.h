/* What a split group is made of: the parts of its layers, in the order in which they run, and the bricks that tensors between
 * them lie in, each a buffer with a life of its own. */
#ifndef MAFAT_PREDICTOR_BRICKS_H
#define MAFAT_PREDICTOR_BRICKS_H

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
  bool sums;         /* it is sums that go on there */
};

/* Of a plan (plan.h), whose heap it lies in. */
struct mafat_parts {
  int n_operators;
  struct mafat_layer_part *list; /* (n) group by group, as they run */
  int n;
  int *at;                 /* [group + 1]: those of a group; none, where it is not split */
  struct mafat_cutting *cuttings; /* [operator]: all in one of layers that are in no split group */
  bool *bricks;            /* [operator]: does the tensor lie in bricks, one for each part along each axis? Else it is whole */
};

/* Steps of groups of rows in bricks, in their order, as they are walked through ahead of all else (rows_parts.h). */
struct mafat_walked {
  struct mafat_layer_part *list; /* (n) */
  int n, room;
};

void mafat_parts_close(struct mafat_heap *heap, struct mafat_parts **parts);

/* A tensor's: rows, columns, channels. */
struct mafat_brick {
  struct mafat_box box;
  struct mafat_span channels;
};

/* Sums of parts lie in one. */
static inline int mafat_bricks_count(const struct mafat_cutting *c)
{
  return c->sums ? c->n[MAFAT_ALONG_H] * c->n[MAFAT_ALONG_W] : mafat_cutting_n_parts(c);
}

/* Number `index` of them; channels lie innermost, rows outermost. */
struct mafat_brick mafat_bricks_at(const struct mafat_cutting *c, struct mafat_shape shape, int index);
/* The number of the one that holds a pixel of a channel. */
int mafat_bricks_find(const struct mafat_cutting *c, int channel, int y, int x);

/* Elements that a pixel of one takes, padded as blocks are; parts of a block lie close. */
int mafat_bricks_pixel(const struct mafat_cutting *c, struct mafat_shape shape, struct mafat_span channels);

/* Numbers, along an axis, of those that hold something of a span, which is not empty. */
struct mafat_span mafat_bricks_span(const struct mafat_cutting *c, enum mafat_split_axis axis, struct mafat_span span);

#endif
