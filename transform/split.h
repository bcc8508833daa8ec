/* Splits operators into parts: along rows, columns or channels of their output, evenly or at given
 * bounds. Parts share the operator's constants. The rows that a part reads follow from its
 * geometry; nothing is computed twice.
 *
 * A split along channels covers a chain of operators. The first may compute its channels from
 * all of its input (fan-out); the next ones work channel by channel; the last may sum the
 * channels up (fan-in), each part continuing the sums of the one before. So results are the same
 * bit for bit.
 *
 * Included by predictor/plan/partition.h and predictor/plan/spec.h; called by predictor/plan
 * (partition.c, parts.c, fusion.c). Allocates bounds in the caller's heap. */
#ifndef MAFAT_TRANSFORM_SPLIT_H
#define MAFAT_TRANSFORM_SPLIT_H

#include "base/heap.h"
#include "network/network.h"

enum mafat_split_axis { MAFAT_ALONG_H, MAFAT_ALONG_W, MAFAT_ALONG_C, MAFAT_N_SPLIT_AXES };

enum {
  MAFAT_MOST_SPLITS = 256,         /* splits per group */
  MAFAT_MOST_SPLIT_PARTS = 4096,   /* parts per operator, over all axes */
  MAFAT_MOST_GROUP_PARTS = 1 << 16 /* parts per group */
};

/* "h4:12-17", "c[32,96]:3": a split of some layers in a plan. */
struct mafat_split {
  enum mafat_split_axis axis;
  int n;                    /* parts */
  int *bounds; /* (n - 1) inner bounds, rising, of the last layer's output; NULL: even parts */
  struct mafat_span layers;
};

struct mafat_splits {
  struct mafat_split *list;
  int n;
};

/* The partition of one operator's output. */
struct mafat_partition {
  int n[MAFAT_N_SPLIT_AXES];       /* number of parts; 1: not split, and no bounds */
  int *bounds[MAFAT_N_SPLIT_AXES]; /* (n + 1) bounds, from 0 on */
  bool sums;                       /* channels are those of the input, summed part by part */
  int lanes; /* channels of a part, if several parts share a channel block: 1, 2, 4 or 8; else 0 */
};

/* Context of a split: properties of operators besides the network. */
struct mafat_split_ground {
  const struct mafat_network *network;
  struct mafat_span layers;  /* first to last layer of the group */
  const int *unit;           /* [layer]: bounds of rows and columns are multiples of this */
  const int *channel_unit;   /* [layer]: likewise for output channels */
  /* [layer]: in the group with steps of its own; else fused into another layer, or only renaming */
  const bool *runs;
  struct mafat_heap *heap;
};

/* Fills partitions[layer] for the context's layers. MAFAT_EINVAL: the diagnostic names the layer
 * that cannot be split so, and why; MAFAT_ENOMEM. In all cases, free the result with
 * mafat_partition_free. */
int mafat_split_find(const struct mafat_splits *splits, const struct mafat_split_ground *ground,
                     struct mafat_partition *partitions, struct mafat_diagnostic *d);
void mafat_partition_free(struct mafat_heap *heap, struct mafat_partition *partition);

/* Part i along an axis of this extent. */
static inline struct mafat_span mafat_partition_part(const struct mafat_partition *c,
                                                     enum mafat_split_axis axis, int i, int extent)
{
  return c->bounds[axis] ? mafat_span(c->bounds[axis][i], c->bounds[axis][i + 1])
                         : mafat_span(0, extent);
}

static inline int mafat_partition_n_parts(const struct mafat_partition *c)
{
  return c->n[MAFAT_ALONG_H] * c->n[MAFAT_ALONG_W] * c->n[MAFAT_ALONG_C];
}

/* True if splits prevent computing the two layers in one step: they are split differently, or along
 * channels. */
bool mafat_splits_part(const struct mafat_splits *splits, int a, int b);

/* 'h', 'w', 'c'. */
char mafat_split_letter(enum mafat_split_axis axis);

#endif
