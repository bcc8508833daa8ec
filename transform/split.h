/* Operators cut into parts: along rows, columns or channels of what they put out, into even parts or at given bounds.
 * Parts share the operator's constants. What a part reads of others' outputs follows from its geometry, so it may lie in
 * parts, too; nothing is computed twice.
 *
 * A cut along channels goes through some operators: the first may make all its channels of all that it reads (fan-out), the
 * following ones have channel by channel what they read, and the last may sum them up (fan-in), each part going on where the
 * one before it stopped. So no bit depends on it. */
#ifndef MAFAT_TRANSFORM_SPLIT_H
#define MAFAT_TRANSFORM_SPLIT_H

#include "base/heap.h"
#include "network/network.h"

enum mafat_split_axis { MAFAT_ALONG_H, MAFAT_ALONG_W, MAFAT_ALONG_C, MAFAT_N_SPLIT_AXES };

enum {
  MAFAT_MOST_SPLITS = 256,         /* of a group */
  MAFAT_MOST_SPLIT_PARTS = 4096,   /* of an operator, along all axes together */
  MAFAT_MOST_GROUP_PARTS = 1 << 16 /* of all operators of a group */
};

/* "h4:12-17", "c[32,96]:3": what a plan says of some layers. */
struct mafat_split {
  enum mafat_split_axis axis;
  int n;                    /* parts */
  int *bounds;              /* (n - 1) inner ones, rising, of the last layer's output; NULL: even parts */
  struct mafat_span layers;
};

struct mafat_splits {
  struct mafat_split *list;
  int n;
};

/* How the output of an operator is cut. */
struct mafat_partition {
  int n[MAFAT_N_SPLIT_AXES];       /* parts; 1: it is not cut that way, and has no bounds */
  int *bounds[MAFAT_N_SPLIT_AXES]; /* (n + 1): from 0 on */
  bool sums;                       /* channels are those of the input, which are summed part by part */
  int lanes;                       /* channels of a part, where several share a block: 1, 2, 4 or 8; else 0 */
};

/* What is known of operators beside the network. */
struct mafat_split_ground {
  const struct mafat_network *network;
  struct mafat_span layers;  /* of the group, the first to the last */
  const int *unit;           /* [layer]: of rows and columns, what bounds are multiples of */
  const int *channel_unit;   /* [layer]: the same of channels that it puts out */
  const bool *runs;          /* [layer]: is of the group, and has parts of its own; else it is computed inside another one, or
                                renames */
  struct mafat_heap *heap;
};

/* Fills partitions[layer] of the ground's layers, which are all in one. MAFAT_EINVAL: the diagnostic says which layer cannot be cut so, and why;
 * MAFAT_ENOMEM. What was filled is freed by mafat_partition_free, either way. */
int mafat_split_find(const struct mafat_splits *splits, const struct mafat_split_ground *ground,
                     struct mafat_partition *partitions, struct mafat_diagnostic *d);
void mafat_partition_free(struct mafat_heap *heap, struct mafat_partition *partition);

/* Part number i along an axis of so much extent. */
static inline struct mafat_span mafat_partition_part(const struct mafat_partition *c, enum mafat_split_axis axis, int i, int extent)
{
  return c->bounds[axis] ? mafat_span(c->bounds[axis][i], c->bounds[axis][i + 1]) : mafat_span(0, extent);
}

static inline int mafat_partition_n_parts(const struct mafat_partition *c)
{
  return c->n[MAFAT_ALONG_H] * c->n[MAFAT_ALONG_W] * c->n[MAFAT_ALONG_C];
}

/* Do splits keep the two layers from being computed in one step: is one of them cut otherwise than the other, or along
 * channels? */
bool mafat_splits_part(const struct mafat_splits *splits, int a, int b);

/* 'h', 'w', 'c'. */
char mafat_split_letter(enum mafat_split_axis axis);

#endif
