/* Finds outputs that reuse an operand's buffer (in_place.h). Called by lay.c and group_order.c.
 * Fills plan->place_of, allocated from the plan's heap. Opens and closes a schedule of the plan. */
#include "predictor/planning/in_place.h"

#include "base/blocks.h"
#include "predictor/plan/fusion.h"
#include "predictor/plan/order.h"
#include "predictor/plan/parts.h"
#include "predictor/schedule/schedule.h"

/* True if the layer has steps of its own. */
static bool runs(const struct mafat_plan *plan, const struct mafat_network *n,
                 const struct mafat_usage *usage, int layer)
{
  return usage[layer].needed && !mafat_layer_is_alias(&n->layers[layer]) && plan->outer[layer] < 0;
}

/* ---- capabilities of a layer's kernels ---- */

static bool is_same_shape(struct mafat_shape a, struct mafat_shape b)
{
  return a.h == b.h && a.w == b.w && a.c == b.c;
}

/* True for a depthwise convolution that can run in place: it copies rows before it overwrites them
 * if it still has to read them (runner/engine/kinds/conv.c). */
static bool keeps_rows(const struct mafat_layer *l)
{
  return mafat_layer_is_depthwise(l) && l->window.y.stride == 1 && l->window.x.stride == 1;
}

/* True if the kernels read each element of the operand before they write an output element over it.
 * Blends do so for the first operand and, unless they must copy the first operand to the output,
 * for the second. They read further operands after they have written outputs. */
static bool reads_before_writing(const struct mafat_layer *l, int operand)
{
  if (operand == 0) return mafat_kind_of(l->type)->in_place || keeps_rows(l);
  return operand == 1 && mafat_layer_blends(l) && mafat_fusion_blends_alike(l);
}

/* False if the layer reads `tensor` through another operand in a way that forbids to overwrite it.
 * Only the first two operands may both be the tensor, and then each must be the whole tensor. */
static bool others_agree(const struct mafat_network *n, const struct mafat_layer *l, int operand,
                         int tensor)
{
  for (int k = 0; k < l->n_operands; k++) {
    const struct mafat_sources *sources = &l->operands[k].sources;
    bool meets = false;
    for (int i = 0; i < mafat_sources_count(sources); i++)
      meets = meets || sources->list[i].tensor == tensor;
    if (k != operand && meets && (k > 1 || mafat_network_sole_tensor(n, sources) != tensor))
      return false;
  }
  return true;
}

/* ---- contents of maps ---- */

/* Number of layers in the tensor's group that read it. */
static int count_readers(const struct mafat_plan *plan, const struct mafat_network *n,
                         const struct mafat_usage *usage, int tensor)
{
  const struct mafat_group *g = mafat_plan_group(plan, tensor);
  int count = 0;
  for (int i = g->at.begin; i < g->at.end; i++)
    count += runs(plan, n, usage, plan->members[i]) &&
             mafat_reads_meet(mafat_plan_reads(plan, n, plan->members[i]), tensor);
  return count;
}

/* True if the buffers of the tensor and of the layer's output always hold the same pixels. */
static bool holds_the_same(const struct mafat_plan *plan, const struct mafat_network *n,
                           const struct mafat_usage *usage, int tensor, int layer)
{
  const struct mafat_group *g = mafat_plan_group(plan, layer);
  if (g->cut.kind == MAFAT_CUT_ROWS || g->cut.kind == MAFAT_CUT_SPLIT) return false;
  if (!mafat_group_is_tiled(g)) return !mafat_order_is_panel_producer(plan, tensor);
  /* In each tile, both hold the same box if the tensor has no other reader and nothing else
   * enlarges its tiles: no second output of its layer, no later group, no rounding to Winograd
   * tiles. */
  return !keeps_rows(&n->layers[layer]) && mafat_plan_makes(plan, plan->group_of[layer], tensor) &&
         !usage[tensor].external && !usage[layer].external &&
         mafat_network_sole_maker(n, tensor) >= 0 &&
         mafat_fusion_granularity(plan, n, tensor) == 1 &&
         count_readers(plan, n, usage, tensor) == 1;
}

int mafat_in_place_candidate(const struct mafat_plan *plan, const struct mafat_network *n,
                             const struct mafat_usage *usage, int layer, int operand)
{
  const struct mafat_layer *l = &n->layers[layer];
  if (mafat_fusion_inside(plan, layer) >= 0 || !reads_before_writing(l, operand)) return -1;
  int tensor = mafat_network_sole_tensor(n, &l->operands[operand].sources);
  if (tensor < 0 || usage[tensor].last_use == plan->n_layers || mafat_parts_partition(plan, tensor))
    return -1;
  bool alike = is_same_shape(mafat_network_tensor_shape(n, tensor), l->out) &&
               mafat_network_tensor_type(n, tensor) == l->out_type;
  return alike && others_agree(n, l, operand, tensor) &&
                 holds_the_same(plan, n, usage, tensor, layer)
             ? tensor
             : -1;
}

/* ---- choice ---- */

/* Fills last[tensor]: position in time of the last layer that reads the tensor; -1: none. */
static void find_last_reads(const struct mafat_plan *plan, const struct mafat_network *n,
                            const struct mafat_usage *usage, int *last)
{
  for (int t = 0; t < mafat_network_n_tensors(n); t++) last[t] = -1;
  for (int l = 0; l < plan->n_layers; l++) {
    if (!runs(plan, n, usage, l)) continue;
    for (struct mafat_reads r = mafat_plan_reads(plan, n, l); mafat_reads_next(&r);)
      last[r.source->tensor] = mafat_max(last[r.source->tensor], plan->position[l]);
  }
}

/* Box of the tensor that its buffer holds. boxes[layer] is the box of the layer's first output that
 * is computed: it may lack rows or columns at the end that no reader needs. */
static struct mafat_box held_box(const struct mafat_schedule *s, const struct mafat_box *boxes,
                                 int tensor)
{
  struct mafat_shape shape = mafat_network_tensor_shape(s->network, tensor);
  bool whole =
      s->usage[tensor].external || mafat_plan_group(s->plan, tensor)->cut.kind != MAFAT_CUT_GRID;
  struct mafat_maker m = mafat_network_maker(s->network, tensor);
  return whole ? mafat_box_full(shape.h, shape.w)
               : mafat_layer_out_box(&s->network->layers[m.layer], m.output, boxes[m.layer]);
}

static bool is_same_box(struct mafat_box a, struct mafat_box b)
{
  return a.y.begin == b.y.begin && a.y.end == b.y.end && a.x.begin == b.x.begin &&
         a.x.end == b.x.end;
}

/* Sets plan->place_of[layer] to the first operand whose buffer the layer's output can reuse. */
static void take_place(struct mafat_plan *plan, const struct mafat_schedule *s, const int *last,
                       const struct mafat_box *boxes, int layer)
{
  bool tiled = mafat_group_is_tiled(mafat_plan_group(plan, layer));
  for (int k = 0; k < s->network->layers[layer].n_operands && plan->place_of[layer] < 0; k++) {
    int t = mafat_in_place_candidate(plan, s->network, s->usage, layer, k);
    if (t < 0 || last[t] != plan->position[layer]) continue;
    if (tiled || is_same_box(held_box(s, boxes, t), held_box(s, boxes, layer)))
      plan->place_of[layer] = t;
  }
}

static void take_places(struct mafat_plan *plan, const struct mafat_schedule *s, int *last,
                        struct mafat_box *boxes)
{
  find_last_reads(plan, s->network, s->usage, last);
  for (int g = 0; g < plan->n_groups; g++)
    if (plan->groups[g].cut.kind == MAFAT_CUT_GRID && !mafat_group_is_tiled(&plan->groups[g]))
      mafat_schedule_tile_boxes(s, g, 0, 0, boxes);
  for (int l = 0; l < plan->n_layers; l++)
    if (runs(plan, s->network, s->usage, l)) take_place(plan, s, last, boxes, l);
}

int mafat_in_place_find(struct mafat_plan *plan, const struct mafat_network *n, bool place)
{
  size_t n_tensors = (size_t)mafat_network_n_tensors(n);
  plan->place_of = mafat_heap_calloc(plan->heap, n_tensors, sizeof *plan->place_of);
  if (!plan->place_of) return MAFAT_ENOMEM;
  for (size_t t = 0; t < n_tensors; t++) plan->place_of[t] = -1;
  if (!place) return MAFAT_OK;
  struct mafat_schedule *s;
  int code = mafat_schedule_open(&s, n, plan);
  int *last = mafat_heap_calloc(plan->heap, n_tensors, sizeof *last);
  struct mafat_box *boxes = mafat_heap_calloc(plan->heap, n_tensors, sizeof *boxes);
  if (code == MAFAT_OK && last && boxes) take_places(plan, s, last, boxes);
  else code = MAFAT_ENOMEM;
  mafat_heap_free(plan->heap, last);
  mafat_heap_free(plan->heap, boxes);
  mafat_schedule_close(&s);
  return code;
}
