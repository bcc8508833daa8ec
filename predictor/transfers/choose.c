/* Chooses which layers form units (transfers.h), by dynamic programming over paths: sequences in
 * which each layer is the only reader of the one before. Called by api/transfers.c,
 * search/separable and prices.c. Allocates lists with malloc, which the caller frees.
 *
 * The price of a unit does not depend on other units, and prices add up. So the cheapest sequence
 * of units that ends with a layer consists of one unit that ends with this layer, and of the
 * cheapest sequence that ends just before that unit. */
#include "predictor/transfers/transfers.h"

#include "base/blocks.h"
#include "predictor/plan/plan.h"

#include <math.h>
#include <stdlib.h>

void mafat_transfers_paths(const struct mafat_network *n, int n_layers, int *next)
{
  enum { NONE = -1, MANY = -2 };
  for (int l = 0; l < n_layers; l++)
    next[l] = mafat_network_is_output(n, n_layers, l) || n->layers[l].more ? MANY : NONE;
  for (int l = 0; l < n_layers; l++) {
    if (mafat_layer_is_alias(&n->layers[l])) continue;
    for (struct mafat_reads r = mafat_layer_reads(&n->layers[l]); mafat_reads_next(&r);)
      if (r.source->tensor < n_layers)
        next[r.source->tensor] = next[r.source->tensor] == NONE ? l : MANY;
  }
  /* If a layer is the only reader of several layers, it continues the path of only one of them: the
   * first in the order of its operands. */
  for (int l = 0; l < n_layers; l++) {
    if (next[l] < 0) continue;
    const struct mafat_layer *reader = &n->layers[next[l]];
    bool is_first = false;
    for (int i = 0; i < reader->n_operands; i++) {
      int tensor = mafat_network_sole_tensor(n, &reader->operands[i].sources);
      if (tensor >= 0 && tensor < n_layers && next[tensor] == next[l]) {
        is_first = tensor == l;
        break;
      }
    }
    if (!is_first) next[l] = NONE;
  }
  for (int l = 0; l < n_layers; l++)
    if (next[l] < 0) next[l] = NONE;
}

/* Price of a unit: bytes that it copies. INFINITY for a unit of several layers that does not fit
 * the fast memory. */
static double price_bytes(const void *context, const struct mafat_unit *u)
{
  (void)context;
  return u->fits || u->how == MAFAT_FUSED_NONE ? (double)mafat_unit_moved(u) : INFINITY;
}

/* Cheapest sequence of units that ends with a certain layer. */
struct unit_choice {
  double least;         /* total price of the sequence */
  struct mafat_unit unit; /* last unit of the sequence */
};

struct unit_chooser {
  const struct mafat_network *n;
  const struct mafat_transfers_options *o;
  struct mafat_unit_price price;
  const struct mafat_plan *plan; /* only units that this plan computes; NULL: all units */
  int *before;           /* [layer]: previous layer on its path; -1: none */
  struct unit_choice *choices; /* [layer] */
};

/* Number of layers of a unit. variant 1: a bottleneck with a shortcut around it, which is one layer
 * more; 0: any unit without such a shortcut. */
static int how_many(enum mafat_fused how, int variant)
{
  static const int n[MAFAT_N_FUSED] = {1, 2, 2, 2, 3};
  return n[how] + variant;
}

/* Makes the unit of n_layers layers that ends with `layer`. False: these layers cannot be computed
 * like this. */
static bool unit_at(const struct unit_chooser *c, int layer, enum mafat_fused how, int n_layers,
                    struct mafat_unit *u)
{
  *u = (struct mafat_unit){.how = how, .n = n_layers};
  for (int i = n_layers - 1; i >= 0; i--, layer = c->before[layer]) {
    if (layer < 0) return false;
    u->layers[i] = layer;
  }
  return mafat_unit_can(u, c->n);
}

/* Counts the unit's bytes: with the plan's number of depthwise rows as extent, if the plan has it;
 * else with the best extent. */
static void count(const struct unit_chooser *c, struct mafat_unit *u)
{
  int planned = c->plan && u->how == MAFAT_FUSED_DW_PW_ROWS
                    ? mafat_plan_depthwise_rows(c->plan, u->layers[0])
                    : -1;
  u->extent = mafat_min(planned, c->n->layers[u->layers[0]].out.h);
  if (planned <= 0) mafat_unit_count(u, c->n, c->o);
  else mafat_unit_count_at(u, c->n, c->o);
}

static void choose_at(struct unit_chooser *c, int layer)
{
  struct unit_choice *best = &c->choices[layer];
  best->least = INFINITY;
  for (int how = 0; how < MAFAT_N_FUSED; how++)
    for (int variant = 0; variant <= (how == MAFAT_FUSED_BOTTLENECK_ROWS); variant++) {
      struct mafat_unit u;
      if (!unit_at(c, layer, (enum mafat_fused)how, how_many((enum mafat_fused)how, variant), &u))
        continue;
      count(c, &u);
      int before = c->before[u.layers[0]];
      double sum = c->price.of(c->price.context, &u) + (before >= 0 ? c->choices[before].least : 0);
      if (how == MAFAT_FUSED_NONE || sum < best->least) *best = (struct unit_choice){sum, u};
    }
}

static int compare_units(const void *a, const void *b)
{
  const struct mafat_unit *x = a, *y = b;
  return x->layers[x->n - 1] - y->layers[y->n - 1];
}

void mafat_units_sort(struct mafat_unit *units, int n_units)
{
  qsort(units, (size_t)n_units, sizeof *units, compare_units);
}

/* Appends the units of the path that ends with layer `last`. */
static void take_path(struct mafat_transfers *out, const struct unit_chooser *c, int last)
{
  for (int l = last; l >= 0; l = c->before[c->choices[l].unit.layers[0]]) {
    const struct mafat_unit *u = &c->choices[l].unit;
    out->units[out->n++] = *u;
    out->activation_bytes += mafat_unit_activations(u);
    out->again_bytes += u->again_bytes;
    out->weight_bytes += u->weight_bytes;
  }
}

/* True if the layer computes something, and so moves bytes. */
static bool moves(const struct mafat_network *n, int layer)
{
  return !mafat_layer_is_alias(&n->layers[layer]) && !mafat_layer_is_inert(&n->layers[layer]);
}

/* Fills next, and c->before. */
static void find_before(struct unit_chooser *c, int n_layers, int *next)
{
  mafat_transfers_paths(c->n, n_layers, next);
  for (int l = 0; l < n_layers; l++) c->before[l] = -1;
  for (int l = 0; l < n_layers; l++)
    if (next[l] >= 0) c->before[next[l]] = l;
}

static int choose(struct mafat_transfers *out, struct unit_chooser c, int n_layers)
{
  size_t n = (size_t)n_layers;
  int *next = malloc(n * sizeof *next);
  c.before = malloc(n * sizeof *c.before);
  c.choices = calloc(n, sizeof *c.choices);
  *out = (struct mafat_transfers){.units = calloc(n, sizeof *out->units)};
  int code = next && c.before && c.choices && out->units ? MAFAT_OK : MAFAT_ENOMEM;
  if (code == MAFAT_OK) {
    find_before(&c, n_layers, next);
    /* in the file's order, so that the choices of the layers before are known */
    for (int l = 0; l < n_layers; l++)
      if (moves(c.n, l)) choose_at(&c, l);
    for (int l = 0; l < n_layers; l++)
      if (moves(c.n, l) && next[l] < 0) take_path(out, &c, l);
    mafat_units_sort(out->units, out->n);
  }
  if (code) mafat_transfers_close(out);
  free(c.choices);
  free(c.before);
  free(next);
  return code;
}

int mafat_transfers_choose(struct mafat_transfers *out, const struct mafat_network *n, int n_layers,
                           const struct mafat_transfers_options *o,
                           const struct mafat_unit_price *price)
{
  struct mafat_unit_price bytes = {price_bytes, NULL};
  return choose(out, (struct unit_chooser){.n = n, .o = o, .price = price ? *price : bytes},
                n_layers);
}

int mafat_transfers_candidates(struct mafat_unit **units, int *n_units,
                               const struct mafat_network *n, int n_layers)
{
  enum { VARIANTS = MAFAT_N_FUSED + 1 }; /* the last one: a bottleneck with a shortcut around it */
  size_t count = (size_t)n_layers;
  int *next = malloc(count * sizeof *next);
  struct unit_chooser c = {.n = n, .before = malloc(count * sizeof *c.before)};
  *units = calloc(count * VARIANTS + 1, sizeof **units);
  *n_units = 0;
  bool enough = next && c.before && *units;
  if (enough) find_before(&c, n_layers, next);
  for (int l = 0; l < n_layers && enough; l++)
    for (int v = MAFAT_FUSED_NONE + 1; v < VARIANTS && moves(n, l); v++) {
      bool around = v == MAFAT_N_FUSED;
      enum mafat_fused how = around ? MAFAT_FUSED_BOTTLENECK_ROWS : (enum mafat_fused)v;
      if (unit_at(&c, l, how, how_many(how, around), &(*units)[*n_units])) ++*n_units;
    }
  if (!enough) free(*units);
  free(c.before);
  free(next);
  return enough ? MAFAT_OK : MAFAT_ENOMEM;
}

void mafat_transfers_close(struct mafat_transfers *t)
{
  free(t->units);
  *t = (struct mafat_transfers){0};
}

static double price_unfused(const void *context, const struct mafat_unit *u)
{
  return u->how == MAFAT_FUSED_NONE ? price_bytes(context, u) : INFINITY;
}

int mafat_transfers_unfused(struct mafat_transfers *out, const struct mafat_network *n,
                            int n_layers, const struct mafat_transfers_options *o)
{
  return mafat_transfers_choose(out, n, n_layers, o,
                                &(struct mafat_unit_price){price_unfused, NULL});
}

/* ---- bounds ---- */

uint64_t mafat_transfers_one_pass(const struct mafat_network *n, int n_layers,
                                  const struct mafat_transfers_options *o)
{
  struct mafat_transfers_options all = *o;
  uint64_t sum = 0;
  all.fast_bytes = SIZE_MAX;
  for (int l = 0; l < n_layers; l++) {
    struct mafat_unit u = {.how = MAFAT_FUSED_NONE, .layers = {l}, .n = 1};
    if (!moves(n, l)) continue;
    mafat_unit_count(&u, n, &all);
    sum += mafat_unit_activations(&u);
  }
  return sum;
}

static double price_pairs(const void *context, const struct mafat_unit *u)
{
  return u->n <= 2 ? price_bytes(context, u) : INFINITY;
}

int mafat_transfers_best_pairs(uint64_t *bytes, const struct mafat_network *n, int n_layers,
                               const struct mafat_transfers_options *o)
{
  struct mafat_transfers t;
  struct mafat_transfers_options all = *o;
  all.fast_bytes = SIZE_MAX;
  int code =
      mafat_transfers_choose(&t, n, n_layers, &all, &(struct mafat_unit_price){price_pairs, NULL});
  if (code) return code;
  *bytes = t.activation_bytes;
  mafat_transfers_close(&t);
  return MAFAT_OK;
}

/* ---- units of a plan ---- */

/* True if a split along channels contains all layers of the unit. */
static bool splits_channels(const struct mafat_cut *cut, const struct mafat_unit *u)
{
  for (int i = 0; cut->kind == MAFAT_CUT_SPLIT && i < cut->as.split.n; i++) {
    const struct mafat_split *s = &cut->as.split.list[i];
    if (s->axis == MAFAT_ALONG_C && s->layers.begin <= u->layers[0] &&
        u->layers[u->n - 1] < s->layers.end)
      return true;
  }
  return false;
}

bool mafat_transfers_runs(const struct mafat_plan *plan, const struct mafat_unit *u)
{
  if (u->how == MAFAT_FUSED_NONE) return true;
  if (u->how == MAFAT_FUSED_DW_PW_ROWS && plan->outer[u->layers[0]] == u->layers[1]) return true;
  for (int i = 1; i < u->n; i++)
    if (plan->group_of[u->layers[i]] != plan->group_of[u->layers[0]]) return false;
  const struct mafat_cut *cut = &mafat_plan_group(plan, u->layers[0])->cut;
  if (u->how == MAFAT_FUSED_PW_DW_CHANNELS) return splits_channels(cut, u);
  return cut->kind == MAFAT_CUT_ROWS;
}

static double price_of_plan(const void *context, const struct mafat_unit *u)
{
  return mafat_transfers_runs(context, u) ? price_bytes(NULL, u) : INFINITY;
}

int mafat_transfers_of_plan(struct mafat_transfers *out, const struct mafat_network *n,
                            const struct mafat_plan *plan, const struct mafat_transfers_options *o)
{
  return choose(out,
                (struct unit_chooser){.n = n, .o = o, .price = {price_of_plan, plan}, .plan = plan},
                plan->n_layers);
}
