#include "network/merge.h"

#include "network/kind.h"

/* ---- who computes the same ---- */

static bool can_merge(const struct mafat_layer *l)
{
  return mafat_kind_of(l->type)->mergeable && l->n_operands == 1;
}

static bool are_equal_taps(const struct mafat_taps *a, const struct mafat_taps *b)
{
  return a->size == b->size && a->stride == b->stride && a->dilation == b->dilation && a->before == b->before && a->after == b->after;
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
    if (s->tensor != t->tensor || s->first != t->first || s->n != t->n || s->first_row != t->first_row || s->n_rows != t->n_rows)
      return false;
  }
  return true;
}

static bool put_out_alike(const struct mafat_layer *a, const struct mafat_layer *b)
{
  const struct mafat_quantization *p = &a->quantization, *q = &b->quantization;
  return a->out_type == b->out_type && are_equal_shapes(&a->out, &b->out) && mafat_quantization_equals(p, q) && p->least == q->least &&
         p->most == q->most && p->rounding == q->rounding && p->is_signed == q->is_signed;
}

static bool compute_alike(const struct mafat_layer *a, const struct mafat_layer *b)
{
  return a->type == b->type && a->activation.kind == b->activation.kind && a->activation.a == b->activation.a &&
         a->activation.b == b->activation.b && are_equal_taps(&a->window.y, &b->window.y) && are_equal_taps(&a->window.x, &b->window.x) &&
         a->counted_y == b->counted_y && a->counted_x == b->counted_x && a->count_padding == b->count_padding;
}

static bool are_equal(const struct mafat_layer *a, const struct mafat_layer *b)
{
  return can_merge(a) && compute_alike(a, b) && put_out_alike(a, b) && are_equal_shapes(&a->in, &b->in) &&
         are_equal_sources(&a->operands->sources, &b->operands->sources);
}

/* ---- routes in their place ---- */

static void read_instead(struct mafat_sources *s, int from, int to)
{
  for (int i = 0; i < mafat_sources_count(s); i++)
    if (s->list[i].tensor == from) s->list[i].tensor = to;
}

static void become_alias(struct mafat_network *n, int layer, int to)
{
  struct mafat_layer *l = &n->layers[layer];
  struct mafat_sources *s = &l->operands->sources;
  s->n = s->n_bands = 1;
  s->list[0] = (struct mafat_source){.tensor = to, .n = l->out.c, .n_rows = l->out.h};
  mafat_layer_become_alias(l);
  for (int k = layer + 1; k < n->n_layers; k++)
    for (int o = 0; o < n->layers[k].n_operands; o++) read_instead(&n->layers[k].operands[o].sources, layer, to);
  for (int k = 0; k < n->n_outputs; k++) read_instead(&n->outputs[k].sources, layer, to);
  n->layers[to].output = n->layers[to].output || l->output;
}

int mafat_network_merge(struct mafat_network *n)
{
  int count = 0;
  for (int l = 0; l < n->n_layers; l++) {
    int other = 0;
    if (!can_merge(&n->layers[l])) continue;
    while (other < l && !are_equal(&n->layers[other], &n->layers[l])) other++;
    if (other == l) continue;
    become_alias(n, l, other);
    count++;
  }
  return count;
}
