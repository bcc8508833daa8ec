/* Computes the range of random weights for each layer. Called by make_weights.c and like.c.
 * Allocates the list of recipes, which the caller frees. */
#include "programs/make_weights/recipe.h"

#include "predictor/plan/packing.h"

#include <math.h>
#include <stdlib.h>

static float mean_energy(const struct mafat_sources *sources, const struct recipe *recipes)
{
  float sum = 0, n = 0;
  for (int i = 0; i < mafat_sources_count(sources); i++) {
    const struct mafat_source *s = &sources->list[i];
    sum += (float)s->n * recipes[s->tensor].energy;
    n += (float)s->n;
  }
  return n > 0 ? sum / n : 1;
}

/* The mean square that a zero-centred input should have for outputs near 1. */
static float wanted_energy(enum mafat_activation a)
{
  switch (a) {
  case MAFAT_LINEAR:
  case MAFAT_TANH:
  case MAFAT_HARDTAN:
  case MAFAT_LOGISTIC:
  case MAFAT_LOGGY:
  case MAFAT_PLSE:
  case MAFAT_STAIR:
  case MAFAT_LHTAN:
  case MAFAT_HARD_SIGMOID: return 1;
  default: return 2; /* half of the inputs become (nearly) zero */
  }
}

/* Returns the tensor if there is exactly one source, else -1. */
static int sole_tensor(const struct mafat_sources *sources)
{
  return mafat_sources_count(sources) == 1 ? sources->list[0].tensor : -1;
}

/* Average share of a window's taps that are inside the map, along one axis. */
static double coverage(struct mafat_taps t, int extent)
{
  double padding = ((double)t.before * (t.before + 1) + (double)t.after * (t.after + 1)) / 2;
  double outside = padding / ((double)t.stride * t.dilation);
  return fmax(1 - outside / ((double)t.size * extent), 1. / t.size);
}

static void weigh(const struct mafat_layer *l, float in, struct recipe *r)
{
  struct mafat_matrix m = mafat_layer_matrix(l);
  double fan_in = (double)m.taps * m.inputs;
  if (!mafat_layer_is_flat(l))
    fan_in = fan_in * coverage(l->window.y, l->out.h) * coverage(l->window.x, l->out.w);
  r->limit = (float)sqrt(3 * wanted_energy(l->activation.kind) / (fan_in * in));
  r->energy = 1;
}

/* Mean square of an operand that the layer multiplies by. Gates (sigmoids) are near 1/2. */
static float factor_energy(const struct mafat_network *n, const struct mafat_operand *o,
                           const struct recipe *recipes)
{
  int feeder = sole_tensor(&o->sources);
  bool gate = feeder >= 0 && mafat_network_made_by(n, feeder)->activation.kind == MAFAT_LOGISTIC;
  return gate ? .3f : mean_energy(&o->sources, recipes);
}

static float blended_energy(const struct mafat_network *n, const struct mafat_layer *l, float in,
                            const struct recipe *recipes)
{
  float energy = l->blend == MAFAT_BLEND_ADD ? l->alpha * l->alpha * in : in;
  for (int k = 1; k < l->n_operands; k++) {
    const struct mafat_operand *o = &l->operands[k];
    float from = mean_energy(&o->sources, recipes) * (float)o->shape.c / (float)l->in.c;
    if (l->blend == MAFAT_BLEND_ADD) energy += l->beta * l->beta * from;
    if (l->blend == MAFAT_BLEND_MUL) energy *= factor_energy(n, o, recipes);
  }
  return energy;
}

static void cook_layer(const struct mafat_network *n, int index, struct recipe *recipes)
{
  const struct mafat_layer *l = &n->layers[index];
  struct recipe *r = &recipes[index];
  float in = mean_energy(mafat_layer_sources(l), recipes);
  *r = (struct recipe){.energy = in, .branch = 1, .head = -1};
  if (mafat_layer_matrix(l).filters > 0) weigh(l, in, r);
  if (mafat_layer_pools(l) && mafat_window_area(&l->window) > 1)
    r->energy = 1.5f * in; /* measured on pictures */
  if (l->type == MAFAT_AVGPOOL) r->energy = in / 2;
  if (l->type == MAFAT_UPSAMPLE) r->energy = in * l->scale * l->scale;
  if (mafat_layer_blends(l)) r->energy = blended_energy(n, l, in, recipes);
}

/* Scales down the last convolution of the residual branch that ends at the shortcut `index`. */
static void tame_branch(const struct mafat_network *n, int index, struct recipe *recipes)
{
  const float factor = 0.125f; /* keeps the sum over dozens of blocks small */
  const struct mafat_layer *l = &n->layers[index];
  int end = sole_tensor(mafat_layer_sources(l));
  struct mafat_shape from = l->operands[1].shape;
  bool same = from.h == l->in.h && from.w == l->in.w && from.c == l->in.c;
  if (!same || end < 0 || !mafat_layer_convolves(mafat_network_made_by(n, end))) return;
  recipes[end].branch = factor;
  recipes[end].energy = factor * factor;
}

int make_recipes(struct recipe **out, const struct mafat_network *n, struct mafat_diagnostic *d)
{
  struct recipe *recipes = calloc((size_t)mafat_network_n_tensors(n), sizeof *recipes);
  if (!recipes) return mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", n->path);
  for (int i = n->n_layers; i < mafat_network_n_operators(n); i++)
    recipes[i].energy = 1.f / 3; /* mean square of values that are uniform in 0 ... 1 */
  for (int i = 0; i < n->n_layers; i++) {
    const struct mafat_layer *l = &n->layers[i];
    if (mafat_layer_blends(l) && l->n_operands > 1) tame_branch(n, i, recipes);
    cook_layer(n, i, recipes);
    for (int k = 1; k < mafat_layer_n_outputs(l); k++)
      recipes[mafat_network_output(n, i, k)] = recipes[i];
    int feeder = sole_tensor(mafat_layer_sources(l));
    if (mafat_layer_is_head(l) && feeder >= 0) recipes[feeder].head = i;
  }
  *out = recipes;
  return MAFAT_OK;
}

struct aim aim_filter(const struct mafat_layer *head, int filter)
{
  const struct mafat_head *h = &head->head;
  if (h->side > 0) return (struct aim){.3f, 0}; /* outputs are no logits, but values */
  bool softmax = h->softmax;
  int entry = filter % (h->coords + 1 + h->classes);
  if (entry < h->coords) return (struct aim){.5f, 0};
  if (entry == h->coords) return softmax ? (struct aim){1.5f, 0} : (struct aim){1.5f, -2.5f};
  return softmax ? (struct aim){4, 0} : (struct aim){1.5f, -3};
}
