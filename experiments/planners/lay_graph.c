/* Writes a network's graph as JSON, as scheduling papers define it: an operator for each layer that
 * is computed by itself, not inside another layer. Called by lay_plans.c. Writes the caller's
 * stream. */
#include "experiments/planners/lay_plans.h"

#include "predictor/planning/in_place.h"
#include "predictor/plan/usage.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *comma(bool first)
{
  return first ? "" : ", ";
}

static void put_tensor(const struct mafat_network *n, int tensor, FILE *out)
{
  struct mafat_shape s = mafat_network_tensor_shape(n, tensor);
  enum mafat_dtype type = mafat_network_tensor_type(n, tensor);
  fprintf(out, "\"shape\": [%d, %d, %d], \"element\": %g, \"bytes\": %" PRIu64, s.h, s.w, s.c,
          mafat_dtype_size(type), mafat_dtype_bytes(type, (uint64_t)mafat_shape_elements(s)));
}

/* Writes the tensors of each operand, each tensor once, in order. */
static void put_operands(const struct lay_model *m, int layer, FILE *out)
{
  const struct mafat_layer *l = &m->network->layers[layer];
  int *seen = calloc((size_t)mafat_network_n_tensors(m->network), sizeof *seen);
  fputs(", \"operands\": [", out);
  for (int k = 0; seen && k < l->n_operands; k++) {
    const struct mafat_sources *sources = &l->operands[k].sources;
    int n = 0;
    fprintf(out, "%s[", comma(k == 0));
    for (int i = 0; i < mafat_sources_count(sources); i++) {
      int t = sources->list[i].tensor;
      if (seen[t] != k + 1) fprintf(out, "%s%d", comma(n++ == 0), t);
      seen[t] = k + 1;
    }
    fputs("]", out);
  }
  fputs("]", out);
  free(seen);
}

/* Writes the inputs whose buffer the output can take if this layer is their last reader. */
static void put_places(const struct lay_model *m, const struct lay_plan *p,
                       const struct mafat_usage *usage, int layer, FILE *out)
{
  int n = 0;
  fputs(", \"places\": [", out);
  for (int k = 0; k < m->network->layers[layer].n_operands; k++) {
    int t = mafat_in_place_candidate(p->plan, m->network, usage, layer, k);
    if (t >= 0) fprintf(out, "%s%d", comma(n++ == 0), t);
  }
  fputs("]", out);
}

static void put_layer(const struct lay_model *m, const struct lay_plan *p,
                      const struct mafat_usage *usage, int layer, FILE *out)
{
  const struct mafat_layer *l = &m->network->layers[layer];
  const struct mafat_window *w = &l->window;
  fprintf(out, "{\"layer\": %d, \"type\": \"%s\", ", layer, mafat_layer_type_name(l->type));
  put_tensor(m->network, layer, out);
  fprintf(out,
          ", \"macs\": %" PRIu64
          ", \"output\": %s, \"depthwise\": %s, \"window\": [%d, %d], \"stride\": [%d, %d]",
          p->layout->layer_macs[layer],
          usage[layer].last_use == p->plan->n_layers ? "true" : "false",
          mafat_layer_is_depthwise(l) ? "true" : "false", w->y.size, w->x.size, w->y.stride,
          w->x.stride);
  fprintf(out, ", \"tileable\": %s", mafat_layer_is_tileable(l) ? "true" : "false");
  put_operands(m, layer, out);
  put_places(m, p, usage, layer, out);
  fputs("}", out);
}

static void put_operators(const struct lay_model *m, const struct lay_plan *p,
                          const struct mafat_usage *usage, FILE *out)
{
  const struct mafat_network *n = m->network;
  bool first = true;
  fprintf(out, "{\"n_layers\": %d, \"inputs\": [", n->n_layers);
  for (int i = n->n_layers; i < mafat_network_n_operators(n); i++) {
    fprintf(out, "%s{\"tensor\": %d, ", comma(i == n->n_layers), i);
    put_tensor(n, i, out);
    fputs("}", out);
  }
  fputs("], \"layers\": [", out);
  for (int l = 0; l < n->n_layers; l++) {
    if (!usage[l].needed || mafat_layer_is_alias(&n->layers[l])) continue;
    fputs(comma(first), out);
    put_layer(m, p, usage, l, out);
    first = false;
  }
  fputs("]}\n", out);
}

int lay_graph_write(struct lay_model *m, FILE *out, struct mafat_diagnostic *d)
{
  struct lay_plan *p = lay_plan_open(m, "1x1/NoCut/order=file", true, d);
  struct mafat_usage *usage = calloc((size_t)mafat_network_n_tensors(m->network), sizeof *usage);
  int code = !p ? MAFAT_EINVAL : usage ? MAFAT_OK : mafat_fail(d, MAFAT_ENOMEM, "out of memory");
  if (code == MAFAT_OK) {
    mafat_usage_find(m->network, p->plan, usage);
    put_operators(m, p, usage, out);
  }
  free(usage);
  if (p) lay_plan_close(p);
  return code;
}
