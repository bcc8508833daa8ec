#include "predictor/order.h"

#include "predictor/fusion.h"
#include "predictor/packing.h"
#include "predictor/usage.h"

static bool runs(const struct mafat_plan *plan, const struct mafat_network *n,
                 const struct mafat_usage *usage, int layer)
{
  return usage[layer].needed && !mafat_layer_is_alias(&n->layers[layer]) && plan->outer[layer] < 0;
}

/* ---- fans ---- */

/* All of the convolution's output, and nothing else, is what the step reads. */
static bool reads_whole(const struct mafat_plan *plan, const struct mafat_network *n, int layer, int wide)
{
  return mafat_network_sole_tensor(n, mafat_plan_sources(plan, n, layer)) == wide;
}

static bool sums_slices(const struct mafat_plan *plan, const struct mafat_network *n, int layer)
{
  const struct mafat_layer *reader = &n->layers[mafat_plan_reader(plan, layer)];
  return !mafat_layer_pools(&n->layers[layer]) && mafat_layer_is_pointwise(reader) && !mafat_layer_sums_integers(reader);
}

/* Of a map in kernel layout, about. */
static double map_bytes(const struct mafat_network *n, int tensor)
{
  struct mafat_shape s = mafat_network_tensor_shape(n, tensor);
  return (double)s.h * s.w * s.c * mafat_dtype_size(mafat_network_tensor_type(n, tensor));
}

/* The readers' weights are there as long as the fan is, if not for good: is that
 * less than the map that is saved? */
static bool saves_memory(const struct mafat_plan *plan, const struct mafat_network *n, int wide)
{
  const struct mafat_group *g = mafat_plan_group(plan, wide);
  double weights = 0;
  for (int i = g->at.begin; i < g->at.end && g->weights.residence != MAFAT_KEPT; i++) {
    int r = plan->members[i];
    if (mafat_layer_convolves(&n->layers[r]) && mafat_reads_meet(mafat_layer_reads(&n->layers[r]), wide))
      weights += (double)mafat_packed_layer_bytes(&n->layers[r]);
  }
  return weights < map_bytes(n, wide);
}

/* Is the tensor there, whatever the order, when the layer begins? */
static bool comes_before(const struct mafat_network *n, int tensor, int layer)
{
  return tensor < layer || mafat_layer_is_input(&n->layers[tensor]);
}

static bool can_spread(const struct mafat_plan *plan, const struct mafat_network *n,
                       const struct mafat_usage *usage, int wide)
{
  const struct mafat_layer *l = &n->layers[wide];
  const struct mafat_group *g = mafat_plan_group(plan, wide);
  if (g->cut.kind != MAFAT_CUT_PANELS || g->cut.as.panels.apart) return false;
  if (!runs(plan, n, usage, wide) || plan->inner[wide] >= 0) return false;
  if (!mafat_layer_is_ungrouped(l) || plan->fan[wide] >= 0) return false;
  if (usage[wide].external || l->out.c <= MAFAT_PANEL * plan->n_threads) return false;
  bool sums = false;
  for (int at = g->at.begin; at < g->at.end; at++) {
    int r = plan->members[at];
    if (!runs(plan, n, usage, r) || !mafat_reads_meet(mafat_plan_reads(plan, n, r), wide)) continue;
    bool pools = mafat_layer_pools(&n->layers[r]) && plan->inner[r] < 0;
    if (!reads_whole(plan, n, r, wide) || !(pools || sums_slices(plan, n, r))) return false;
    /* What a shortcut adds must be there before the fan begins. */
    for (struct mafat_reads read = mafat_plan_reads(plan, n, r); mafat_reads_next(&read);)
      if (read.operand > 0 && !comes_before(n, read.source->tensor, wide)) return false;
    sums = sums || !pools;
  }
  return sums && saves_memory(plan, n, wide);
}

int mafat_order_find_fans(struct mafat_plan *plan, const struct mafat_network *n, bool spread)
{
  int n_operators = mafat_network_n_operators(n);
  struct mafat_usage *usage = mafat_heap_calloc(plan->heap, (size_t)n_operators, sizeof *usage);
  plan->fan = mafat_heap_calloc(plan->heap, (size_t)n_operators, sizeof *plan->fan);
  bool enough = usage && plan->fan;
  if (enough) {
    for (int i = 0; i < n_operators; i++) plan->fan[i] = -1;
    mafat_usage_find(n, plan, usage);
    for (int l = 0; l < plan->n_layers && spread; l++) {
      if (!can_spread(plan, n, usage, l)) continue;
      plan->fan[l] = l;
      for (int r = l + 1; r < plan->n_layers; r++)
        if (runs(plan, n, usage, r) && mafat_reads_meet(mafat_plan_reads(plan, n, r), l)) plan->fan[r] = l;
    }
  }
  mafat_heap_free(plan->heap, usage);
  return enough ? MAFAT_OK : MAFAT_ENOMEM;
}

/* ---- order ---- */

struct orderer {
  struct mafat_plan *plan;
  const struct mafat_network *network;
  struct mafat_usage *usage;
  int *readers; /* [operator]: steps that have yet to read it; many where a later group does */
  int *latest;  /* [operator]: of what a step reads, what the file has last; -1: it reads nothing */
  bool *placed; /* [operator]: inputs are from the start */
  int n_placed;
};

enum { MANY_READERS = 1 << 20 };

static double tensor_bytes(const struct orderer *o, int tensor)
{
  return map_bytes(o->network, tensor);
}

/* One reader more, or one less, of each tensor that the step reads. */
static void add_to_readers(struct orderer *o, int layer, int by)
{
  for (struct mafat_reads r = mafat_plan_reads(o->plan, o->network, layer); mafat_reads_next(&r);)
    o->readers[r.source->tensor] += by;
}

static void place(struct orderer *o, int layer)
{
  struct mafat_plan *plan = o->plan;
  if (o->placed[layer]) return;
  if (plan->inner[layer] >= 0) place(o, plan->inner[layer]);
  o->placed[layer] = true;
  plan->position[layer] = o->n_placed;
  plan->order[o->n_placed++] = layer;
  if (!runs(plan, o->network, o->usage, layer)) return;
  add_to_readers(o, layer, -1);
  for (int r = layer + 1; mafat_order_is_wide(plan, layer) && r < plan->n_layers; r++)
    if (plan->fan[r] == layer) {
      place(o, r);
      plan->position[r] = plan->position[layer];
    }
}

/* Sources are there, and more is freed by the layer than its output takes. */
static bool should_hoist(const struct orderer *o, int layer)
{
  const struct mafat_plan *plan = o->plan;
  if (o->placed[layer] || plan->fan[layer] >= 0 || !runs(plan, o->network, o->usage, layer)) return false;
  if (o->latest[layer] >= 0 && !o->placed[o->latest[layer]]) return false; /* of thousands of sources not one by one */
  double freed = 0;
  for (struct mafat_reads r = mafat_plan_reads(plan, o->network, layer); mafat_reads_next(&r);) {
    int t = r.source->tensor;
    if (!o->placed[t]) return false;
    if (o->readers[t] == 1) freed += tensor_bytes(o, t);
  }
  return freed > tensor_bytes(o, layer);
}

static void hoist_what_frees(struct orderer *o, const struct mafat_group *g)
{
  for (int i = g->at.begin; i < g->at.end; i++)
    if (should_hoist(o, o->plan->members[i])) {
      place(o, o->plan->members[i]);
      i = g->at.begin - 1; /* it may have freed another */
    }
}

/* Inputs, which have the largest numbers, are there from the start. */
static bool comes_after(const struct orderer *o, int tensor, int other)
{
  return !mafat_layer_is_input(&o->network->layers[tensor]) && tensor > other;
}

static void count_readers(struct orderer *o)
{
  const struct mafat_plan *plan = o->plan;
  for (int t = 0; t < mafat_network_n_operators(o->network); t++)
    if (o->usage[t].external) o->readers[t] += MANY_READERS;
  for (int l = 0; l < plan->n_layers; l++) {
    o->latest[l] = -1;
    if (!runs(plan, o->network, o->usage, l)) continue;
    add_to_readers(o, l, 1);
    for (struct mafat_reads r = mafat_plan_reads(plan, o->network, l); mafat_reads_next(&r);)
      if (comes_after(o, r.source->tensor, o->latest[l])) o->latest[l] = r.source->tensor;
  }
}

int mafat_order_find(struct mafat_plan *plan, const struct mafat_network *n)
{
  size_t n_layers = (size_t)plan->n_layers, n_operators = (size_t)mafat_network_n_operators(n);
  struct orderer o = {.plan = plan, .network = n};
  o.usage = mafat_heap_calloc(plan->heap, n_operators, sizeof *o.usage);
  o.readers = mafat_heap_calloc(plan->heap, n_operators, sizeof *o.readers);
  o.latest = mafat_heap_calloc(plan->heap, n_operators, sizeof *o.latest);
  o.placed = mafat_heap_calloc(plan->heap, n_operators, sizeof *o.placed);
  plan->order = mafat_heap_calloc(plan->heap, n_layers, sizeof *plan->order);
  plan->position = mafat_heap_calloc(plan->heap, n_layers, sizeof *plan->position);
  bool enough = o.usage && o.readers && o.latest && o.placed && plan->order && plan->position;
  if (enough) {
    mafat_usage_find(n, plan, o.usage);
    count_readers(&o);
    for (size_t i = (size_t)n->n_layers; i < n_operators; i++) o.placed[i] = true;
    for (int i = 0; i < plan->n_groups; i++) {
      const struct mafat_group *g = &plan->groups[i];
      bool once = g->cut.kind != MAFAT_CUT_ROWS && g->cut.kind != MAFAT_CUT_SPLIT && !mafat_group_is_tiled(g);
      for (int at = g->at.begin; at < g->at.end; at++) {
        int l = plan->members[at];
        /* An inner layer comes with its outer one. */
        if (o.placed[l] || plan->outer[l] >= 0) continue;
        place(&o, l);
        if (once) hoist_what_frees(&o, g);
      }
    }
  }
  mafat_heap_free(plan->heap, o.usage);
  mafat_heap_free(plan->heap, o.readers);
  mafat_heap_free(plan->heap, o.latest);
  mafat_heap_free(plan->heap, o.placed);
  return enough ? MAFAT_OK : MAFAT_ENOMEM;
}
