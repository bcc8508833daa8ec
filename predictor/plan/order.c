/* Finds panel fusions and the default execution order of each group (order.h). Called by
 * predictor/planning/lay.c. Fills the plan; allocates from its heap. */
#include "predictor/plan/order.h"

#include "predictor/plan/fusion.h"
#include "predictor/plan/packing.h"
#include "predictor/plan/usage.h"

/* True if the layer has steps of its own. */
static bool runs(const struct mafat_plan *plan, const struct mafat_network *n,
                 const struct mafat_usage *usage, int layer)
{
  return usage[layer].needed && !mafat_layer_is_alias(&n->layers[layer]) && plan->outer[layer] < 0;
}

/* ---- panel fusions ---- */

/* True if the step reads the convolution's whole output and nothing else. */
static bool reads_whole(const struct mafat_plan *plan, const struct mafat_network *n, int layer,
                        int producer)
{
  return mafat_network_sole_tensor(n, mafat_plan_sources(plan, n, layer)) == producer;
}

/* True if the step can sum its input one panel at a time and continue the sums in its output. */
static bool sums_slices(const struct mafat_plan *plan, const struct mafat_network *n, int layer)
{
  const struct mafat_layer *reader = &n->layers[mafat_plan_reader(plan, layer)];
  return !mafat_layer_pools(&n->layers[layer]) && mafat_layer_is_pointwise(reader) &&
         !mafat_layer_sums_integers(reader);
}

/* Approximate bytes of a map in kernel layout. */
static double map_bytes(const struct mafat_network *n, int tensor)
{
  struct mafat_shape s = mafat_network_tensor_shape(n, tensor);
  return (double)s.h * s.w * s.c * mafat_dtype_size(mafat_network_tensor_type(n, tensor));
}

/* True if the fusion saves memory: the readers' weights, which are in the arena while the fusion
 * runs unless they are kept, are smaller than the map. */
static bool saves_memory(const struct mafat_plan *plan, const struct mafat_network *n, int producer)
{
  const struct mafat_group *g = mafat_plan_group(plan, producer);
  double weights = 0;
  for (int i = g->at.begin; i < g->at.end && g->weights.placement != MAFAT_KEPT; i++) {
    int r = plan->members[i];
    if (mafat_layer_convolves(&n->layers[r]) &&
        mafat_reads_meet(mafat_layer_reads(&n->layers[r]), producer))
      weights += (double)mafat_packed_layer_bytes(&n->layers[r]);
  }
  return weights < map_bytes(n, producer);
}

/* True if the tensor is made before the layer runs, whatever the order. */
static bool comes_before(const struct mafat_network *n, int tensor, int layer)
{
  int maker = mafat_network_operator(n, tensor);
  return maker < layer || mafat_network_is_input(n, maker);
}

/* True if the convolution `producer` and its readers can be a panel fusion. */
static bool can_fuse_panels(const struct mafat_plan *plan, const struct mafat_network *n,
                       const struct mafat_usage *usage, int producer)
{
  const struct mafat_layer *l = &n->layers[producer];
  const struct mafat_group *g = mafat_plan_group(plan, producer);
  if (g->cut.kind != MAFAT_CUT_PANELS || g->cut.as.panels.apart) return false;
  if (!runs(plan, n, usage, producer) || plan->inner[producer] >= 0) return false;
  if (!mafat_layer_is_ungrouped(l) || plan->panel_producer[producer] >= 0) return false;
  if (usage[producer].external || l->out.c <= MAFAT_PANEL * plan->n_threads) return false;
  bool sums = false;
  for (int at = g->at.begin; at < g->at.end; at++) {
    int r = plan->members[at];
    if (!runs(plan, n, usage, r) || !mafat_reads_meet(mafat_plan_reads(plan, n, r), producer))
      continue;
    bool pools = mafat_layer_pools(&n->layers[r]) && plan->inner[r] < 0;
    if (!reads_whole(plan, n, r, producer) || !(pools || sums_slices(plan, n, r))) return false;
    /* A shortcut's other operand must exist before the panel fusion begins. */
    for (struct mafat_reads read = mafat_plan_reads(plan, n, r); mafat_reads_next(&read);)
      if (read.operand > 0 && !comes_before(n, read.source->tensor, producer)) return false;
    sums = sums || !pools;
  }
  return sums && saves_memory(plan, n, producer);
}

int mafat_order_find_panel_fusions(struct mafat_plan *plan, const struct mafat_network *n,
                                   bool spread)
{
  int n_tensors = mafat_network_n_tensors(n);
  struct mafat_usage *usage = mafat_heap_calloc(plan->heap, (size_t)n_tensors, sizeof *usage);
  plan->panel_producer =
      mafat_heap_calloc(plan->heap, (size_t)n_tensors, sizeof *plan->panel_producer);
  bool enough = usage && plan->panel_producer;
  if (enough) {
    for (int i = 0; i < n_tensors; i++) plan->panel_producer[i] = -1;
    mafat_usage_find(n, plan, usage);
    for (int l = 0; l < plan->n_layers && spread; l++) {
      if (!can_fuse_panels(plan, n, usage, l)) continue;
      plan->panel_producer[l] = l;
      for (int r = l + 1; r < plan->n_layers; r++)
        if (runs(plan, n, usage, r) && mafat_reads_meet(mafat_plan_reads(plan, n, r), l))
          plan->panel_producer[r] = l;
    }
  }
  mafat_heap_free(plan->heap, usage);
  return enough ? MAFAT_OK : MAFAT_ENOMEM;
}

/* ---- order ---- */

/* Entry of a list of the layers that read a tensor. */
struct layer_reading {
  int layer, next; /* next: another reader of the same tensor; -1: none */
};

/* State of the ordering. A layer is placed once it has its position. */
struct orderer {
  struct mafat_plan *plan;
  const struct mafat_network *network;
  struct mafat_usage *usage;
  int *readers; /* [tensor]: reads by layers that are not placed yet; plus MANY_READERS if a later
                   group reads it */
  bool *placed; /* [operator]; inputs are placed from the start */
  int n_placed;
  /* The fields below avoid checking a layer again before something changed for it. Checking all
   * layers after each placement would take minutes in a network of thousands of layers. */
  struct layer_reading *readings;
  int *first_reading; /* [tensor]: index into readings; -1: none */
  int *lacks;         /* [operator]: operands not placed yet, counted once for each read */
  bool *refused;      /* [operator]: it frees too little, as last checked */
};

enum { MANY_READERS = 1 << 20 };

static double tensor_bytes(const struct orderer *o, int tensor)
{
  return map_bytes(o->network, tensor);
}

/* Marks the tensor's readers for another check, because only one of them is left, which will free
 * the tensor. */
static void look_again(struct orderer *o, int tensor)
{
  for (int i = o->first_reading[tensor]; i >= 0; i = o->readings[i].next)
    o->refused[o->readings[i].layer] = false;
}

/* Decrements the reader count of each tensor that the step reads. */
static void take_from_readers(struct orderer *o, int layer)
{
  for (struct mafat_reads r = mafat_plan_reads(o->plan, o->network, layer); mafat_reads_next(&r);)
    if (--o->readers[r.source->tensor] == 1) look_again(o, r.source->tensor);
}

/* Counts the tensor as existing for its readers. */
static void note_made(struct orderer *o, int tensor)
{
  for (int i = o->first_reading[tensor]; i >= 0; i = o->readings[i].next)
    o->lacks[o->readings[i].layer]--;
}

static void note_placed(struct orderer *o, int operator)
{
  o->placed[operator] = true;
  for (int k = 0; k < mafat_layer_n_outputs(&o->network->layers[operator]); k++)
    note_made(o, mafat_network_output(o->network, operator, k));
}

/* Bytes of all outputs that are read. */
static double made_bytes(const struct orderer *o, int layer)
{
  double bytes = 0;
  for (int k = 0; k < mafat_layer_n_outputs(&o->network->layers[layer]); k++) {
    int tensor = mafat_network_output(o->network, layer, k);
    if (mafat_usage_is_read(&o->usage[tensor])) bytes += tensor_bytes(o, tensor);
  }
  return bytes;
}

/* Appends a layer to the order, after the layer that is fused into it. If it is the convolution of
 * a panel fusion, the readers of its panels follow. */
static void place(struct orderer *o, int layer)
{
  struct mafat_plan *plan = o->plan;
  if (o->placed[layer]) return;
  if (plan->inner[layer] >= 0) place(o, plan->inner[layer]);
  note_placed(o, layer);
  plan->position[layer] = o->n_placed;
  plan->order[o->n_placed++] = layer;
  if (!runs(plan, o->network, o->usage, layer)) return;
  take_from_readers(o, layer);
  for (int r = layer + 1; mafat_order_is_panel_producer(plan, layer) && r < plan->n_layers; r++)
    if (plan->panel_producer[r] == layer) {
      place(o, r);
      plan->position[r] = plan->position[layer];
    }
}

/* True if the layer's sources exist and it frees more bytes than its outputs need. */
static bool should_hoist(struct orderer *o, int layer)
{
  const struct mafat_plan *plan = o->plan;
  if (o->lacks[layer] || o->refused[layer] || o->placed[layer] ||
      plan->panel_producer[layer] >= 0 || !runs(plan, o->network, o->usage, layer))
    return false;
  double freed = 0;
  for (struct mafat_reads r = mafat_plan_reads(plan, o->network, layer); mafat_reads_next(&r);) {
    int t = r.source->tensor;
    if (o->readers[t] == 1) freed += tensor_bytes(o, t);
  }
  o->refused[layer] = freed <= made_bytes(o, layer);
  return !o->refused[layer];
}

/* Places all layers of the group that free memory now. */
static void hoist_what_frees(struct orderer *o, const struct mafat_group *g)
{
  for (int i = g->at.begin; i < g->at.end; i++)
    if (should_hoist(o, o->plan->members[i])) {
      place(o, o->plan->members[i]);
      i = g->at.begin - 1; /* now another layer may free memory */
    }
}

/* Number of entries of o->readings. */
static size_t count_readings(const struct orderer *o)
{
  size_t n = 0;
  for (int l = 0; l < o->plan->n_layers; l++) {
    if (!runs(o->plan, o->network, o->usage, l)) continue;
    for (struct mafat_reads r = mafat_plan_reads(o->plan, o->network, l); mafat_reads_next(&r);)
      n++;
  }
  return n;
}

/* Fills readings, first_reading, lacks and readers. */
static void note_readings(struct orderer *o)
{
  const struct mafat_plan *plan = o->plan;
  int n = 0;
  for (int t = 0; t < mafat_network_n_tensors(o->network); t++) {
    o->first_reading[t] = -1;
    if (o->usage[t].external) o->readers[t] += MANY_READERS;
  }
  for (int l = 0; l < plan->n_layers; l++) {
    if (!runs(plan, o->network, o->usage, l)) continue;
    for (struct mafat_reads r = mafat_plan_reads(plan, o->network, l); mafat_reads_next(&r);) {
      int t = r.source->tensor;
      o->readings[n] = (struct layer_reading){l, o->first_reading[t]};
      o->first_reading[t] = n++;
      o->lacks[l]++;
      o->readers[t]++;
    }
  }
}

static void find_order(struct orderer *o)
{
  const struct mafat_plan *plan = o->plan;
  note_readings(o);
  for (int i = o->network->n_layers; i < mafat_network_n_operators(o->network); i++)
    note_placed(o, i);
  for (int i = 0; i < plan->n_groups; i++) {
    const struct mafat_group *g = &plan->groups[i];
    bool once =
        g->cut.kind != MAFAT_CUT_ROWS && g->cut.kind != MAFAT_CUT_SPLIT && !mafat_group_is_tiled(g);
    for (int at = g->at.begin; at < g->at.end; at++) {
      int l = plan->members[at];
      /* An inner layer is placed with its outer one. */
      if (o->placed[l] || plan->outer[l] >= 0) continue;
      place(o, l);
      if (once) hoist_what_frees(o, g);
    }
  }
}

int mafat_order_find(struct mafat_plan *plan, const struct mafat_network *n)
{
  struct mafat_heap *heap = plan->heap;
  size_t n_layers = (size_t)plan->n_layers, n_tensors = (size_t)mafat_network_n_tensors(n);
  struct orderer o = {.plan = plan, .network = n};
  o.usage = mafat_heap_calloc(heap, n_tensors, sizeof *o.usage);
  o.readers = mafat_heap_calloc(heap, n_tensors, sizeof *o.readers);
  o.placed = mafat_heap_calloc(heap, n_tensors, sizeof *o.placed);
  o.first_reading = mafat_heap_calloc(heap, n_tensors, sizeof *o.first_reading);
  o.lacks = mafat_heap_calloc(heap, n_tensors, sizeof *o.lacks);
  o.refused = mafat_heap_calloc(heap, n_tensors, sizeof *o.refused);
  plan->order = mafat_heap_calloc(heap, n_layers, sizeof *plan->order);
  plan->position = mafat_heap_calloc(heap, n_layers, sizeof *plan->position);
  bool enough = o.usage && o.readers && o.placed && o.first_reading && o.lacks && o.refused &&
                plan->order && plan->position;
  if (enough) {
    mafat_usage_find(n, plan, o.usage);
    o.readings = mafat_heap_calloc(heap, count_readings(&o) + 1, sizeof *o.readings);
    enough = o.readings;
  }
  if (enough) find_order(&o);
  mafat_heap_free(heap, o.usage);
  mafat_heap_free(heap, o.readers);
  mafat_heap_free(heap, o.placed);
  mafat_heap_free(heap, o.readings);
  mafat_heap_free(heap, o.first_reading);
  mafat_heap_free(heap, o.lacks);
  mafat_heap_free(heap, o.refused);
  return enough ? MAFAT_OK : MAFAT_ENOMEM;
}
