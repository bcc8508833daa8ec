/* Divides layers into parts (partition.h), finds which tensors are stored in partition buffers, and
 * walks over the buffers that a part reads. Called by predictor/planning/lay.c, predictor/layout,
 * predictor/ranks and predictor/schedule. Allocates plan->parts from the plan's heap, and changes
 * the plan's algorithms and positions. */
#include "predictor/plan/parts.h"

#include "base/blocks.h"
#include "predictor/plan/fusion.h"
#include "predictor/plan/packing.h"
#include "predictor/plan/usage.h"
#include "predictor/plan/winograd.h"

#include <string.h>

/* ---- partition buffers ---- */

static bool meet(struct mafat_span a, struct mafat_span b)
{
  return a.begin < b.end && b.begin < a.end;
}

/* Channels of an operand that the part reads. */
static struct mafat_span channels_read(const struct mafat_plan *plan, const struct mafat_network *n,
                                       const struct mafat_layer_part *part, int operand)
{
  const struct mafat_layer *step = &n->layers[part->layer],
                           *reader = &n->layers[mafat_plan_reader(plan, part->layer)];
  const struct mafat_layer *l = operand ? step : reader;
  int all = l->operands[operand].shape.c;
  if (!operand && mafat_parts_sum(plan, part->layer)) return part->channels;
  if (!mafat_layer_is_lanewise(l) || l != step) return mafat_span(0, all);
  if (all == 1) return mafat_span(0, 1);
  return mafat_span_clip(part->filters, all);
}

struct mafat_buffer_walk mafat_parts_reads(const struct mafat_plan *plan,
                                           const struct mafat_network *n,
                                           const struct mafat_layer_part *part)
{
  return (struct mafat_buffer_walk){.plan = plan, .network = n, .part = part,
                                   .reads = mafat_plan_reads(plan, n, part->layer)};
}

/* Sets the region of the current source that the part reads. */
static void find_wanted(struct mafat_buffer_walk *w)
{
  const struct mafat_reads *r = &w->reads;
  int index = r->next - 1, first = 0;
  struct mafat_span y =
      mafat_fusion_in_span(w->plan, w->network, w->part->layer, r->operand, true, w->part->out.y);
  struct mafat_span channels = channels_read(w->plan, w->network, w->part, r->operand);
  for (int i = index - index % r->sources->n; i < index; i++) first += r->sources->list[i].n;
  int begin = mafat_max(channels.begin, first), end = mafat_min(channels.end, first + r->source->n);
  w->tensor = r->source->tensor;
  w->wanted.box.y = mafat_reads_rows(r, y);
  w->wanted.box.x =
      mafat_fusion_in_span(w->plan, w->network, w->part->layer, r->operand, false, w->part->out.x);
  w->wanted.channels = mafat_span(begin - first + r->source->first, end - first + r->source->first);
}

/* Finds the partition buffers of the tensor that intersect the wanted region. */
static void find_met(struct mafat_buffer_walk *w)
{
  const struct mafat_partition *c = mafat_parts_partition(w->plan, w->tensor);
  bool any = !mafat_span_is_empty(w->wanted.box.y) && !mafat_span_is_empty(w->wanted.channels);
  const struct mafat_span spans[MAFAT_N_SPLIT_AXES] = {w->wanted.box.y, w->wanted.box.x,
                                                       w->wanted.channels};
  w->next = 0;
  w->n = any;
  for (int axis = 0; axis < MAFAT_N_SPLIT_AXES && any && c; axis++) {
    w->met[axis] = mafat_partition_span(c, (enum mafat_split_axis)axis, spans[axis]);
    w->n *= mafat_span_size(w->met[axis]);
  }
}

/* Moves to the next partition buffer of the current source. */
static bool next_buffer(struct mafat_buffer_walk *w)
{
  const struct mafat_partition *c = mafat_parts_partition(w->plan, w->tensor);
  if (w->next == w->n) return false;
  int i = w->next++;
  w->buffer_index = 0;
  if (!c) return true;
  int n_channels = mafat_span_size(w->met[MAFAT_ALONG_C]),
      n_cols = mafat_span_size(w->met[MAFAT_ALONG_W]);
  int y = w->met[MAFAT_ALONG_H].begin + i / (n_channels * n_cols),
      x = w->met[MAFAT_ALONG_W].begin + i / n_channels % n_cols;
  w->buffer_index = (y * c->n[MAFAT_ALONG_W] + x) * (c->sums ? 1 : c->n[MAFAT_ALONG_C]) +
                    w->met[MAFAT_ALONG_C].begin + i % n_channels;
  return true;
}

bool mafat_parts_reads_next(struct mafat_buffer_walk *w)
{
  for (;;) {
    if (next_buffer(w)) return true;
    if (!mafat_reads_next(&w->reads)) return false;
    find_wanted(w);
    find_met(w);
  }
}

int mafat_parts_made(const struct mafat_plan *plan, const struct mafat_layer_part *part, int tensor)
{
  const struct mafat_partition *c = mafat_parts_partition(plan, tensor);
  return c ? mafat_partition_find_buffer(c, part->filters.begin, part->out.y.begin,
                                         part->out.x.begin)
           : 0;
}

uint64_t mafat_parts_sums_bytes(const struct mafat_layer *l, struct mafat_box box)
{
  uint64_t bytes, pixel = (uint64_t)mafat_panel_width(l->out.c) * sizeof(int32_t);
  return __builtin_mul_overflow((uint64_t)mafat_box_area(box), pixel, &bytes) ? UINT64_MAX : bytes;
}

/* ---- creation ---- */

struct parts_finder {
  struct mafat_plan *plan;
  const struct mafat_network *network;
  struct mafat_usage *usage;
  bool *runs; /* [tensor]: its layer has steps of its own, or it is an input that a layer reads */
  bool *cut;  /* [layer]: runs, and is in the group being split */
  int *unit, *channel_unit; /* [layer]: its rows and columns can be split at multiples of `unit`,
                               its channels at multiples of `channel_unit` (transform/split.h) */
  int *done;                /* [layer]: number of parts whose bounds are set */
  struct mafat_parts *parts;
  const struct mafat_layer_part *recorded; /* (n_recorded) steps of the groups that are cut by
                                              rows, in the order of the groups */
  int n_recorded;
  struct mafat_diagnostic *d;
};

/* True if the group's layers are divided into parts. */
static bool has_parts(const struct mafat_group *g)
{
  return mafat_cut_has_parts(&g->cut);
}

/* Divides the layers of a split(...) group. Sums along channels need direct convolutions. */
static int find_partitions(struct parts_finder *f, const struct mafat_group *g)
{
  const struct mafat_plan *plan = f->plan;
  struct mafat_split_ground ground = {.network = f->network,
                                      .unit = f->unit,
                                      .channel_unit = f->channel_unit,
                                      .runs = f->cut,
                                      .heap = plan->heap,
                                      .layers = {plan->members[g->at.begin],
                                                 plan->members[g->at.end - 1] + 1}};
  for (int l = 0; l < plan->n_layers; l++) f->cut[l] = f->runs[l] && mafat_plan_group(plan, l) == g;
  int code = mafat_split_find(&g->cut.as.split, &ground, f->parts->partitions, f->d);
  for (int l = ground.layers.begin; l < ground.layers.end && code == MAFAT_OK; l++) {
    if (!f->cut[l] || !f->parts->partitions[l].sums || plan->algorithms[l] == MAFAT_DIRECT)
      continue;
    if (plan->wanted == MAFAT_AUTO &&
        plan->algorithms[l] == mafat_winograd_fastest(&f->network->layers[l]))
      plan->algorithms[l] = MAFAT_DIRECT;
    else
      code = mafat_fail(
          f->d, MAFAT_EINVAL,
          "layer %d [%s] cannot be cut along channels: %s computes all of them at once",
          l, mafat_layer_type_name(f->network->layers[l].type),
          mafat_algorithm_name(plan->algorithms[l]));
  }
  return code;
}

/* ---- rows ---- */

/* Counts the parts of each layer among the recorded steps [first, end). */
static void count_rows(struct parts_finder *f, int first, int end)
{
  for (int i = first; i < end; i++)
    f->parts->partitions[f->recorded[i].layer].n[MAFAT_ALONG_H] += f->recorded[i].out.y.begin > 0;
}

/* Sets the bounds of each layer's parts to those of the recorded steps. */
static int bound_rows(struct parts_finder *f, int first, int end)
{
  for (int i = first; i < end; i++) {
    const struct mafat_layer_part *part = &f->recorded[i];
    struct mafat_partition *c = &f->parts->partitions[part->layer];
    int n = c->n[MAFAT_ALONG_H];
    if (n == 1) continue;
    if (!c->bounds[MAFAT_ALONG_H])
      c->bounds[MAFAT_ALONG_H] = mafat_heap_calloc(f->plan->heap, (size_t)n + 1, sizeof(int));
    if (!c->bounds[MAFAT_ALONG_H]) return MAFAT_ENOMEM;
    int k = f->done[part->layer]++;
    c->bounds[MAFAT_ALONG_H][k] = part->out.y.begin;
    c->bounds[MAFAT_ALONG_H][k + 1] = part->out.y.end;
  }
  return MAFAT_OK;
}

static int check_recorded(struct parts_finder *f, const struct mafat_group *g, int n_steps)
{
  int n = 0;
  for (int i = g->at.begin; i < g->at.end; i++)
    n = mafat_max(n, f->parts->partitions[f->plan->members[i]].n[MAFAT_ALONG_H]);
  if (n <= MAFAT_MOST_SPLIT_PARTS && n_steps <= MAFAT_MOST_GROUP_PARTS) return MAFAT_OK;
  return mafat_fail(f->d, MAFAT_EINVAL,
                    "the rows%d:bricks group over layers %d..%d has more steps of rows than there "
                    "can be partition buffers",
                    g->cut.as.rows.least, f->plan->members[g->at.begin],
                    f->plan->members[g->at.end - 1]);
}

/* Divides the layers of a group by rows at the bounds of its recorded steps. *next: first recorded
 * step of the group; becomes the first step of the next group. */
static int cut_rows(struct parts_finder *f, int group, int *next)
{
  const struct mafat_group *g = &f->plan->groups[group];
  int first = *next, code;
  while (*next < f->n_recorded && mafat_plan_group(f->plan, f->recorded[*next].layer) == g) ++*next;
  count_rows(f, first, *next);
  if ((code = check_recorded(f, g, *next - first))) return code;
  return bound_rows(f, first, *next) ? mafat_fail(f->d, MAFAT_ENOMEM, "out of memory") : MAFAT_OK;
}

/* ---- readers ---- */

/* True if a part of the layer reads several parts of the same row of the tensor. */
static bool reads_across(const struct parts_finder *f, int layer, int operand,
                         const struct mafat_partition *c)
{
  const struct mafat_partition *own = &f->parts->partitions[layer];
  for (int i = 0; i < own->n[MAFAT_ALONG_W]; i++) {
    struct mafat_span out =
        mafat_partition_part(own, MAFAT_ALONG_W, i, f->network->layers[layer].out.w);
    struct mafat_span in = mafat_fusion_in_span(f->plan, f->network, layer, operand, false, out);
    int n_met = 0;
    for (int k = 0; k < c->n[MAFAT_ALONG_W]; k++)
      n_met += meet(in, mafat_partition_part(c, MAFAT_ALONG_W, k, 0));
    if (n_met > 1) return true;
  }
  return false;
}

/* False if the layer needs the operand in one buffer: it reads all rows for one output row, or
 * channels of several parts for one output channel. */
static bool can_read_partition(const struct parts_finder *f, int layer, int operand,
                               const struct mafat_partition *c)
{
  const struct mafat_layer *l =
      operand ? &f->network->layers[layer] : &f->network->layers[mafat_plan_reader(f->plan, layer)];
  int h = l->operands[operand].shape.h;
  if (!(mafat_layer_along(l) & MAFAT_ALONG_ROWS)) return false;
  if (c->n[MAFAT_ALONG_H] > 1 && h > 1) {
    struct mafat_span rows = mafat_layer_in_span(l, operand, true, mafat_span(0, 1));
    if (mafat_span_size(rows) == h && l->out.h > 1) return false;
  }
  if (c->n[MAFAT_ALONG_C] > 1 && !c->sums && !(mafat_layer_along(l) & MAFAT_ALONG_FILTERS))
    return false;
  if (c->lanes &&
      (!mafat_layer_goes_within_blocks(l) || f->parts->partitions[layer].lanes != c->lanes))
    return false;
  /* other bands of the operand may be stored in whole channel blocks */
  if (c->lanes && l->operands[operand].sources.n_bands > 1) return false;
  return true;
}

/* For parts smaller than a channel block: true if each part of the reader is within one of the
 * tensor's parts. Parts of both have the same number of channels, but a source may begin inside a
 * part. */
static bool meets_lanes(const struct mafat_reads *r, int lanes)
{
  int index = r->next - 1, first = 0;
  if (!lanes) return true;
  for (int i = index - index % r->sources->n; i < index; i++) first += r->sources->list[i].n;
  return (r->source->first - first) % lanes == 0;
}

/* True if the layer can read the tensor from partition buffers: its group is divided into parts, or
 * it runs in one step and the tensor is no input of the network. */
static bool takes_partition(const struct parts_finder *f, int layer, int tensor)
{
  const struct mafat_group *g = mafat_plan_group(f->plan, layer);
  bool whole = g->cut.kind == MAFAT_CUT_GRID && !mafat_group_is_tiled(g) &&
               !mafat_network_is_input(f->network, tensor);
  return has_parts(g) || whole;
}

/* Finds whether a tensor is stored in partition buffers. Outputs of the network, and tensors read
 * by tiles, rolling windows or panels, are in one buffer. */
static void find_partition_buffers(struct parts_finder *f, int tensor)
{
  const struct mafat_partition *c = &f->parts->partitions[tensor];
  bool *partitioned = &f->parts->partitioned[tensor], across = false;
  *partitioned = f->runs[tensor] && mafat_usage_is_read(&f->usage[tensor]) &&
                 f->usage[tensor].last_use < f->plan->n_layers && mafat_partition_n_buffers(c) > 1;
  for (int l = 0; l < f->plan->n_layers && *partitioned; l++) {
    if (!f->runs[l]) continue;
    for (struct mafat_reads r = mafat_plan_reads(f->plan, f->network, l);
         mafat_reads_next(&r) && *partitioned;)
      if (r.source->tensor == tensor) {
        *partitioned = takes_partition(f, l, tensor) && can_read_partition(f, l, r.operand, c) &&
                       meets_lanes(&r, c->lanes);
        across = across || (c->n[MAFAT_ALONG_W] > 1 && reads_across(f, l, r.operand, c));
      }
  }
  f->parts->across[tensor] = *partitioned && across;
  *partitioned = *partitioned && !across;
}

/* Marks the rows of an input at which parts of a reading layer begin or end. */
static void mark_bounds(const struct parts_finder *f, int layer, int input, bool *marks)
{
  const struct mafat_partition *own = &f->parts->partitions[layer];
  for (struct mafat_reads r = mafat_plan_reads(f->plan, f->network, layer); mafat_reads_next(&r);) {
    for (int i = 0; r.source->tensor == input && i < own->n[MAFAT_ALONG_H]; i++) {
      struct mafat_span out =
          mafat_partition_part(own, MAFAT_ALONG_H, i, f->network->layers[layer].out.h);
      struct mafat_span in = mafat_reads_rows(&r, mafat_fusion_in_span(f->plan, f->network, layer,
                                                                       r.operand, true, out));
      if (!mafat_span_is_empty(in)) marks[in.begin] = marks[in.end] = true;
    }
  }
}

/* Divides an input of the network along rows, where the parts of its readers begin and end. */
static int cut_input(struct parts_finder *f, int input)
{
  struct mafat_heap *heap = f->plan->heap;
  struct mafat_partition *c = &f->parts->partitions[input];
  int h = mafat_network_tensor_shape(f->network, input).h, n = 0;
  bool *marks = mafat_heap_calloc(heap, (size_t)h + 1, sizeof *marks);
  int *bounds = mafat_heap_calloc(heap, (size_t)h + 1, sizeof *bounds);
  if (marks && bounds) {
    for (int l = 0; l < f->plan->n_layers; l++)
      if (f->runs[l]) mark_bounds(f, l, input, marks);
    for (int y = 1; y <= h; y++)
      if (marks[y] || y == h) bounds[++n] = y;
  }
  bool enough = marks && bounds, cut = n > 1 && n <= MAFAT_MOST_SPLIT_PARTS;
  mafat_heap_free(heap, marks);
  c->bounds[MAFAT_ALONG_H] = bounds;
  if (cut) c->n[MAFAT_ALONG_H] = n;
  else mafat_partition_free(heap, c);
  return enough ? MAFAT_OK : MAFAT_ENOMEM;
}

/* Copies the division of a layer's first output, for its other outputs. */
static int copy_partition(struct parts_finder *f, const struct mafat_partition *from,
                          struct mafat_partition *to)
{
  *to = *from;
  for (int axis = 0; axis < MAFAT_N_SPLIT_AXES; axis++) to->bounds[axis] = NULL;
  for (int axis = 0; axis < MAFAT_N_SPLIT_AXES; axis++) {
    size_t bytes = ((size_t)from->n[axis] + 1) * sizeof *from->bounds[axis];
    if (!from->bounds[axis]) continue;
    if (!(to->bounds[axis] = mafat_heap_calloc(f->plan->heap, 1, bytes))) return MAFAT_ENOMEM;
    memcpy(to->bounds[axis], from->bounds[axis], bytes);
  }
  return MAFAT_OK;
}

static int find_output_partitions(struct parts_finder *f, int layer)
{
  int code = MAFAT_OK;
  find_partition_buffers(f, layer);
  for (int k = 1; k < mafat_layer_n_outputs(&f->network->layers[layer]) && code == MAFAT_OK; k++) {
    int tensor = mafat_network_output(f->network, layer, k);
    code = copy_partition(f, &f->parts->partitions[layer], &f->parts->partitions[tensor]);
    if (code == MAFAT_OK) find_partition_buffers(f, tensor);
  }
  return code;
}

static int find_all_partitions(struct parts_finder *f)
{
  int code = MAFAT_OK;
  for (int i = f->network->n_layers; i < mafat_network_n_operators(f->network) && code == MAFAT_OK;
       i++) {
    if (f->runs[i]) code = cut_input(f, i);
    if (code == MAFAT_OK) find_partition_buffers(f, i);
  }
  for (int l = 0; l < f->plan->n_layers && code == MAFAT_OK; l++)
    if (has_parts(mafat_plan_group(f->plan, l))) code = find_output_partitions(f, l);
  return code;
}

/* Appends the parts of a layer. */
static void add_parts(struct parts_finder *f, int layer)
{
  const struct mafat_partition *c = &f->parts->partitions[layer];
  const struct mafat_layer *l = &f->network->layers[layer];
  int channels = mafat_layer_channels(&f->network->layers[mafat_plan_reader(f->plan, layer)]);
  for (int y = 0; y < c->n[MAFAT_ALONG_H]; y++)
    for (int x = 0; x < c->n[MAFAT_ALONG_W]; x++)
      for (int k = 0; k < c->n[MAFAT_ALONG_C]; k++) {
        struct mafat_span part =
            mafat_partition_part(c, MAFAT_ALONG_C, k, c->sums ? channels : l->out.c);
        f->parts->list[f->parts->n++] = (struct mafat_layer_part){
            .layer = layer,
            .out.y = mafat_partition_part(c, MAFAT_ALONG_H, y, l->out.h),
            .out.x = mafat_partition_part(c, MAFAT_ALONG_W, x, l->out.w),
            .filters = c->sums ? mafat_span(0, l->out.c) : part,
            .channels = c->sums ? part : mafat_span(0, channels)};
      }
}

/* Appends the parts of a group; *recorded: its first recorded step, if it is by rows. */
static void add_group(struct parts_finder *f, const struct mafat_group *g, int *recorded)
{
  if (!has_parts(g)) return;
  if (g->cut.kind == MAFAT_CUT_SPLIT) {
    for (int i = g->at.begin; i < g->at.end; i++)
      if (f->runs[f->plan->members[i]]) add_parts(f, f->plan->members[i]);
    return;
  }
  for (; *recorded < f->n_recorded && mafat_plan_group(f->plan, f->recorded[*recorded].layer) == g;
       ++*recorded)
    f->parts->list[f->parts->n++] = f->recorded[*recorded];
}

static int make_parts(struct parts_finder *f)
{
  int recorded = 0;
  struct mafat_plan *plan = f->plan;
  struct mafat_parts *parts = f->parts;
  size_t n = 1;
  for (int l = 0; l < plan->n_layers; l++)
    n += (size_t)mafat_partition_n_parts(&parts->partitions[l]);
  parts->list = mafat_heap_calloc(plan->heap, n, sizeof *parts->list);
  if (!parts->list) return mafat_fail(f->d, MAFAT_ENOMEM, "out of memory");
  if (find_all_partitions(f)) return mafat_fail(f->d, MAFAT_ENOMEM, "out of memory");
  for (int g = 0; g < plan->n_groups; g++) {
    parts->at[g] = parts->n;
    add_group(f, &plan->groups[g], &recorded);
    parts->at[g + 1] = parts->n;
  }
  return MAFAT_OK;
}

/* True if the layer is a direct convolution that may begin at any filter of a panel. The kernel may
 * then read past the end of the layer's weights, by less than one vector, so the kept weights of
 * another layer must follow. */
static bool begins_in_panels(const struct parts_finder *f, int layer)
{
  const struct mafat_plan *plan = f->plan;
  const struct mafat_layer *l = &f->network->layers[layer];
  bool follows = false;
  for (int k = layer + 1; k < plan->n_layers && !follows; k++)
    follows = f->usage[k].needed && mafat_layer_has_weights(&f->network->layers[k]) &&
              mafat_plan_group(plan, k)->weights.placement == MAFAT_KEPT;
  return follows && mafat_layer_convolves(l) && mafat_layer_is_ungrouped(l) &&
         !mafat_layer_is_flat(l) && l->out_type == MAFAT_F32 && l->weights_type == MAFAT_F32 &&
         plan->algorithms[layer] == MAFAT_DIRECT &&
         mafat_plan_group(plan, layer)->weights.placement == MAFAT_KEPT;
}

/* Multiple at which output channels can be split: a panel of filters, because weights are read and
 * transformed panel by panel. A channel block for layers without panels, and for direct
 * convolutions whose panels are in memory. 1 for layers that may begin at any channel. */
static int channel_unit(const struct parts_finder *f, int layer)
{
  const struct mafat_layer *l = &f->network->layers[layer];
  /* ranks exchange whole channel blocks */
  bool shared = f->plan->ranks.n > 0 || f->plan->rank >= 0;
  if (!shared && (mafat_layer_goes_within_blocks(l) || begins_in_panels(f, layer))) return 1;
  bool within = mafat_layer_is_ungrouped(l) && f->plan->algorithms[layer] == MAFAT_DIRECT &&
                mafat_plan_group(f->plan, layer)->weights.placement != MAFAT_STREAMED;
  return mafat_layer_has_panels(l) && !mafat_layer_is_grouped(l) && !within ? MAFAT_PANEL
                                                                            : MAFAT_CHANNEL_BLOCK;
}

static int open_finder(struct parts_finder *f)
{
  struct mafat_heap *heap = f->plan->heap;
  size_t n = (size_t)mafat_network_n_tensors(f->network);
  struct mafat_parts *parts = f->plan->parts = f->parts =
      mafat_heap_calloc(heap, 1, sizeof *f->parts);
  f->usage = mafat_heap_calloc(heap, n, sizeof *f->usage);
  f->runs = mafat_heap_calloc(heap, n, sizeof *f->runs);
  f->cut = mafat_heap_calloc(heap, n, sizeof *f->cut);
  f->unit = mafat_heap_calloc(heap, n, sizeof *f->unit);
  f->channel_unit = mafat_heap_calloc(heap, n, sizeof *f->channel_unit);
  f->done = mafat_heap_calloc(heap, n, sizeof *f->done);
  if (!f->done || !parts || !f->usage || !f->runs || !f->cut || !f->unit || !f->channel_unit)
    return MAFAT_ENOMEM;
  parts->partitions = mafat_heap_calloc(heap, n, sizeof *parts->partitions);
  parts->partitioned = mafat_heap_calloc(heap, n, sizeof *parts->partitioned);
  parts->across = mafat_heap_calloc(heap, n, sizeof *parts->across);
  parts->at = mafat_heap_calloc(heap, (size_t)f->plan->n_groups + 1, sizeof *parts->at);
  if (!parts->partitions || !parts->partitioned || !parts->across || !parts->at)
    return MAFAT_ENOMEM;
  parts->n_tensors = (int)n;
  for (size_t i = 0; i < n; i++)
    parts->partitions[i] = (struct mafat_partition){{1, 1, 1}, {NULL}, false, 0};
  mafat_usage_find(f->network, f->plan, f->usage);
  for (int l = 0; l < f->plan->n_layers; l++) {
    f->runs[l] = f->usage[l].needed && !mafat_layer_is_alias(&f->network->layers[l]) &&
                 f->plan->outer[l] < 0;
    f->unit[l] = mafat_fusion_granularity(f->plan, f->network, l);
    f->channel_unit[l] = channel_unit(f, l);
  }
  /* inputs, and outputs of a layer after its first */
  for (size_t i = (size_t)f->network->n_layers; i < n; i++) f->runs[i] = f->usage[i].needed;
  return MAFAT_OK;
}

int mafat_parts_find(struct mafat_plan *plan, const struct mafat_network *n,
                     const struct mafat_recorded_parts *recorded, struct mafat_diagnostic *d)
{
  struct parts_finder f = {
      .plan = plan, .network = n, .recorded = recorded->list, .n_recorded = recorded->n, .d = d};
  int next = 0;
  bool any = false;
  for (int g = 0; g < plan->n_groups; g++) any = any || has_parts(&plan->groups[g]);
  if (!any) return MAFAT_OK;
  int code = open_finder(&f);
  if (code) mafat_fail(d, code, "out of memory");
  for (int g = 0; g < plan->n_groups && code == MAFAT_OK; g++) {
    if (plan->groups[g].cut.kind == MAFAT_CUT_SPLIT) code = find_partitions(&f, &plan->groups[g]);
    else if (has_parts(&plan->groups[g])) code = cut_rows(&f, g, &next);
  }
  if (code == MAFAT_OK) code = make_parts(&f);
  mafat_heap_free(plan->heap, f.usage);
  mafat_heap_free(plan->heap, f.runs);
  mafat_heap_free(plan->heap, f.cut);
  mafat_heap_free(plan->heap, f.unit);
  mafat_heap_free(plan->heap, f.channel_unit);
  mafat_heap_free(plan->heap, f.done);
  return code;
}

/* ---- positions ---- */

void mafat_parts_number(struct mafat_plan *plan)
{
  int at = 0;
  for (int g = 0; g < plan->n_groups; g++) {
    struct mafat_group *group = &plan->groups[g];
    int n =
        has_parts(group) ? plan->parts->at[g + 1] - plan->parts->at[g] : mafat_span_size(group->at);
    /* a group of aliases has no parts, but the maps that they rename need a position */
    int positions = mafat_max(n, 1);
    group->positions = mafat_span(at, at + positions);
    for (int i = group->at.begin; i < group->at.end; i++)
      plan->position[plan->members[i]] += at - group->at.begin;
    for (int p = n - 1; has_parts(group) && p >= 0; p--) {
      int layer = plan->parts->list[plan->parts->at[g] + p].layer;
      if (layer < plan->n_layers) plan->position[layer] = at + p;
    }
    at += positions;
  }
  plan->n_positions = at;
}
