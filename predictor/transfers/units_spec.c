/* Makes the spec of a plan that computes given units (units_spec.h); a unit is one layer, or a few
 * depthwise and 1x1 layers that are computed together. Called by prices.c, search/separable and
 * experiments/separable. Allocates the spec from the given heap; the caller closes it. */
#include "predictor/transfers/units_spec.h"

#include "base/blocks.h"

#include <math.h>

/* A split along channels needs layers that are consecutive in the file and have several channel
 * blocks. */
bool mafat_unit_has_plan(const struct mafat_network *n, const struct mafat_unit *u)
{
  if (u->how != MAFAT_FUSED_PW_DW_CHANNELS) return true;
  return u->layers[1] == u->layers[0] + 1 && mafat_n_blocks(n->layers[u->layers[1]].out.c) > 1;
}

double mafat_unit_bytes(const void *network, const struct mafat_unit *u)
{
  bool fits = u->how == MAFAT_FUSED_NONE || (u->fits && mafat_unit_has_plan(network, u));
  return fits ? (double)mafat_unit_moved(u) : INFINITY;
}

/* Returns how many output rows of the depthwise layer can be computed from u->extent rows of its
 * input; at least 1. */
static int rows_of(const struct mafat_network *n, const struct mafat_unit *u)
{
  const struct mafat_layer *dw = &n->layers[u->layers[1]];
  if (u->extent >= dw->in.h) return dw->out.h;
  return mafat_max((u->extent - mafat_taps_reach(dw->window.y)) / dw->window.y.stride + 1, 1);
}

/* Returns the number of parts along channels, at least two; each has about u->extent channels. */
static int parts_of(const struct mafat_network *n, const struct mafat_unit *u)
{
  int blocks = mafat_n_blocks(n->layers[u->layers[1]].out.c);
  return mafat_max(mafat_divide_up(blocks, mafat_max(u->extent / MAFAT_CHANNEL_BLOCK, 1)), 2);
}

/* True if the unit belongs to a group with whole maps (1x1). */
static bool is_plain(const struct mafat_unit *u)
{
  return u->how == MAFAT_FUSED_NONE || u->how == MAFAT_FUSED_DW_PW_ROWS;
}

/* Assigns aliases and other layers without steps to the groups of their sources. */
static void place_others(const struct mafat_network *n, int n_layers, int *group_of)
{
  for (int l = 0; l < n_layers; l++) {
    const struct mafat_layer *layer = &n->layers[l];
    if (group_of[l] >= 0) continue;
    group_of[l] = 0;
    for (int i = 0; i < layer->n_operands; i++)
      for (int s = 0; s < mafat_sources_count(&layer->operands[i].sources); s++) {
        int maker = mafat_network_operator(n, layer->operands[i].sources.list[s].tensor);
        if (maker < l && group_of[maker] > group_of[l]) group_of[l] = group_of[maker];
      }
  }
}

/* If the unit begins with a depthwise layer, adds a word ":dw" to the last group: how many rows of
 * that layer are computed at a time, 0 if it is not fused. */
static int add_word(struct mafat_spec *spec, const struct mafat_network *n,
                    const struct mafat_unit *u)
{
  int layer = u->layers[0], rows = u->how == MAFAT_FUSED_NONE ? 0 : u->extent;
  if (!mafat_layer_is_depthwise(&n->layers[layer])) return MAFAT_OK;
  struct mafat_depthwise_word word = {rows, mafat_span(layer, layer + 1)};
  return mafat_depthwise_word_add(spec->heap, &spec->groups[spec->n_groups - 1], word);
}

/* Sets how the last group, which is one unit, is divided: along rows or along channels. */
static int cut_group(struct mafat_spec *spec, const struct mafat_network *n,
                     const struct mafat_unit *u)
{
  struct mafat_group_spec *g = &spec->groups[spec->n_groups - 1];
  if (u->how != MAFAT_FUSED_PW_DW_CHANNELS) {
    g->cut = mafat_cut_rows(rows_of(n, u));
    return MAFAT_OK;
  }
  g->cut = (struct mafat_cut){.kind = MAFAT_CUT_SPLIT};
  g->cut.as.split.list = mafat_heap_calloc(spec->heap, 1, sizeof *g->cut.as.split.list);
  if (!g->cut.as.split.list) return MAFAT_ENOMEM;
  g->cut.as.split.n = 1;
  g->cut.as.split.list[0] = (struct mafat_split){
      .axis = MAFAT_ALONG_C, .n = parts_of(n, u), .layers = {u->layers[0], u->layers[1] + 1}};
  return MAFAT_OK;
}

int mafat_units_spec(struct mafat_spec **out, const struct mafat_network *n, int n_layers,
                     const struct mafat_unit *units, int n_units, struct mafat_heap *heap)
{
  struct mafat_spec *spec = mafat_spec_new(heap);
  int *group_of = mafat_heap_calloc(heap, (size_t)n_layers, sizeof *group_of);
  int code = spec && group_of ? MAFAT_OK : MAFAT_ENOMEM;
  for (int l = 0; l < n_layers && code == MAFAT_OK; l++) group_of[l] = -1;
  for (int i = 0; i < n_units && code == MAFAT_OK; i++) {
    bool plain = is_plain(&units[i]), goes_on = plain && i > 0 && is_plain(&units[i - 1]);
    if (!goes_on && !mafat_spec_add(spec)) code = MAFAT_ENOMEM;
    for (int k = 0; k < units[i].n && code == MAFAT_OK; k++)
      group_of[units[i].layers[k]] = spec->n_groups - 1;
    if (code == MAFAT_OK)
      code = plain ? add_word(spec, n, &units[i]) : cut_group(spec, n, &units[i]);
  }
  /* a network that has only aliases */
  if (code == MAFAT_OK && n_units == 0 && !mafat_spec_add(spec)) code = MAFAT_ENOMEM;
  if (code == MAFAT_OK) place_others(n, n_layers, group_of);
  for (int g = 0; code == MAFAT_OK && g < spec->n_groups; g++)
    code = mafat_group_spec_set_layers(heap, &spec->groups[g], g, group_of, n_layers);
  mafat_heap_free(heap, group_of);
  if (code) mafat_spec_close(&spec);
  *out = spec;
  return code;
}
