/* Finds which tensors a plan needs, and the last reader of each. Called by predictor/ (plan,
 * planning, ranks, schedule), search/best/costs.c and search/ranks/rank_specs.c. Fills the caller's
 * list; allocates nothing. */
#include "predictor/plan/usage.h"

/* Notes that layer `reader` reads the tensor; reader plan->n_layers: the tensor is an output of the
 * network. The layer that makes the tensor is then needed, also if the tensor is not its first
 * output. */
static void note_read(const struct mafat_network *n, const struct mafat_plan *plan,
                      struct mafat_usage *usage, int tensor, int reader)
{
  struct mafat_usage *u = &usage[tensor], *first = &usage[mafat_network_operator(n, tensor)];
  u->needed = first->needed = true;
  if (reader > u->last_use) u->last_use = reader;
  if (reader == plan->n_layers || plan->group_of[reader] != plan->group_of[tensor])
    u->external = first->any_external = true;
}

/* Notes which outputs of a layer are outputs of the network. If the layer is an alias, it renames
 * tensors of other layers, and these are noted instead. */
static void note_outputs(const struct mafat_network *n, const struct mafat_plan *plan,
                         struct mafat_usage *usage, int layer)
{
  struct mafat_source self;
  for (int k = 0; k < mafat_layer_n_outputs(&n->layers[layer]); k++) {
    int tensor = mafat_network_output(n, layer, k);
    if (!mafat_network_is_output(n, plan->n_layers, tensor)) continue;
    struct mafat_sources out = k ? mafat_network_tensor_sources(n, tensor, &self)
                                 : mafat_network_output_sources(n, layer, &self);
    for (int i = 0; i < mafat_sources_count(&out); i++)
      note_read(n, plan, usage, out.list[i].tensor, plan->n_layers);
  }
}

void mafat_usage_find(const struct mafat_network *n, const struct mafat_plan *plan,
                      struct mafat_usage *usage)
{
  for (int i = 0; i < mafat_network_n_tensors(n); i++)
    usage[i] = (struct mafat_usage){.last_use = -1};
  for (int l = plan->n_layers - 1; l >= 0; l--) {
    const struct mafat_layer *layer = &n->layers[l];
    note_outputs(n, plan, usage, l);
    /* Readers of an alias read the tensors that it renames. */
    if (mafat_layer_is_alias(layer) || !usage[l].needed) continue;
    for (struct mafat_reads r = mafat_plan_reads(plan, n, l); mafat_reads_next(&r);)
      note_read(n, plan, usage, r.source->tensor, l);
  }
}
