/* Merges layers that compute the same output, so that it is computed once. Called by
 * formats/graph/graph.c when a graph is complete. Allocates tables of the network's size, and frees
 * them before it returns. */
#include "network/merge.h"

#include "network/kind.h"

#include <stdlib.h>

/* ---- equal layers ---- */

static bool can_merge(const struct mafat_layer *l)
{
  return mafat_kind_of(l->type)->mergeable && l->n_operands == 1;
}

static bool are_equal_taps(const struct mafat_taps *a, const struct mafat_taps *b)
{
  return a->size == b->size && a->stride == b->stride && a->dilation == b->dilation &&
         a->before == b->before && a->after == b->after;
}

static bool are_equal_shapes(const struct mafat_shape *a, const struct mafat_shape *b)
{
  return a->h == b->h && a->w == b->w && a->c == b->c;
}

static bool are_equal_sources(const struct mafat_sources *a, const struct mafat_sources *b)
{
  if (a->n != b->n || a->n_bands != b->n_bands) return false;
  for (int i = 0; i < mafat_sources_count(a); i++) {
    const struct mafat_source *s = &a->list[i], *t = &b->list[i];
    if (s->tensor != t->tensor || s->first != t->first || s->n != t->n ||
        s->first_row != t->first_row || s->n_rows != t->n_rows)
      return false;
  }
  return true;
}

/* True if both outputs have the same shape, type and quantization parameters. */
static bool have_equal_outputs(const struct mafat_layer *a, const struct mafat_layer *b)
{
  const struct mafat_quantization *p = &a->quantization, *q = &b->quantization;
  return a->out_type == b->out_type && are_equal_shapes(&a->out, &b->out) &&
         mafat_quantization_equals(p, q) && p->least == q->least && p->most == q->most &&
         p->rounding == q->rounding && p->is_signed == q->is_signed;
}

static bool have_equal_parameters(const struct mafat_layer *a, const struct mafat_layer *b)
{
  return a->type == b->type && a->activation.kind == b->activation.kind &&
         a->activation.a == b->activation.a && a->activation.b == b->activation.b &&
         are_equal_taps(&a->window.y, &b->window.y) && are_equal_taps(&a->window.x, &b->window.x) &&
         a->counted_y == b->counted_y && a->counted_x == b->counted_x &&
         a->count_padding == b->count_padding;
}

static bool are_equal(const struct mafat_layer *a, const struct mafat_layer *b)
{
  return can_merge(a) && have_equal_parameters(a, b) && have_equal_outputs(a, b) &&
         are_equal_shapes(&a->in, &b->in) &&
         are_equal_sources(&a->operands->sources, &b->operands->sources);
}

/* Returns a hash of the layer and its sources. Lists of sources may be long, so are_equal() is
 * called only for layers with equal hashes. */
static uint64_t hash_of(const struct mafat_layer *l)
{
  uint64_t hash = 14695981039346656037u;
  const struct mafat_sources *s = &l->operands->sources;
  const int parts[] = {(int)l->type, (int)l->activation.kind, l->out.h, l->out.w,
                       l->out.c,     l->window.y.size,        s->n,     s->n_bands};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    hash = (hash ^ (unsigned)parts[i]) * 1099511628211u;
  for (int i = 0; i < mafat_sources_count(s); i++) {
    const int source[] = {s->list[i].tensor, s->list[i].first, s->list[i].n, s->list[i].first_row,
                          s->list[i].n_rows};
    for (size_t k = 0; k < sizeof source / sizeof *source; k++)
      hash = (hash ^ (unsigned)source[k]) * 1099511628211u;
  }
  return hash;
}

/* ---- merging ---- */

struct merger {
  struct mafat_network *network;
  uint64_t *hashes; /* [layer] hash_of() the layer; 0: it cannot be merged */
  int *same_as;     /* [tensor] earliest tensor that equals this tensor, or the tensor itself */
};

/* In a list of sources, replaces each merged tensor by the earlier tensor that equals it. */
static void read_instead(const struct merger *m, struct mafat_sources *s)
{
  for (int i = 0; i < mafat_sources_count(s); i++)
    s->list[i].tensor = m->same_as[s->list[i].tensor];
}

static void become_alias(const struct merger *m, int layer)
{
  struct mafat_layer *l = &m->network->layers[layer], *to = &m->network->layers[m->same_as[layer]];
  struct mafat_sources *s = &l->operands->sources;
  s->n = s->n_bands = 1;
  s->list[0] =
      (struct mafat_source){.tensor = m->same_as[layer], .n = l->out.c, .n_rows = l->out.h};
  mafat_layer_become_alias(l);
  to->output = to->output || l->output;
}

/* Returns the first layer that equals this layer; this layer itself if no earlier one does. */
static int find_equal(const struct merger *m, int layer)
{
  const struct mafat_layer *layers = m->network->layers;
  int other = 0;
  m->hashes[layer] = can_merge(&layers[layer]) ? hash_of(&layers[layer]) : 0;
  if (!can_merge(&layers[layer])) return layer;
  while (other < layer &&
         !(m->hashes[other] == m->hashes[layer] && are_equal(&layers[other], &layers[layer])))
    other++;
  return other;
}

/* One pass suffices, because layers only read earlier tensors. */
static void merge(const struct merger *m)
{
  struct mafat_network *n = m->network;
  for (int t = 0; t < mafat_network_n_tensors(n); t++) m->same_as[t] = t;
  for (int l = 0; l < n->n_layers; l++) {
    for (int k = 0; k < n->layers[l].n_operands; k++)
      read_instead(m, &n->layers[l].operands[k].sources);
    m->same_as[l] = find_equal(m, l);
    if (m->same_as[l] != l) become_alias(m, l);
  }
  for (int k = 0; k < n->n_outputs; k++) read_instead(m, &n->outputs[k].sources);
}

int mafat_network_merge(struct mafat_network *n)
{
  size_t n_tensors = (size_t)mafat_network_n_tensors(n);
  struct merger m = {n, malloc(n_tensors * sizeof *m.hashes),
                     malloc(n_tensors * sizeof *m.same_as)};
  bool enough = m.hashes && m.same_as;
  if (enough) merge(&m);
  free(m.hashes);
  free(m.same_as);
  return enough ? MAFAT_OK : MAFAT_ENOMEM;
}
