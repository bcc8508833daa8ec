#include "runner/facts.h"

#include "predictor/packing.h"
#include "runner/model.h"
#include "runner/sized.h"

#include <string.h>

static size_t buffer_bytes(const struct mafat_layout *l, int buffer)
{
  return buffer < 0 ? 0 : l->buffers[buffer].bytes;
}

/* What is computed inside another layer's step counts there. */
static uint64_t step_macs(const struct mafat_plan *plan, const struct mafat_layout *layout, int layer)
{
  uint64_t sum = 0;
  if (plan->outer[layer] >= 0) return 0;
  for (; layer >= 0; layer = plan->inner[layer]) sum += layout->layer_macs[layer];
  return sum;
}

static const char *residence_name(enum mafat_residence weights)
{
  return weights == MAFAT_KEPT ? "kept" : weights == MAFAT_LOADED ? "loaded" : "streamed";
}

int mafat_facts_layer(struct mafat_layer_facts *f, const struct mafat_network *n, const struct mafat_choice *c, int layer)
{
  if (layer < 0 || layer >= c->plan->n_layers) return MAFAT_EINVAL;
  const struct mafat_layer *l = &n->layers[layer];
  const struct mafat_layout *layout = c->layout;
  bool convolves = l->type == MAFAT_CONVOLUTIONAL;
  *f = (struct mafat_layer_facts){
      .type = mafat_layer_type_name(l->type),
      .in_h = l->in.h, .in_w = l->in.w, .in_c = l->in.c,
      .out_h = l->out.h, .out_w = l->out.w, .out_c = l->out.c,
      .size = l->size, .stride = l->stride, .filters = l->filters,
      .group = mafat_plan_group_of(c->plan, layer),
      .inside = c->plan->outer[layer],
      .algorithm = convolves ? mafat_algorithm_name(c->plan->algorithms[layer]) : NULL,
      .weights_bytes = mafat_packed_floats(l) * sizeof(float),
      .macs = layout->layer_macs[layer],
      .step_macs = step_macs(c->plan, layout, layer),
      .arena_bytes = buffer_bytes(layout, layout->tensors[layer + 1].buffer) +
                     buffer_bytes(layout, layout->scratch_buffers[layer])};
  if (f->weights_bytes) f->weights = residence_name(c->plan->residence[layer]);
  return MAFAT_OK;
}

/* The plan's text of this group alone, without what it says of weights. */
static void write_cut(const struct mafat_plan *plan, int group, char *text, size_t room)
{
  struct mafat_group only = plan->groups[group];
  struct mafat_plan one = *plan;
  only.weights = MAFAT_KEPT;
  only.loaded_kb = 0;
  one.groups = &only;
  one.n_groups = 1;
  mafat_plan_write(&one, NULL, text, room);
  char *end = strstr(text, "/NoCut");
  if (end) *end = '\0';
}

int mafat_facts_group(struct mafat_group_facts *f, const struct mafat_choice *c, int group)
{
  if (group < 0 || group >= c->plan->n_groups) return MAFAT_EINVAL;
  const struct mafat_group *g = &c->plan->groups[group];
  const struct mafat_group_cost *cost = &c->layout->groups[group];
  *f = (struct mafat_group_facts){
      .first = g->first, .last = g->end - 1,
      .rows = g->rows, .panels = g->panels, .tile_rows = g->n_rows, .tile_cols = g->n_cols,
      .weights = residence_name(g->weights),
      .peak_bytes = cost->peak_bytes,
      .macs = cost->macs, .redundant_macs = cost->redundant_macs, .padded_macs = cost->padded_macs};
  write_cut(c->plan, group, f->cut, sizeof f->cut);
  return MAFAT_OK;
}

int mafat_model_layer_sized(const struct mafat_model *m, int layer, struct mafat_layer_facts *out, size_t bytes)
{
  struct mafat_layer_facts f;
  int code = mafat_facts_layer(&f, m->network, &m->choice, layer);
  if (code) return code;
  f.ms = mafat_executor_layer_ms(m->executor)[layer];
  mafat_sized_give(out, bytes, &f, sizeof f);
  return MAFAT_OK;
}

int mafat_model_group_sized(const struct mafat_model *m, int group, struct mafat_group_facts *out, size_t bytes)
{
  struct mafat_group_facts f;
  int code = mafat_facts_group(&f, &m->choice, group);
  if (code == MAFAT_OK) mafat_sized_give(out, bytes, &f, sizeof f);
  return code;
}
