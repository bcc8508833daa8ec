/* Gives random networks features that no cfg has: operands of several sources, broadcasts,
 * several outputs, other kinds. Called by suites with random networks, the differential tests,
 * support.c and problem.c. Changes the network. */
#include "network/rearrange.h"
#include "tests/support/support.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* ---- windows ---- */

/* Returns another window along an axis, which gives as many outputs from as many inputs; or `t`. */
static struct mafat_taps vary_taps(struct test_rng *rng, struct mafat_taps t, int inputs,
                                   int outputs)
{
  struct mafat_taps other = {.size = test_random_int(rng, 1, 4), .stride = t.stride};
  other.dilation = test_random_int(rng, 1, 2);
  other.before = test_random_int(rng, 0, (other.size - 1) * other.dilation);
  other.after = mafat_taps_inputs(other, outputs) - inputs - other.before;
  if (other.after < 0) other.after = 0;
  /* No window may begin after the map's end. If the map is narrower than the dilation, a window
   * may have no tap inside the map. */
  bool sees_map = (outputs - 1) * other.stride - other.before < inputs && other.dilation <= inputs;
  return mafat_taps_outputs(other, inputs) == outputs && sees_map ? other : t;
}

static void vary_windows(struct mafat_network *n, uint64_t seed)
{
  struct test_rng rng = test_rng(seed);
  for (int i = 0; i < n->n_layers; i++) {
    struct mafat_layer *l = &n->layers[i];
    bool slides =
        mafat_layer_convolves(l) || mafat_layer_pools(l) || l->type == MAFAT_LOCAL_AVGPOOL;
    if (!slides || test_random_chance(&rng, 60)) continue;
    l->window.y = vary_taps(&rng, l->window.y, l->in.h, l->out.h);
    l->window.x = vary_taps(&rng, l->window.x, l->in.w, l->out.w);
  }
}

/* ---- blends ---- */

/* True for a blend of whole maps that have the same shape. */
static bool blends_alike_maps(const struct mafat_layer *l)
{
  for (int k = 1; k < l->n_operands; k++)
    if (l->operands[k].broadcast || l->operands[k].shape.h != l->in.h ||
        l->operands[k].shape.w != l->in.w || l->operands[k].shape.c != l->in.c)
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

/* Adds an operand, if a tensor drawn at random can be broadcast to the map: one value for each
 * row, column, channel, or a combination of these. */
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

static void vary_blends(struct mafat_network *n, uint64_t seed)
{
  static const enum mafat_blend blends[] = {MAFAT_BLEND_ADD, MAFAT_BLEND_MUL, MAFAT_BLEND_MAX,
                                            MAFAT_BLEND_MIN, MAFAT_BLEND_PRELU};
  struct test_rng rng = test_rng(seed + 1);
  for (int i = 0; i < n->n_layers; i++) {
    struct mafat_layer *l = &n->layers[i];
    if (!blends_alike_maps(l)) continue;
    l->blend = blends[test_random_int(&rng, 0, 4)];
    if (l->type != MAFAT_SHORTCUT) l->alpha = l->beta = 1;
    for (int attempt = test_random_int(&rng, 0, 6); attempt > 0 && l->n_operands < 4; attempt--)
      add_broadcast(&rng, n, i);
    struct mafat_diagnostic d = {""};
    int code =
        mafat_layer_infer(l, &(struct mafat_infer_context){"test.cfg", l->line, i, "blend", &d});
    ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  }
}

/* ---- rows ---- */

/* A layer, and the operand that gets new sources. */
struct weaver {
  struct test_rng *rng;
  const struct mafat_network *network;
  int layer;
  const struct mafat_operand *operand;
  int channels; /* of the operand */
};

static void join(struct mafat_sources *to, struct mafat_sources *more,
                 int (*how)(struct mafat_sources *to, const struct mafat_sources *more))
{
  int code = to->list ? how(to, more) : MAFAT_OK;
  ck_assert(code == MAFAT_OK || code == MAFAT_EUNSUPPORTED);
  if (to->list) free(more->list);
  else *to = *more;
}

/* Adds at most `channels` channels of `rows` rows of a random tensor to the band. Returns false,
 * and adds nothing, if the tensor does not suit. */
static bool add_slice(const struct weaver *w, int rows, int channels, struct mafat_sources *band)
{
  int tensor = mafat_network_above(w->network, test_random_int(w->rng, 0, w->layer));
  struct mafat_shape s = mafat_network_tensor_shape(w->network, tensor);
  bool tileable = mafat_layer_is_tileable(&w->network->layers[tensor]) ||
                  mafat_layer_is_input(&w->network->layers[tensor]);
  if (mafat_layer_is_alias(&w->network->layers[tensor]) || !tileable ||
      s.w != w->operand->shape.w || s.h < rows)
    return false;
  if (channels > s.c) channels = s.c;
  struct mafat_source *slice = malloc(sizeof *slice);
  *slice = (struct mafat_source){tensor, test_random_int(w->rng, 0, s.c - channels), channels,
                                 test_random_int(w->rng, 0, s.h - rows), rows};
  if (test_random_chance(w->rng, 60)) slice->first -= slice->first % MAFAT_CHANNEL_BLOCK;
  join(band, &(struct mafat_sources){slice, 1, 1}, mafat_sources_join_channels);
  return true;
}

/* Makes a band of rows of any tensors, with as many channels as the operand. Returns false if no
 * tensors for it are found. */
static bool make_foreign_band(const struct weaver *w, int rows, struct mafat_sources *band)
{
  int left = w->channels;
  for (int attempt = 0; left > 0 && attempt < 30; attempt++) {
    int wanted = test_random_chance(w->rng, 70) ? left : test_random_int(w->rng, 1, left);
    if (!add_slice(w, rows, wanted, band)) continue;
    left -= band->list[band->n - 1].n;
  }
  if (left > 0) free(band->list);
  return left == 0;
}

/* Makes a band from the operand's present sources: of the same rows, or of others. */
static void make_own_band(const struct weaver *w, struct mafat_span rows,
                          struct mafat_sources *band)
{
  int n = mafat_span_size(rows), first = rows.begin;
  if (test_random_chance(w->rng, 50)) first = test_random_int(w->rng, 0, w->operand->shape.h - n);
  ck_assert_int_eq(mafat_sources_part(band, &w->operand->sources, mafat_span(first, first + n),
                                      mafat_span(0, w->channels)),
                   MAFAT_OK);
}

/* Makes new sources for the operand: one to four bands of rows. */
static struct mafat_sources weave(const struct weaver *w)
{
  struct mafat_sources made = {NULL, 0, 0};
  int h = w->operand->shape.h;
  for (int y = 0, end, bands = 0; y < h; y = end, bands++) {
    struct mafat_sources band = {NULL, 0, 0};
    end = bands == 3 ? h : test_random_int(w->rng, y + 1, h);
    if (test_random_chance(w->rng, 50) || !make_foreign_band(w, end - y, &band))
      make_own_band(w, mafat_span(y, end), &band);
    join(&made, &band, mafat_sources_join_rows);
  }
  return made;
}

bool test_weave(struct test_rng *rng, struct mafat_network *n, int layer, int operand)
{
  struct mafat_operand *o = &n->layers[layer].operands[operand];
  struct weaver w = {rng, n, layer, o, 0};
  const struct mafat_infer_context context = {"test.cfg", n->layers[layer].line, layer, "woven",
                                              NULL};
  struct mafat_sources own = o->sources;
  for (int i = 0; i < own.n; i++) w.channels += own.list[i].n;
  o->sources = weave(&w);
  bool good = mafat_network_check_operand(n, layer, operand, &context) == MAFAT_OK;
  free(good ? own.list : o->sources.list);
  if (!good) o->sources = own;
  return good;
}

const struct mafat_source *test_source_at(const struct mafat_operand *o, int *c, int *y)
{
  const struct mafat_sources *sources = &o->sources;
  const struct mafat_source *s = sources->list;
  for (; *y >= s->n_rows; s += sources->n) *y -= s->n_rows;
  for (; *c >= s->n; s++) *c -= s->n;
  *y += s->first_row;
  *c += s->first;
  return s;
}

static void vary_rows(struct mafat_network *n, uint64_t seed)
{
  struct test_rng rng = test_rng(seed + 2);
  for (int i = 0; i < n->n_layers; i++)
    for (int k = 0; k < n->layers[i].n_operands && !mafat_layer_is_inert(&n->layers[i]); k++)
      if (test_random_chance(&rng, 30)) test_weave(&rng, n, i, k);
}

/* Replaces some activations by ones that no cfg has, most of them with parameters. */
static void vary_activations(struct mafat_network *n, uint64_t seed)
{
  static const struct mafat_activating others[] = {
      {MAFAT_CLIP, -.5f, .75f}, {MAFAT_SLOPED, .25f, 0},
      {MAFAT_STEEP, -.3f, 0},   {MAFAT_HARD_SIGMOID, .2f, .5f},
      {MAFAT_HARD_SWISH, 0, 0}, {MAFAT_SCALED_ELU, 1.2f, 1.1f},
      {MAFAT_GELU, 0, 0},       {MAFAT_SOFTPLUS, 0, 0}};
  struct test_rng rng = test_rng(seed + 3);
  for (int i = 0; i < n->n_layers; i++)
    if (n->layers[i].activation.kind != MAFAT_LINEAR && test_random_chance(&rng, 25))
      n->layers[i].activation =
          others[test_random_int(&rng, 0, (int)(sizeof others / sizeof *others) - 1)];
}

/* Turns some activation layers into normalizations over channels. */
static void vary_kinds(struct mafat_network *n, uint64_t seed)
{
  struct test_rng rng = test_rng(seed + 4);
  for (int i = 0; i < n->n_layers; i++) {
    struct mafat_layer *l = &n->layers[i];
    if (l->type != MAFAT_ACTIVATION_LAYER || test_random_chance(&rng, 30)) continue;
    l->type = MAFAT_NORMALIZE;
    l->normalize = malloc(sizeof *l->normalize);
    *l->normalize = (struct mafat_normalize){
        (enum mafat_normalize_how)test_random_int(&rng, 0, MAFAT_N_NORMALIZATIONS - 1), .1f, 0};
  }
}

void test_vary(struct mafat_network *n, uint64_t seed)
{
  vary_windows(n, seed);
  vary_blends(n, seed);
  vary_rows(n, seed);
  vary_activations(n, seed);
  vary_kinds(n, seed);
  test_constants(n);
}

/* ---- several outputs ---- */

/* True if the layer has one operand and its output has the operand's rows and columns, and at
 * most as many channels. Then it can become a top-k or a split. */
static bool can_have_several(const struct mafat_network *n, int layer)
{
  const struct mafat_layer *l = &n->layers[layer];
  const struct mafat_kind *kind = mafat_kind_of(l->type);
  if (kind->alias || kind->head || kind->constant || kind->keeps || l->n_operands != 1 ||
      l->out_type != MAFAT_F32 || l->more)
    return false;
  return l->out.h == l->in.h && l->out.w == l->in.w && l->out.c <= l->in.c;
}

static void set_topk(struct test_rng *rng, struct mafat_layer *l)
{
  int axis = l->out.c == l->in.c ? test_random_int(rng, 0, MAFAT_N_AXES - 1) : MAFAT_AXIS_C;
  const int extents[MAFAT_N_AXES] = {l->out.h, l->out.w, l->out.c};
  l->topk = (struct mafat_topk){
      .k = extents[axis], .axis = (signed char)axis, .smallest = test_random_chance(rng, 50)};
}

static void add_run(struct mafat_part *p, int axis, int size, int first, int step)
{
  p->in_first[axis] = step < 0 ? first + size - 1 : first;
  p->atoms[p->n_atoms++] = (struct mafat_atom){.size = size,
                                               .out_axis = (signed char)axis,
                                               .out_step = 1,
                                               .in_axis = (signed char)axis,
                                               .in_step = step};
}

/* Makes the part a box of the input of shape `out`, in which columns or channels may be
 * reversed. */
static void set_slice(struct test_rng *rng, struct mafat_part *p, struct mafat_shape in,
                      struct mafat_shape out)
{
  const int from[MAFAT_N_AXES] = {in.h, in.w, in.c}, to[MAFAT_N_AXES] = {out.h, out.w, out.c};
  for (int axis = 0; axis < MAFAT_N_AXES; axis++)
    add_run(p, axis, to[axis], test_random_int(rng, 0, from[axis] - to[axis]),
            axis != MAFAT_AXIS_H && test_random_chance(rng, 30) ? -1 : 1);
}

/* Gives the split 2 to 4 parts. The first part has the shape of the layer's output; each other
 * one has that shape or another. */
static void set_split(struct test_rng *rng, struct mafat_layer *l)
{
  int n = test_random_int(rng, 2, 4);
  l->rearrange = calloc(1, sizeof *l->rearrange + (size_t)n * sizeof *l->rearrange->parts);
  l->rearrange->n_parts = n;
  for (int k = 0; k < n; k++) {
    struct mafat_shape s = l->out;
    if (k && test_random_chance(rng, 60)) {
      if (test_random_chance(rng, 30)) s.h = test_random_int(rng, 1, l->in.h);
      if (test_random_chance(rng, 50)) s.w = test_random_int(rng, 1, l->in.w);
      if (test_random_chance(rng, 60)) s.c = test_random_int(rng, 1, l->in.c);
    }
    set_slice(rng, &l->rearrange->parts[k], l->in, s);
  }
}

/* Makes layers that read the layer's first output read any output of the same shape. */
static void lead_readers(struct test_rng *rng, struct mafat_network *n, int layer)
{
  const struct mafat_layer *l = &n->layers[layer];
  for (int r = layer + 1; r < n->n_layers; r++)
    for (int o = 0; o < n->layers[r].n_operands; o++) {
      struct mafat_sources *sources = &n->layers[r].operands[o].sources;
      for (int i = 0; i < mafat_sources_count(sources); i++) {
        int k = test_random_int(rng, 0, mafat_layer_n_outputs(l) - 1);
        struct mafat_shape s = mafat_layer_output_shape(l, k);
        if (sources->list[i].tensor == layer && s.h == l->out.h && s.w == l->out.w &&
            s.c == l->out.c)
          sources->list[i].tensor = mafat_network_output(n, layer, k);
      }
    }
}

int test_several_outputs(struct mafat_network *n, uint64_t seed, int percent)
{
  struct test_rng rng = test_rng(seed);
  int count = 0;
  for (int i = 0; i < n->n_layers; i++) {
    struct mafat_layer *l = &n->layers[i];
    struct mafat_diagnostic d = {""};
    if (!can_have_several(n, i) || !test_random_chance(&rng, percent)) continue;
    const struct mafat_layer was = *l;
    *l = (struct mafat_layer){.type = test_random_chance(&rng, 50) ? MAFAT_TOPK : MAFAT_SPLIT,
                              .line = was.line,
                              .operands = was.operands,
                              .n_operands = 1,
                              .in = was.in,
                              .out = was.out,
                              .output = was.output,
                              .groups = 1};
    if (l->type == MAFAT_TOPK) set_topk(&rng, l);
    else set_split(&rng, l);
    int code =
        mafat_layer_infer(l, &(struct mafat_infer_context){"test.cfg", l->line, i,
                                                           mafat_layer_type_name(l->type), &d});
    ck_assert_msg(code == MAFAT_OK, "%s", d.text);
    ck_assert_int_eq(mafat_network_add_outputs(n, i), MAFAT_OK);
    for (int k = 1; k < mafat_layer_n_outputs(l); k++)
      l->more->list[k - 1].asked = test_random_chance(&rng, 25);
    lead_readers(&rng, n, i);
    count++;
  }
  test_constants(n);
  return count;
}
