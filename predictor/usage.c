#include "predictor/usage.h"

#include <string.h>

static void note_read(const struct mafat_plan *plan, struct mafat_usage *usage, int tensor, int reader)
{
  struct mafat_usage *u = &usage[tensor + 1];
  u->needed = true;
  if (reader > u->last_use) u->last_use = reader;
  /* The picture comes to a first group of rows as it asks for it. */
  bool by_rows = tensor == MAFAT_INPUT && plan->groups[0].cut.kind == MAFAT_CUT_ROWS;
  int group = tensor != MAFAT_INPUT ? plan->group_of[tensor] : by_rows ? 0 : -1;
  if (reader == plan->n_layers || plan->group_of[reader] != group) u->external = true;
}

void mafat_usage_find(const struct mafat_network *n, const struct mafat_plan *plan,
                      struct mafat_usage *usage)
{
  memset(usage, 0, (size_t)(plan->n_layers + 1) * sizeof *usage);
  for (int i = 0; i <= plan->n_layers; i++) usage[i].last_use = -1;
  for (int l = plan->n_layers - 1; l >= 0; l--) {
    const struct mafat_layer *layer = &n->layers[l];
    struct mafat_source self;
    struct mafat_sources out = mafat_network_output_sources(n, l, &self);
    for (int i = 0; i < out.n && mafat_network_is_output(n, plan->n_layers, l); i++)
      note_read(plan, usage, out.list[i].tensor, plan->n_layers);
    /* A renaming layer reads nothing itself: its readers read what is behind it. */
    if (mafat_layer_is_alias(layer) || !usage[l + 1].needed) continue;
    for (struct mafat_reads r = mafat_plan_reads(plan, n, l); mafat_reads_next(&r);)
      note_read(plan, usage, r.source->tensor, l);
  }
}
