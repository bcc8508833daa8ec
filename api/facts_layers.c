/* Fills facts about layers and groups. Called by api/dry_run.c and, through include/mafat_plan.h,
 * by programs/run_inference, experiments/last_mile and the Python bindings. Touches only its
 * arguments. */
#include "api/facts.h"

#include "predictor/plan/fusion.h"
#include "predictor/plan/packing.h"
#include "api/model.h"
#include "base/sized.h"

#include <string.h>

static size_t buffer_bytes(const struct mafat_layout *l, int buffer)
{
  return buffer < 0 ? 0 : l->buffers[buffer].bytes;
}

/* Returns the MACs of a layer and of the layers fused into it; 0 if it is fused into another. */
static uint64_t step_macs(const struct mafat_plan *plan, const struct mafat_layout *layout,
                          int layer)
{
  uint64_t sum = 0;
  if (plan->outer[layer] >= 0) return 0;
  for (int l = layer; l >= 0; l = mafat_fusion_inside(plan, l)) sum += layout->layer_macs[l];
  return sum;
}

static size_t outputs_bytes(const struct mafat_network *n, const struct mafat_layout *layout,
                            int layer)
{
  size_t bytes = 0;
  for (int k = 0; k < mafat_layer_n_outputs(&n->layers[layer]); k++)
    bytes += mafat_layout_tensor_bytes(layout, mafat_network_output(n, layer, k));
  return bytes;
}

static const char *placement_name(enum mafat_weight_placement weights)
{
  return weights == MAFAT_KEPT ? "kept" : weights == MAFAT_LOADED ? "loaded" : "streamed";
}

int mafat_facts_layer(struct mafat_layer_facts *f, const struct mafat_network *n,
                      const struct mafat_choice *c, int layer)
{
  if (layer < 0 || layer >= c->plan->n_layers) return MAFAT_EINVAL;
  const struct mafat_layer *l = &n->layers[layer];
  const struct mafat_layout *layout = c->layout;
  bool convolves = mafat_layer_convolves(l);
  *f = (struct mafat_layer_facts){
      .type = mafat_layer_type_name(l->type),
      .in_h = l->in.h,
      .in_w = l->in.w,
      .in_c = l->in.c,
      .out_h = l->out.h,
      .out_w = l->out.w,
      .out_c = l->out.c,
      .kernel_size = l->window.y.size,
      .stride = l->factor ? l->factor : l->window.y.stride,
      .filters = l->filters,
      .group = c->plan->group_of[layer],
      .inside = c->plan->outer[layer],
      .algorithm = convolves ? mafat_algorithm_name(c->plan->algorithms[layer]) : NULL,
      .weights_bytes = mafat_packed_layer_bytes(l),
      .macs = layout->layer_macs[layer],
      .step_macs = step_macs(c->plan, layout, layer),
      .arena_bytes =
          outputs_bytes(n, layout, layer) + buffer_bytes(layout, layout->scratch_buffers[layer]),
      .position = c->plan->position[layer]};
  if (f->weights_bytes) f->weights = placement_name(c->plan->placement[layer]);
  return MAFAT_OK;
}

/* Formats the words of a plan that say how a group is divided, without weight placement. */
static void write_cut(const struct mafat_cut *cut, char *text, size_t capacity)
{
  struct mafat_group_spec only = {.cut = *cut};
  mafat_spec_write(&(struct mafat_spec){.groups = &only, .n_groups = 1}, text, capacity);
  char *end = strstr(text, "/NoCut");
  if (end) *end = '\0';
}

int mafat_facts_group(struct mafat_group_facts *f, const struct mafat_choice *c, int group)
{
  if (group < 0 || group >= c->plan->n_groups) return MAFAT_EINVAL;
  const struct mafat_group *g = &c->plan->groups[group];
  const struct mafat_group_cost *cost = &c->layout->groups[group];
  enum mafat_cut_kind cut = g->cut.kind;
  *f = (struct mafat_group_facts){
      .first = c->plan->members[g->at.begin], .last = c->plan->members[g->at.end - 1],
      .rows = cut == MAFAT_CUT_ROWS ? g->cut.as.rows.least : 0, .panels = cut == MAFAT_CUT_PANELS,
      .tile_rows = cut == MAFAT_CUT_GRID ? g->cut.as.grid.n_rows : 1,
      .tile_cols = cut == MAFAT_CUT_GRID ? g->cut.as.grid.n_cols : 1,
      .weights = placement_name(g->weights.placement),
      .peak_bytes = cost->peak_bytes,
      .macs = cost->macs, .redundant_macs = cost->redundant_macs, .padded_macs = cost->padded_macs};
  write_cut(&g->cut, f->cut, sizeof f->cut);
  return MAFAT_OK;
}

int mafat_model_layer(const struct mafat_model *m, int layer, struct mafat_layer_facts *out)
{
  struct mafat_layer_facts f;
  int code = mafat_facts_layer(&f, m->network, &m->choice, layer);
  if (code) return code;
  f.ms = mafat_executor_layer_ms(m->executor)[layer];
  return mafat_sized_give(out, &f, sizeof f);
}

int mafat_model_group(const struct mafat_model *m, int group, struct mafat_group_facts *out)
{
  struct mafat_group_facts f;
  int code = mafat_facts_group(&f, &m->choice, group);
  return code ? code : mafat_sized_give(out, &f, sizeof f);
}
