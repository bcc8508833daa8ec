#include "tests/support/support.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* ---- windows ---- */

/* Another window along one axis that gives as many outputs from as many inputs. */
static struct mafat_taps vary_taps(struct test_rng *rng, struct mafat_taps t, int inputs, int outputs)
{
  struct mafat_taps other = {.size = test_random_int(rng, 1, 4), .stride = t.stride};
  other.dilation = test_random_int(rng, 1, 2);
  other.before = test_random_int(rng, 0, (other.size - 1) * other.dilation);
  other.after = mafat_taps_inputs(other, outputs) - inputs - other.before;
  if (other.after < 0) other.after = 0;
  /* No window lies behind the map; where the map is as wide as taps are apart, none steps over it. */
  bool sees_map = (outputs - 1) * other.stride - other.before < inputs && other.dilation <= inputs;
  return mafat_taps_outputs(other, inputs) == outputs && sees_map ? other : t;
}

/* Gives some windows rows and columns of their own: what no cfg can say. */
static void vary_windows(struct mafat_network *n, uint64_t seed)
{
  struct test_rng rng = test_rng(seed);
  for (int i = 0; i < n->n_layers; i++) {
    struct mafat_layer *l = &n->layers[i];
    bool slides = mafat_layer_convolves(l) || mafat_layer_pools(l) || l->type == MAFAT_LOCAL_AVGPOOL;
    if (!slides || test_random_chance(&rng, 60)) continue;
    l->window.y = vary_taps(&rng, l->window.y, l->in.h, l->out.h);
    l->window.x = vary_taps(&rng, l->window.x, l->in.w, l->out.w);
  }
}

/* ---- blends ---- */

/* Maps of one shape, each whole. */
static bool blends_alike_maps(const struct mafat_layer *l)
{
  for (int k = 1; k < l->n_operands; k++)
    if (l->operands[k].broadcast || l->operands[k].shape.h != l->in.h || l->operands[k].shape.w != l->in.w ||
        l->operands[k].shape.c != l->in.c)
      return false;
  return mafat_layer_blends(l);
}

void test_add_operand(struct mafat_layer *l, const struct mafat_operand *operand)
{
  size_t n = (size_t)l->n_operands, sources = (size_t)mafat_sources_count(&operand->sources);
  l->operands = realloc(l->operands, (n + 1) * sizeof *l->operands);
  struct mafat_operand *o = &l->operands[l->n_operands++];
  *o = *operand;
  o->sources.list = calloc(sources, sizeof *o->sources.list);
  memcpy(o->sources.list, operand->sources.list, sources * sizeof *o->sources.list);
}

/* A value for each row, column or channel, or for several of them, from some tensor that has as many. */
static void add_broadcast(struct test_rng *rng, const struct mafat_network *n, int layer)
{
  struct mafat_layer *l = &n->layers[layer];
  int tensor = mafat_network_above(n, test_random_int(rng, 0, layer));
  struct mafat_shape s = mafat_network_tensor_shape(n, tensor);
  if (mafat_layer_is_alias(&n->layers[tensor])) return;
  if ((s.h != 1 && s.h != l->in.h) || (s.w != 1 && s.w != l->in.w)) return;
  int channels = s.c >= l->in.c && test_random_chance(rng, 50) ? l->in.c : 1;
  struct mafat_source slice = {tensor, test_random_int(rng, 0, s.c - channels), channels, 0, s.h};
  test_add_operand(l, &(struct mafat_operand){{&slice, 1, 1}, {s.h, s.w, channels}, true});
}

/* Gives some blends what no cfg can say: the larger one, other broadcasts. */
static void vary_blends(struct mafat_network *n, uint64_t seed)
{
  struct test_rng rng = test_rng(seed + 1);
  for (int i = 0; i < n->n_layers; i++) {
    struct mafat_layer *l = &n->layers[i];
    if (!blends_alike_maps(l)) continue;
    l->blend = (enum mafat_blend)test_random_int(&rng, 0, MAFAT_N_BLENDS - 1);
    if (l->type != MAFAT_SHORTCUT) l->alpha = l->beta = 1;
    for (int attempt = test_random_int(&rng, 0, 6); attempt > 0 && l->n_operands < 4; attempt--)
      add_broadcast(&rng, n, i);
    struct mafat_diagnostic d = {""};
    int code = mafat_layer_infer(l, &(struct mafat_subject){"test.cfg", l->line, i, "blend", &d});
    ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  }
}

void test_vary(struct mafat_network *n, uint64_t seed)
{
  vary_windows(n, seed);
  vary_blends(n, seed);
  test_constants(n);
}
