/* Finds the parts into which the splits of a plan divide the layers of a group, and reports splits
 * that are impossible. Called by predictor/plan (spec.c, partition.c, parts.c, fusion.c). Allocates
 * bounds in the caller's heap. */
#include "transform/split.h"

#include "base/blocks.h"

/* [axis] */
static const char letters[] = "hwc";
static const char *const names[MAFAT_N_SPLIT_AXES] = {"rows", "columns", "channels"};
static const unsigned along[MAFAT_N_SPLIT_AXES] = {MAFAT_ALONG_ROWS, MAFAT_ALONG_COLS,
                                                   MAFAT_ALONG_FILTERS};

char mafat_split_letter(enum mafat_split_axis axis)
{
  return letters[axis];
}

/* True if the layer is one of those that the split divides. */
static bool covers(const struct mafat_split *s, int layer)
{
  return layer >= s->layers.begin && layer < s->layers.end;
}

bool mafat_splits_part(const struct mafat_splits *splits, int a, int b)
{
  for (int i = 0; i < splits->n; i++) {
    const struct mafat_split *s = &splits->list[i];
    if (covers(s, a) != covers(s, b) || (covers(s, a) && s->axis == MAFAT_ALONG_C)) return true;
  }
  return false;
}

void mafat_partition_free(struct mafat_heap *heap, struct mafat_partition *partition)
{
  for (int axis = 0; axis < MAFAT_N_SPLIT_AXES; axis++)
    mafat_heap_free(heap, partition->bounds[axis]);
  *partition = (struct mafat_partition){{1, 1, 1}, {NULL}, false, 0};
}

/* ---- one split of one layer ---- */

struct splitter {
  const struct mafat_splits *splits;
  const struct mafat_split *split; /* the one being applied */
  const struct mafat_split_ground *ground;
  struct mafat_partition *partitions;
  int channel_unit; /* bounds of channels in all layers of `split` are multiples of this */
  struct mafat_diagnostic *d;
};

static const struct mafat_layer *layer_of(const struct splitter *c, int layer)
{
  return &c->ground->network->layers[layer];
}

/* Reports that the layer cannot be split. why: continues a sentence, as "has groups". */
static int refuse(const struct splitter *c, int layer, const char *why)
{
  return mafat_fail(c->d, MAFAT_EINVAL, "layer %d [%s] cannot be split along %s: it %s", layer,
                    mafat_layer_type_name(layer_of(c, layer)->type), names[c->split->axis], why);
}

static int extent_of(const struct mafat_layer *l, enum mafat_split_axis axis)
{
  return axis == MAFAT_ALONG_H ? l->out.h : axis == MAFAT_ALONG_W ? l->out.w : l->out.c;
}

/* Returns the tensor whose channels the layer sums, if an earlier layer of this split makes it and
 * its channels are split; else -1. */
static int summed_tensor(const struct splitter *c, int layer)
{
  const struct mafat_layer *l = layer_of(c, layer);
  if (!(mafat_layer_along(l) & MAFAT_ALONG_INPUTS) || mafat_layer_is_grouped(l)) return -1;
  for (struct mafat_reads r = mafat_layer_reads(l); mafat_reads_next(&r);)
    if (r.operand == 0 && r.source->tensor < layer && covers(c->split, r.source->tensor) &&
        c->ground->runs[r.source->tensor] && c->partitions[r.source->tensor].n[MAFAT_ALONG_C] > 1)
      return r.source->tensor;
  return -1;
}

/* Returns the bound between parts i - 1 and i in a layer of this extent, a multiple of `unit`. The
 * split's bounds are scaled from the last layer's rows or columns to this layer's. */
static int inner_bound(const struct splitter *c, int i, int extent, int unit)
{
  const struct mafat_split *s = c->split;
  if (!s->bounds) return mafat_span_share(mafat_divide_up(extent, unit), s->n, i).begin * unit;
  if (s->axis == MAFAT_ALONG_C) return s->bounds[i - 1] / unit * unit;
  int last = extent_of(layer_of(c, s->layers.end - 1), s->axis);
  int bound = (int)((long long)s->bounds[i - 1] * extent / last);
  return (bound + unit / 2) / unit * unit;
}

/* Fills the layer's bounds along the split's axis. */
static int split_at_bounds(struct splitter *c, int layer, int extent, int unit)
{
  const struct mafat_split *s = c->split;
  struct mafat_partition *partition = &c->partitions[layer];
  int *bounds = mafat_heap_calloc(c->ground->heap, (size_t)s->n + 1, sizeof *bounds);
  if (!bounds) return mafat_fail(c->d, MAFAT_ENOMEM, "out of memory");
  partition->bounds[s->axis] = bounds;
  partition->n[s->axis] = s->n;
  bounds[s->n] = extent;
  for (int i = 1; i < s->n; i++) bounds[i] = inner_bound(c, i, extent, unit);
  for (int i = 0; i < s->n; i++)
    if (bounds[i] >= bounds[i + 1])
      return mafat_fail(c->d, MAFAT_EINVAL,
                        "layer %d [%s] has %d %s, in units of %d, which are too few for %d parts%s",
                        layer, mafat_layer_type_name(layer_of(c, layer)->type), extent,
                        names[s->axis], unit, s->n, s->bounds ? " at these bounds" : "");
  if (mafat_partition_n_parts(partition) > MAFAT_MOST_SPLIT_PARTS)
    return mafat_fail(c->d, MAFAT_EINVAL, "layer %d [%s] is split into more than %d parts", layer,
                      mafat_layer_type_name(layer_of(c, layer)->type), MAFAT_MOST_SPLIT_PARTS);
  return MAFAT_OK;
}

/* Gives a layer that sums over the channels of `tensor` the same parts as that tensor, as parts of
 * the layer's input: each part continues the sums of the part before. Only the last layer of a
 * split may do so. */
static int split_by_inputs(struct splitter *c, int layer, int tensor)
{
  const struct mafat_layer *l = layer_of(c, layer);
  struct mafat_partition *partition = &c->partitions[layer], *from = &c->partitions[tensor];
  if (layer + 1 != c->split->layers.end)
    return refuse(c, layer,
                  "sums over the channels that are split, which only the split's last layer may");
  if (mafat_network_sole_tensor(c->ground->network, mafat_layer_sources(l)) != tensor)
    return refuse(c, layer, "sums over the channels of several tensors");
  if (mafat_layer_is_flat(l))
    return refuse(c, layer, "reads rows, columns and channels as one list");
  int n = from->n[MAFAT_ALONG_C];
  int *bounds = mafat_heap_calloc(c->ground->heap, (size_t)n + 1, sizeof *bounds);
  if (!bounds) return mafat_fail(c->d, MAFAT_ENOMEM, "out of memory");
  for (int i = 0; i <= n; i++) bounds[i] = from->bounds[MAFAT_ALONG_C][i];
  partition->bounds[MAFAT_ALONG_C] = bounds;
  partition->n[MAFAT_ALONG_C] = n;
  partition->sums = true;
  return MAFAT_OK;
}

/* Applies the split to one of its layers. */
static int split_layer(struct splitter *c, int layer)
{
  const struct mafat_layer *l = layer_of(c, layer);
  enum mafat_split_axis axis = c->split->axis;
  if (c->partitions[layer].bounds[axis]) return refuse(c, layer, "is split twice");
  if (!(mafat_layer_along(l) & along[axis]))
    return refuse(c, layer, "can only compute all of them at once");
  if (axis != MAFAT_ALONG_C)
    return split_at_bounds(c, layer, extent_of(l, axis), c->ground->unit[layer]);
  int summed = summed_tensor(c, layer);
  if (summed >= 0) return split_by_inputs(c, layer, summed);
  if (mafat_layer_is_grouped(l) && !mafat_layer_is_depthwise(l))
    return refuse(c, layer, "has groups of channels");
  bool within = c->channel_unit < MAFAT_CHANNEL_BLOCK;
  c->partitions[layer].lanes = within ? c->channel_unit : 0;
  return split_at_bounds(c, layer, l->out.c,
                       within ? c->channel_unit
                              : mafat_max(c->ground->channel_unit[layer], c->channel_unit));
}

/* ---- splits ---- */

/* True if the layer adds the channels of a block for one tap of its window, then for the next tap.
 * If a block were divided, each part would add all its taps before the next part begins: another
 * order of addition. */
static bool sums_taps_by_blocks(const struct splitter *c, int layer)
{
  const struct mafat_layer *l = layer_of(c, layer);
  if (!(mafat_layer_along(l) & MAFAT_ALONG_INPUTS) || mafat_layer_is_grouped(l) ||
      mafat_window_area(&l->window) == 1)
    return false;
  for (struct mafat_reads r = mafat_layer_reads(l); mafat_reads_next(&r);)
    if (r.operand == 0 && r.source->tensor < layer && covers(c->split, r.source->tensor) &&
        c->ground->runs[r.source->tensor])
      return true;
  return false;
}

/* Returns how many channels a part has, if parts are equal and smaller than a channel block, and
 * all layers can compute such a part. 0: parts must be of whole blocks. */
static int lanes_of_parts(const struct splitter *c)
{
  const struct mafat_split *s = c->split;
  int lanes = 0;
  for (int l = s->layers.begin; l < s->layers.end; l++) {
    if (!c->ground->runs[l]) continue;
    int own = layer_of(c, l)->out.c % s->n ? 0 : layer_of(c, l)->out.c / s->n;
    bool fine = own > 0 && own < MAFAT_CHANNEL_BLOCK && MAFAT_CHANNEL_BLOCK % own == 0 &&
                own % c->ground->channel_unit[l] == 0;
    if (s->axis != MAFAT_ALONG_C || s->bounds || !fine || (lanes > 0 && own != lanes) ||
        sums_taps_by_blocks(c, l))
      return 0;
    lanes = own;
  }
  return lanes;
}

/* Returns the unit of channel bounds, which all layers of the split share: lanes_of_parts, if that
 * is not 0; else the largest unit of a layer, and at least a channel block. The last layer's unit
 * does not count: a layer that sums over split channels divides its input, not its output. */
static int find_channel_unit(const struct splitter *c)
{
  int unit = lanes_of_parts(c);
  if (unit > 0) return unit;
  unit = MAFAT_CHANNEL_BLOCK;
  for (int l = c->split->layers.begin; l + 1 < c->split->layers.end; l++)
    if (c->ground->runs[l]) unit = mafat_max(unit, c->ground->channel_unit[l]);
  return unit;
}

/* Applies the split to all its layers. */
static int apply(struct splitter *c)
{
  const struct mafat_split *s = c->split;
  struct mafat_span group = c->ground->layers;
  bool any = false;
  if (s->layers.begin < group.begin || s->layers.end > group.end)
    return mafat_fail(c->d, MAFAT_EINVAL, "expected layers %d to %d after %c%d, found %d",
                      group.begin, group.end - 1, letters[s->axis], s->n,
                      s->layers.begin < group.begin ? s->layers.begin : s->layers.end - 1);
  c->channel_unit = find_channel_unit(c);
  for (int l = s->layers.begin; l < s->layers.end; l++) {
    if (!c->ground->runs[l]) continue;
    int code = split_layer(c, l);
    if (code) return code;
    any = true;
  }
  return any ? MAFAT_OK
             : mafat_fail(c->d, MAFAT_EINVAL,
                          "layers %d to %d have no steps of their own that could be split",
                          s->layers.begin, s->layers.end - 1);
}

int mafat_split_find(const struct mafat_splits *splits, const struct mafat_split_ground *ground,
                     struct mafat_partition *partitions, struct mafat_diagnostic *d)
{
  struct splitter c = {.splits = splits, .ground = ground, .partitions = partitions, .d = d};
  long long n_parts = 0;
  for (int i = 0; i < splits->n; i++) {
    c.split = &splits->list[i];
    int code = apply(&c);
    if (code) return code;
  }
  for (int l = ground->layers.begin; l < ground->layers.end; l++)
    n_parts += ground->runs[l] ? mafat_partition_n_parts(&partitions[l]) : 0;
  if (n_parts <= MAFAT_MOST_GROUP_PARTS) return MAFAT_OK;
  return mafat_fail(d, MAFAT_EINVAL, "layers %d to %d are split into more than %d parts",
                    ground->layers.begin, ground->layers.end - 1, MAFAT_MOST_GROUP_PARTS);
}
