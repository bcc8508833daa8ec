/* Splits layers into parts, along rows, columns or channels of their output, evenly or at given
 * bounds. Parts of a layer run as operators of their own. They share the layer's constants, and
 * compute nothing twice: parts do not overlap.
 *
 * A split along channels covers a chain of layers. The first may compute its channels from all
 * channels of its input (fan-out). The next ones compute each channel from the same channel of
 * their input. The last may sum over all channels (fan-in): each of its parts continues the sums of
 * the part before, so that sums are added in the same order and results are the same to the last
 * bit.
 *
 * Included by predictor/plan/partition.h and predictor/plan/spec.h; called by predictor/ and api/.
 * Allocates bounds in the caller's heap. */
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

/* A split of a plan, as "h4:12-17" (layers 12 to 17 into 4 parts by rows) or "c[32,96]:3" (layer 3
 * at channels 32 and 96). */
struct mafat_split {
  enum mafat_split_axis axis;
  int n;                    /* number of parts */
  int *bounds; /* n - 1 rising bounds between parts, in the last layer's output; NULL: even parts */
  struct mafat_span layers;
};

struct mafat_splits {
  struct mafat_split *list;
  int n;
};

/* The parts of one layer. */
struct mafat_partition {
  int n[MAFAT_N_SPLIT_AXES];       /* number of parts; 1: not split, and bounds are NULL */
  int *bounds[MAFAT_N_SPLIT_AXES]; /* n + 1 bounds, from 0 to the extent */
  /* The parts along channels divide the input's channels, over which the layer sums. Each part adds
   * its share to all output channels. */
  bool sums;
  int lanes; /* channels of a part, if several parts share a channel block: 1, 2, 4 or 8; else 0 */
};

/* Facts from which partitions of a group's layers are found. */
struct mafat_split_ground {
  const struct mafat_network *network;
  struct mafat_span layers;  /* of the group */
  const int *unit;           /* [layer]: bounds of rows and columns are multiples of this */
  const int *channel_unit;   /* [layer]: bounds of output channels are multiples of this */
  /* [layer]: the layer has steps of its own; false: it is fused into another layer, or computes
   * nothing and only renames its input */
  const bool *runs;
  struct mafat_heap *heap;
};

/* Fills partitions[layer] for the group's layers. Returns MAFAT_EINVAL, with a diagnostic that
 * names the layer and the reason, if a layer cannot be split as wanted; MAFAT_ENOMEM if out of
 * memory. Even then, the caller must free each partition by mafat_partition_free. */
int mafat_split_find(const struct mafat_splits *splits, const struct mafat_split_ground *ground,
                     struct mafat_partition *partitions, struct mafat_diagnostic *d);
void mafat_partition_free(struct mafat_heap *heap, struct mafat_partition *partition);

/* Returns part i along the axis. extent: the layer's size along it, used if it is not split. */
static inline struct mafat_span mafat_partition_part(const struct mafat_partition *c,
                                                     enum mafat_split_axis axis, int i, int extent)
{
  return c->bounds[axis] ? mafat_span(c->bounds[axis][i], c->bounds[axis][i + 1])
                         : mafat_span(0, extent);
}

/* Returns the number of parts over all axes. */
static inline int mafat_partition_n_parts(const struct mafat_partition *c)
{
  return c->n[MAFAT_ALONG_H] * c->n[MAFAT_ALONG_W] * c->n[MAFAT_ALONG_C];
}

/* True if layers a and b cannot be computed in one step, because a split covers only one of them or
 * splits both along channels. */
bool mafat_splits_part(const struct mafat_splits *splits, int a, int b);

/* Returns the axis's letter in plans: 'h', 'w' or 'c'. */
char mafat_split_letter(enum mafat_split_axis axis);

#endif
