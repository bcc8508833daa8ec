/* Orders the layers of each group: builds a graph of the group's steps and tensors, and orders it
 * by transform/op_schedule.h. Called by predictor/planning/lay.c. Changes plan->order and
 * plan->position. Uses temporary memory from the plan's heap, and adds orders to the caller's
 * memo. */
#include "predictor/planning/group_order.h"

#include "predictor/plan/fusion.h"
#include "predictor/plan/order.h"
#include "predictor/plan/packing.h"
#include "predictor/planning/in_place.h"
#include "predictor/plan/weight_placement.h"
#include "predictor/schedule/scratch.h"
#include "predictor/plan/usage.h"

#include <string.h>

enum { EFFORT = 10 * 1000 * 1000 }; /* most evaluations of operators: some tenths of a second */

/* Columns of padding at the sides of a tensor that its readers need. */
struct pads {
  int left, right;
};

/* Graph of a group (transform/op_schedule.h) while it is built. Its operators are the group's
 * steps, and its buffers are tensors. Both are numbered from 0 in each group. */
struct group_uses {
  const struct mafat_plan *plan;
  const struct mafat_network *network;
  const struct mafat_usage *usage;
  const struct pads *pads; /* [tensor] */
  int group;
  bool place; /* outputs reuse dead buffers where possible (in_place.h) */
  struct mafat_op_graph graph;
  struct mafat_op_use *uses;
  int *operator_of;       /* [layer]: its operator; -1: the layer has no step of its own */
  int *buffer_of;         /* [tensor]: its buffer; -1: none yet */
  int *reader_of;         /* [tensor]: operator that was last noted as its reader; -1: none */
  uint64_t *bytes;        /* [buffer] */
  bool *kept, *in_place;  /* [buffer]: needed after the group; [operator]: its output may be stored
                             where its input was */
  uint64_t *work;         /* [operator]: bytes alive only during its step */
};

/* ---- tensors ---- */

/* True if the layer has steps of its own. */
static bool runs(const struct group_uses *c, int layer)
{
  return c->usage[layer].needed && !mafat_layer_is_alias(&c->network->layers[layer]) &&
         c->plan->outer[layer] < 0;
}

/* True if the group runs each layer once. */
static bool is_once(const struct group_uses *c)
{
  return !mafat_group_is_tiled(&c->plan->groups[c->group]);
}

/* Finds the padding of each tensor: as much as the reader with the most padding needs. */
static void find_pads(const struct mafat_plan *plan, const struct mafat_network *n,
                      const struct mafat_usage *usage, struct pads *pads)
{
  for (int l = 0; l < plan->n_layers; l++) {
    const struct mafat_layer *layer = &n->layers[mafat_plan_reader(plan, l)];
    if (!usage[l].needed || mafat_layer_is_alias(&n->layers[l])) continue;
    struct pads own;
    mafat_layer_pads(layer, &own.left, &own.right);
    const struct mafat_sources *sources = mafat_layer_sources(layer);
    for (int i = 0; i < mafat_sources_count(sources); i++) {
      struct pads *p = &pads[sources->list[i].tensor];
      *p = (struct pads){mafat_max(p->left, own.left), mafat_max(p->right, own.right)};
    }
  }
}

/* Bytes of a tensor, as in the layout. 0 for a tensor that is in memory all the time, whatever the
 * order. */
static uint64_t tensor_bytes(const struct group_uses *c, int tensor)
{
  struct mafat_shape s = mafat_network_tensor_shape(c->network, tensor);
  uint64_t pixels = (uint64_t)s.h * (uint64_t)(c->pads[tensor].left + s.w + c->pads[tensor].right);
  /* in tiled groups an external map exists all the time */
  if (!is_once(c) && c->usage[tensor].external) return 0;
  int channels = mafat_order_is_panel_producer(c->plan, tensor)
                     ? mafat_min(s.c, MAFAT_PANEL * c->plan->n_threads)
                     : s.c;
  uint64_t pixel = (uint64_t)mafat_pixel_width_of(s.c, mafat_span(0, channels));
  uint64_t bytes = mafat_dtype_bytes(mafat_network_tensor_type(c->network, tensor), pixel * pixels);
  return (bytes + 63) / 64 * 64;
}

/* Returns the buffer of a tensor. Creates the buffer at the first call for this tensor. */
static int find_buffer(struct group_uses *c, int tensor)
{
  if (c->buffer_of[tensor] >= 0) return c->buffer_of[tensor];
  int b = c->graph.n_buffers++;
  c->bytes[b] = tensor_bytes(c, tensor);
  c->kept[b] = c->usage[tensor].last_use == c->plan->n_layers;
  return c->buffer_of[tensor] = b;
}

/* Marks buffers of tensors that later groups read as needed after this group. */
static void keep_what_is_read_later(struct group_uses *c)
{
  for (int l = 0; l < c->plan->n_layers; l++) {
    if (!runs(c, l) || c->plan->group_of[l] <= c->group) continue;
    for (struct mafat_reads r = mafat_plan_reads(c->plan, c->network, l); mafat_reads_next(&r);)
      if (c->buffer_of[r.source->tensor] >= 0) c->kept[c->buffer_of[r.source->tensor]] = true;
  }
}

/* ---- steps ---- */

static void note_use(struct group_uses *c, int operator, int tensor, bool makes)
{
  c->uses[c->graph.n_uses++] =
      (struct mafat_op_use){operator, find_buffer(c, tensor), makes, false};
}

/* True if the layer's output can reuse the tensor's buffer. */
static bool gives(const struct group_uses *c, int layer, int tensor)
{
  bool any = false;
  for (int k = 0; k < c->network->layers[layer].n_operands && c->place; k++)
    any = any || mafat_in_place_candidate(c->plan, c->network, c->usage, layer, k) == tensor;
  return any;
}

/* Notes the outputs of a layer that are stored. */
static void note_makes(struct group_uses *c, int operator, int layer)
{
  for (int k = 0; k < mafat_layer_n_outputs(&c->network->layers[layer]); k++) {
    int tensor = mafat_network_output(c->network, layer, k);
    if (mafat_usage_is_read(&c->usage[tensor])) note_use(c, operator, tensor, true);
  }
}

static void note_reads(struct group_uses *c, int operator, int layer)
{
  for (struct mafat_reads r = mafat_plan_reads(c->plan, c->network, layer); mafat_reads_next(&r);) {
    int t = r.source->tensor;
    /* each tensor once, and not the panels within a panel fusion */
    if (c->reader_of[t] == operator || c->operator_of[t] == operator) continue;
    c->reader_of[t] = operator;
    note_use(c, operator, t, false);
    c->uses[c->graph.n_uses - 1].gives = gives(c, layer, t);
  }
}

/* Bytes in use only during a step of the layer: scratch and loaded weights. */
static uint64_t step_bytes(const struct group_uses *c, int layer)
{
  struct mafat_scratch scratch;
  struct mafat_shape out = c->network->layers[layer].out;
  uint64_t bytes = 0;
  if (!is_once(c)) return 0; /* in tiled groups they are in memory all the time */
  if (mafat_scratch_plan(c->plan, c->network, layer, out.h, out.w, &scratch) == MAFAT_OK)
    bytes = mafat_scratch_bytes(&scratch, c->plan->n_threads);
  for (int l = layer; l >= 0; l = mafat_fusion_inside(c->plan, l))
    if (c->plan->placement[l] == MAFAT_LOADED)
      bytes += mafat_packed_layer_bytes(&c->network->layers[l]);
  return bytes;
}

/* Adds the step of a layer as an operator. If the layer is the convolution of a panel fusion, the
 * operator includes the layers that read its panels. */
static void note_step(struct group_uses *c, int layer)
{
  int o = c->graph.n_operators++;
  struct mafat_span at = c->plan->groups[c->group].at;
  c->operator_of[layer] = o;
  note_reads(c, o, layer);
  note_makes(c, o, layer);
  c->work[o] = step_bytes(c, layer);
  c->in_place[o] = is_once(c) && mafat_plan_transforms(c->plan, c->network, layer);
  for (int i = at.begin; i < at.end && mafat_order_is_panel_producer(c->plan, layer); i++) {
    int r = c->plan->members[i];
    if (r == layer || c->plan->panel_producer[r] != layer || !runs(c, r)) continue;
    note_reads(c, o, r);
    note_makes(c, o, r);
    c->work[o] += step_bytes(c, r);
  }
}

/* ---- collection ---- */

static int count_uses(const struct group_uses *c)
{
  struct mafat_span at = c->plan->groups[c->group].at;
  int n = 0;
  for (int i = at.begin; i < at.end; i++) {
    n += mafat_layer_n_outputs(&c->network->layers[c->plan->members[i]]);
    for (struct mafat_reads r = mafat_plan_reads(c->plan, c->network, c->plan->members[i]);
         mafat_reads_next(&r);)
      n++;
  }
  return n;
}

static int open_collection(struct group_uses *c)
{
  struct mafat_heap *heap = c->plan->heap;
  size_t n = (size_t)mafat_network_n_tensors(c->network);
  c->uses = mafat_heap_calloc(heap, (size_t)count_uses(c), sizeof *c->uses);
  c->buffer_of = mafat_heap_calloc(heap, 3 * n, sizeof *c->buffer_of);
  c->bytes = mafat_heap_calloc(heap, 2 * n, sizeof *c->bytes);
  c->kept = mafat_heap_calloc(heap, 2 * n, sizeof *c->kept);
  if (!c->uses || !c->buffer_of || !c->bytes || !c->kept) return MAFAT_ENOMEM;
  c->reader_of = c->buffer_of + n;
  c->operator_of = c->reader_of + n;
  c->work = c->bytes + n;
  c->in_place = c->kept + n;
  memset(c->buffer_of, -1, 3 * n * sizeof *c->buffer_of);
  c->graph.uses = c->uses;
  c->graph.bytes = c->bytes;
  c->graph.kept = c->kept;
  c->graph.work = c->work;
  c->graph.in_place = c->in_place;
  return MAFAT_OK;
}

static void close_collection(struct group_uses *c)
{
  mafat_heap_free(c->plan->heap, c->uses);
  mafat_heap_free(c->plan->heap, c->buffer_of);
  mafat_heap_free(c->plan->heap, c->bytes);
  mafat_heap_free(c->plan->heap, c->kept);
}

static void collect(struct group_uses *c)
{
  struct mafat_span at = c->plan->groups[c->group].at;
  for (int i = at.begin; i < at.end; i++) {
    int l = c->plan->members[i];
    if (runs(c, l) && !mafat_order_is_panel_consumer(c->plan, l)) note_step(c, l);
  }
  keep_what_is_read_later(c);
}

/* ---- scheduling ---- */

/* Operator in which a layer is computed: its own step, the step of the layer that it is fused into,
 * or the step of its panel fusion; -1: none. */
static int operator_of(const struct group_uses *c, int layer)
{
  int step = mafat_plan_outermost(c->plan, layer);
  return c->operator_of[c->plan->panel_producer[step] >= 0 ? c->plan->panel_producer[step] : step];
}

/* Puts the layers in plan->order in the order of their operators, and sets plan->position. Layers
 * of the same operator keep their order; layers without an operator come last. sorted: working
 * array with room for all layers. */
static void put_in_order(struct group_uses *c, struct mafat_plan *plan, const int *order,
                         int *sorted)
{
  struct mafat_span at = plan->groups[c->group].at;
  int n = 0;
  for (int i = 0; i <= c->graph.n_operators; i++)
    for (int k = at.begin; k < at.end; k++)
      if (operator_of(c, plan->order[k]) == (i < c->graph.n_operators ? order[i] : -1))
        sorted[n++] = plan->order[k];
  memcpy(plan->order + at.begin, sorted, (size_t)n * sizeof *sorted);
  for (int k = at.begin; k < at.end; k++) plan->position[plan->order[k]] = k;
  for (int k = at.begin; k < at.end; k++) {
    int l = plan->order[k];
    if (plan->panel_producer[l] >= 0 && plan->outer[l] < 0)
      plan->position[l] = plan->position[plan->panel_producer[l]];
  }
}

static int sort_group(struct group_uses *c, struct mafat_plan *plan,
                      struct mafat_op_schedule_memo *memo)
{
  int *order = mafat_heap_calloc(plan->heap, 2 * (size_t)plan->n_layers, sizeof *order);
  int code = order ? mafat_op_schedule_with_memo(memo, &c->graph, plan->op_order, EFFORT, order,
                                                 plan->heap)
                   : MAFAT_ENOMEM;
  if (code == MAFAT_OK) put_in_order(c, plan, order, order + plan->n_layers);
  mafat_heap_free(plan->heap, order);
  return code;
}

int mafat_group_order_sort(struct mafat_plan *plan, const struct mafat_network *n, bool place,
                           struct mafat_op_schedule_memo *memo)
{
  size_t n_tensors = (size_t)mafat_network_n_tensors(n);
  struct mafat_usage *usage = mafat_heap_calloc(plan->heap, n_tensors, sizeof *usage);
  struct pads *pads = mafat_heap_calloc(plan->heap, n_tensors, sizeof *pads);
  int code = usage && pads ? MAFAT_OK : MAFAT_ENOMEM;
  if (usage) mafat_usage_find(n, plan, usage);
  if (usage && pads) find_pads(plan, n, usage, pads);
  for (int g = 0; g < plan->n_groups && code == MAFAT_OK; g++) {
    struct group_uses c = {
        .plan = plan, .network = n, .usage = usage, .pads = pads, .group = g, .place = place};
    if (plan->groups[g].cut.kind == MAFAT_CUT_ROWS || plan->groups[g].cut.kind == MAFAT_CUT_SPLIT)
      continue;
    code = open_collection(&c);
    if (code == MAFAT_OK) collect(&c);
    if (code == MAFAT_OK) code = sort_group(&c, plan, memo);
    close_collection(&c);
  }
  mafat_heap_free(plan->heap, usage);
  mafat_heap_free(plan->heap, pads);
  return code;
}
