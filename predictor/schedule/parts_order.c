/* Implements mafat_parts_order of plan/parts.h: builds a graph of each split group, with parts as
 * operators and partition buffers as buffers, and orders it by transform/op_schedule.h. Called by
 * predictor/planning/lay.c. Reorders plan->parts->list. Uses temporary memory from the plan's
 * heap. */
#include "predictor/plan/parts.h"

#include "predictor/plan/packing.h"
#include "predictor/schedule/parts_scratch.h"
#include "predictor/plan/usage.h"
#include "transform/op_schedule.h"

#include <string.h>

enum { EFFORT = 10 * 1000 * 1000 }; /* most evaluations of operators: some tenths of a second */

/* Graph of a group while it is built. */
struct part_uses {
  struct mafat_plan *plan;
  const struct mafat_network *network;
  int group;
  struct mafat_usage *usage;
  struct mafat_op_graph graph;
  struct mafat_op_use *uses;
  int capacity;               /* allocated uses */
  int *first_group, *last_group; /* [tensor]: groups of its first and last reader; -1: none */
  int n_inputs;           /* number of operators that read the network's inputs; they are the first
                             operators of the graph */
  int *first_buffer;      /* [tensor]: number of its first partition buffer; -1: none yet */
  int *first_sums;        /* [layer]: number of its first buffer of integer sums; -1: none yet */
  int *reader_of;         /* [buffer]: operator that was last noted as its user; -1: none */
  uint64_t *work;         /* [operator]: scratch bytes */
  uint64_t *bytes;        /* [buffer] */
  bool *kept;             /* [buffer]: needed after the group */
  int most_buffers;       /* allocated buffers */
};

/* Upper bound of the number of buffers. */
static int count_buffers(const struct part_uses *c)
{
  int n = 0;
  for (int t = 0; t < mafat_network_n_tensors(c->network); t++) {
    const struct mafat_partition *partition = mafat_parts_partition(c->plan, t);
    int parts = partition ? mafat_partition_n_buffers(partition) : 1;
    /* collect_input adds buffers that keep the parts of an input in order */
    n += mafat_network_is_input(c->network, t) ? 2 * parts : parts;
    if (mafat_parts_keep_sums(c->plan, c->network, t))
      n += mafat_partition_n_buffers(&c->plan->parts->partitions[t]);
  }
  return n;
}

/* Fills first_group and last_group. */
static void find_groups(struct part_uses *c)
{
  for (int l = 0; l < c->plan->n_layers; l++) {
    if (!c->usage[l].needed || mafat_layer_is_alias(&c->network->layers[l]) ||
        c->plan->outer[l] >= 0)
      continue;
    for (struct mafat_reads r = mafat_plan_reads(c->plan, c->network, l); mafat_reads_next(&r);) {
      int t = r.source->tensor, group = c->plan->group_of[l];
      c->last_group[t] = mafat_max(c->last_group[t], group);
      c->first_group[t] = c->first_group[t] < 0 ? group : mafat_min(c->first_group[t], group);
    }
  }
}

static int open_collection(struct part_uses *c)
{
  struct mafat_heap *heap = c->plan->heap;
  size_t n = (size_t)mafat_network_n_tensors(c->network);
  c->most_buffers = count_buffers(c);
  c->usage = mafat_heap_calloc(heap, n, sizeof *c->usage);
  c->first_buffer =
      mafat_heap_calloc(heap, 2 * n + (size_t)c->most_buffers, sizeof *c->first_buffer);
  c->work = mafat_heap_calloc(heap, (size_t)(c->plan->parts->n + c->most_buffers), sizeof *c->work);
  c->bytes = mafat_heap_calloc(heap, (size_t)c->most_buffers, sizeof *c->bytes);
  c->kept = mafat_heap_calloc(heap, (size_t)c->most_buffers, sizeof *c->kept);
  c->first_group = mafat_heap_calloc(heap, 2 * n, sizeof *c->first_group);
  if (!c->usage || !c->first_buffer || !c->bytes || !c->kept || !c->first_group || !c->work)
    return MAFAT_ENOMEM;
  c->last_group = c->first_group + n;
  c->first_sums = c->first_buffer + n;
  c->reader_of = c->first_sums + n;
  memset(c->first_buffer, -1, (2 * n + (size_t)c->most_buffers) * sizeof *c->first_buffer);
  memset(c->first_group, -1, 2 * n * sizeof *c->first_group);
  mafat_usage_find(c->network, c->plan, c->usage);
  find_groups(c);
  c->graph.bytes = c->bytes;
  c->graph.kept = c->kept;
  c->graph.work = c->work;
  return MAFAT_OK;
}

static void close_collection(struct part_uses *c)
{
  mafat_heap_free(c->plan->heap, c->usage);
  mafat_heap_free(c->plan->heap, c->work);
  mafat_heap_free(c->plan->heap, c->first_group);
  mafat_heap_free(c->plan->heap, c->first_buffer);
  mafat_heap_free(c->plan->heap, c->bytes);
  mafat_heap_free(c->plan->heap, c->kept);
  mafat_heap_free(c->plan->heap, c->uses);
}

/* Approximate bytes of a partition buffer: without padding columns. */
static uint64_t partition_buffer_bytes(const struct part_uses *c, int tensor,
                                       struct mafat_partition_buffer b)
{
  struct mafat_shape s = mafat_network_tensor_shape(c->network, tensor);
  const struct mafat_partition *partition = mafat_parts_partition(c->plan, tensor);
  uint64_t pixel = (uint64_t)(partition ? mafat_partition_pixel(partition, s, b.channels)
                                        : mafat_pixel_width_of(s.c, b.channels));
  return mafat_dtype_bytes(mafat_network_tensor_type(c->network, tensor),
                           pixel * (uint64_t)mafat_box_area(b.box));
}

/* True if the tensor is used after the group. */
static bool is_kept(const struct part_uses *c, int tensor)
{
  return c->usage[tensor].last_use == c->plan->n_layers || c->last_group[tensor] > c->group;
}

/* Number, in the graph, of partition buffer `buffer_index` of a tensor. The first call for a tensor
 * creates the tensor's buffers. */
static int buffer_of(struct part_uses *c, int tensor, int buffer_index)
{
  const struct mafat_partition *partition = mafat_parts_partition(c->plan, tensor);
  struct mafat_shape s = mafat_network_tensor_shape(c->network, tensor);
  int n = partition ? mafat_partition_n_buffers(partition) : 1;
  if (c->first_buffer[tensor] >= 0) return c->first_buffer[tensor] + buffer_index;
  c->first_buffer[tensor] = c->graph.n_buffers;
  for (int i = 0; i < n; i++, c->graph.n_buffers++) {
    struct mafat_partition_buffer whole = {mafat_box_full(s.h, s.w), mafat_span(0, s.c)};
    c->bytes[c->graph.n_buffers] = partition_buffer_bytes(
        c, tensor, partition ? mafat_partition_buffer_at(partition, s, i) : whole);
    c->kept[c->graph.n_buffers] = is_kept(c, tensor);
  }
  return c->first_buffer[tensor] + buffer_index;
}

/* Notes that an operator makes or reads a buffer. */
static int note_buffer(struct part_uses *c, int operator, int buffer, bool makes)
{
  if (c->reader_of[buffer] == operator) return MAFAT_OK;
  c->reader_of[buffer] = operator;
  if (c->graph.n_uses == c->capacity) {
    int capacity = 2 * c->capacity + 64;
    struct mafat_op_use *grown =
        mafat_heap_realloc(c->plan->heap, c->uses, (size_t)capacity * sizeof *grown);
    if (!grown) return MAFAT_ENOMEM;
    c->uses = grown;
    c->capacity = capacity;
  }
  c->uses[c->graph.n_uses++] =
      (struct mafat_op_use){.operator= operator, .buffer = buffer, .makes = makes};
  return MAFAT_OK;
}

static int note_use(struct part_uses *c, int operator, int tensor, int buffer_index, bool makes)
{
  return note_buffer(c, operator, buffer_of(c, tensor, buffer_index), makes);
}

/* Adds an operator for each partition buffer of an input. Each operator also makes a buffer of 0
 * bytes that the next one reads, so that they stay in order. */
static int collect_input(struct part_uses *c, int input)
{
  int n = mafat_partition_n_buffers(mafat_parts_partition(c->plan, input)), code = MAFAT_OK;
  for (int i = 0; i < n && code == MAFAT_OK; i++) {
    int operator = c->graph.n_operators++;
    code = note_use(c, operator, input, i, true);
    if (i > 0 && code == MAFAT_OK) code = note_buffer(c, operator, c->graph.n_buffers - 1, false);
    if (i + 1 < n && code == MAFAT_OK) code = note_buffer(c, operator, c->graph.n_buffers++, true);
  }
  return code;
}

/* Adds the partitioned inputs of the network that this group is the first to read. */
static int collect_inputs(struct part_uses *c)
{
  int code = MAFAT_OK;
  for (int i = c->network->n_layers; i < mafat_network_n_operators(c->network) && code == MAFAT_OK;
       i++)
    if (mafat_parts_partition(c->plan, i) && c->first_group[i] == c->group)
      code = collect_input(c, i);
  c->n_inputs = c->graph.n_operators;
  return code;
}

/* Notes the buffer of integer sums that a part uses, if any. The last part that uses the buffer
 * ends its life. */
static int note_sums(struct part_uses *c, int operator, const struct mafat_layer_part *part)
{
  const struct mafat_partition *partition = &c->plan->parts->partitions[part->layer];
  const struct mafat_layer *l = &c->network->layers[part->layer];
  int *first = &c->first_sums[part->layer];
  if (!mafat_parts_keep_sums(c->plan, c->network, part->layer)) return MAFAT_OK;
  for (int i = 0; *first < 0 && i < mafat_partition_n_buffers(partition); i++)
    c->bytes[c->graph.n_buffers + i] =
        mafat_parts_sums_bytes(l, mafat_partition_buffer_at(partition, l->out, i).box);
  if (*first < 0) {
    *first = c->graph.n_buffers;
    c->graph.n_buffers += mafat_partition_n_buffers(partition);
  }
  return note_buffer(c, operator, * first + mafat_partition_find_buffer(
                            partition, 0, part->out.y.begin, part->out.x.begin),
                     true);
}

static int note_scratch(struct part_uses *c, int operator, const struct mafat_layer_part *part)
{
  struct mafat_scratch scratch;
  int code = mafat_parts_scratch_plan(c->plan, c->network, part, &scratch);
  c->work[operator] = mafat_scratch_bytes(&scratch, c->plan->n_threads);
  return code;
}

static int note_makes(struct part_uses *c, int operator, const struct mafat_layer_part *part)
{
  int code = MAFAT_OK;
  for (int k = 0; k < mafat_layer_n_outputs(&c->network->layers[part->layer]) && code == MAFAT_OK;
       k++) {
    int tensor = mafat_network_output(c->network, part->layer, k);
    if (mafat_usage_is_read(&c->usage[tensor]))
      code = note_use(c, operator, tensor, mafat_parts_made(c->plan, part, tensor), true);
  }
  return code;
}

static int collect(struct part_uses *c)
{
  const struct mafat_parts *parts = c->plan->parts;
  int code = collect_inputs(c);
  for (int p = parts->at[c->group]; p < parts->at[c->group + 1] && code == MAFAT_OK; p++) {
    const struct mafat_layer_part *part = &parts->list[p];
    int operator = c->graph.n_operators++;
    struct mafat_buffer_walk w = mafat_parts_reads(c->plan, c->network, part);
    /* Outputs come first. If a part before this one has created the output's buffer, the buffer has
     * a lower number than those of this part's operands. */
    code = note_makes(c, operator, part);
    if (code == MAFAT_OK) code = note_sums(c, operator, part);
    while (code == MAFAT_OK && mafat_parts_reads_next(&w))
      code = note_use(c, operator, w.tensor, w.buffer_index, false);
    if (code == MAFAT_OK) code = note_scratch(c, operator, part);
  }
  c->graph.uses = c->uses;
  return code;
}

/* Orders the graph, and puts the group's parts in plan->parts->list in this order. */
static int sort_parts(struct part_uses *c)
{
  struct mafat_heap *heap = c->plan->heap;
  struct mafat_parts *parts = c->plan->parts;
  struct mafat_layer_part *list = parts->list + parts->at[c->group];
  struct mafat_op_scheduler *s = NULL;
  struct mafat_op_schedule_result sorted;
  size_t n = (size_t)c->graph.n_operators;
  int *order = mafat_heap_calloc(heap, n + 1, sizeof *order);
  struct mafat_layer_part *before = mafat_heap_calloc(heap, n + 1, sizeof *before);
  int code = order && before ? mafat_op_scheduler_open(&s, &c->graph, heap) : MAFAT_ENOMEM;
  if (code == MAFAT_OK) code = mafat_op_schedule(s, c->plan->op_order, EFFORT, order, &sorted);
  if (code == MAFAT_OK) {
    memcpy(before, list, (n - (size_t)c->n_inputs) * sizeof *before);
    for (size_t i = 0; i < n; i++)
      if (order[i] >= c->n_inputs) *list++ = before[order[i] - c->n_inputs];
  }
  mafat_op_scheduler_close(&s);
  mafat_heap_free(heap, order);
  mafat_heap_free(heap, before);
  return code;
}

int mafat_parts_order(struct mafat_plan *plan, const struct mafat_network *n)
{
  int code = MAFAT_OK;
  if (plan->op_order == MAFAT_OP_ORDER_FILE) return MAFAT_OK;
  for (int g = 0; g < plan->n_groups && code == MAFAT_OK; g++) {
    struct part_uses c = {.plan = plan, .network = n, .group = g};
    if (plan->groups[g].cut.kind != MAFAT_CUT_SPLIT) continue;
    code = open_collection(&c);
    if (code == MAFAT_OK) code = collect(&c);
    if (code == MAFAT_OK) code = sort_parts(&c);
    close_collection(&c);
  }
  return code;
}
