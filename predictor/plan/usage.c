#include "predictor/plan/usage.h"

static void note_read(const struct mafat_plan *plan, struct mafat_usage *usage, int tensor, int reader)
{
  struct mafat_usage *u = &usage[tensor];
  u->needed = true;
  if (reader > u->last_use) u->last_use = reader;
  if (reader == plan->n_layers || plan->group_of[reader] != plan->group_of[tensor]) u->external = true;
}

void mafat_usage_find(const struct mafat_network *n, const struct mafat_plan *plan,
                      struct mafat_usage *usage)
{
  for (int i = 0; i < mafat_network_n_operators(n); i++) usage[i] = (struct mafat_usage){.last_use = -1};
  for (int l = plan->n_layers - 1; l >= 0; l--) {
    const struct mafat_layer *layer = &n->layers[l];
    struct mafat_source self;
    struct mafat_sources out = mafat_network_output_sources(n, l, &self);
    for (int i = 0; i < mafat_sources_count(&out) && mafat_network_is_output(n, plan->n_layers, l); i++)
      note_read(plan, usage, out.list[i].tensor, plan->n_layers);
    /* A renaming layer reads nothing itself: its readers read what is behind it. */
    if (mafat_layer_is_alias(layer) || !usage[l].needed) continue;
    for (struct mafat_reads r = mafat_plan_reads(plan, n, l); mafat_reads_next(&r);)
      note_read(plan, usage, r.source->tensor, l);
  }
}
