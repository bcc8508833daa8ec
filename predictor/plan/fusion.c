/* Finds layers to fuse, and computes the geometry of fused steps. Called by predictor/,
 * search/ranks/ and runner/engine/kinds/. mafat_fusion_apply(), _find() and _words() fill plans or
 * specs and allocate from their heap. The other functions touch only their arguments. */
#include "predictor/plan/fusion.h"

#include "base/part.h"
#include "base/tuning.h"
#include "predictor/plan/usage.h"
#include "predictor/plan/winograd.h"

#include <assert.h>

/* True if the maxpool can be fused with the convolution that it reads. */
static bool is_pooled(const struct mafat_layer *conv, const struct mafat_layer *pool)
{
  return mafat_layer_pools(pool) && mafat_window_is_plain(&pool->window, 2, 2) &&
         pool->window.y.before == 0 && pool->window.x.before == 0 &&
         mafat_layer_is_ungrouped(conv) && !mafat_layer_sums_integers(conv);
}

bool mafat_fusion_blends_alike(const struct mafat_layer *l)
{
  if (!mafat_layer_blends(l)) return false;
  for (int k = 0; k < l->n_operands; k++) {
    const struct mafat_operand *o = &l->operands[k];
    const struct mafat_source *s = o->sources.list;
    bool meets =
        o->broadcast || (o->shape.w == l->out.w && o->shape.h == l->out.h && s->n == l->out.c);
    if (mafat_sources_count(&o->sources) != 1 || !meets || s->first % MAFAT_CHANNEL_BLOCK)
      return false;
  }
  return true;
}

/* True if the operand is a single tensor and begins at the start of a channel block. */
static bool starts_at_block(const struct mafat_operand *o)
{
  return mafat_sources_count(&o->sources) == 1 && o->sources.list->first % MAFAT_CHANNEL_BLOCK == 0;
}

/* True if the shortcut can be fused with the convolution that it reads. The operands may differ in
 * channels, and the second may be larger than the output. */
static bool is_added(const struct mafat_layer *conv, const struct mafat_layer *shortcut)
{
  if (!mafat_layer_blends(shortcut) || shortcut->blend != MAFAT_BLEND_ADD ||
      shortcut->n_operands != 2)
    return false;
  const struct mafat_operand *x = &shortcut->operands[0], *z = &shortcut->operands[1];
  return starts_at_block(x) && starts_at_block(z) && !z->broadcast &&
         z->shape.w >= shortcut->out.w && z->shape.h >= shortcut->out.h &&
         mafat_layer_is_ungrouped(conv);
}

/* ---- words of a spec ---- */

static bool is_among(const int *layers, int n_layers, int layer)
{
  for (int i = 0; i < n_layers; i++)
    if (layers[i] == layer) return true;
  return false;
}

/* Sets the rows of the depthwise layers that a word names. */
static int apply_word(struct mafat_plan *plan, const struct mafat_network *n, const int *layers,
                      int n_layers, const struct mafat_depthwise_word *word,
                      struct mafat_diagnostic *d)
{
  struct mafat_span span = word->layers;
  bool all = mafat_span_size(span) == 0;
  if (all) span = mafat_span(layers[0], layers[n_layers - 1] + 1);
  if (!is_among(layers, n_layers, span.begin) || !is_among(layers, n_layers, span.end - 1))
    return mafat_fail(d, MAFAT_EINVAL,
                      "expected layers of its group, from %d to %d, after :dw, found %d-%d",
                      layers[0], layers[n_layers - 1], span.begin, span.end - 1);
  if (mafat_span_size(word->layers) == 1 && !mafat_layer_is_depthwise(&n->layers[span.begin]))
    return mafat_fail(d, MAFAT_EINVAL,
                      "expected a depthwise convolution after :dw, found layer %d [%s]",
                      span.begin, mafat_layer_type_name(n->layers[span.begin].type));
  for (int i = 0; i < n_layers; i++)
    if (layers[i] >= span.begin && layers[i] < span.end &&
        mafat_layer_is_depthwise(&n->layers[layers[i]]))
      plan->depthwise_rows[layers[i]] = word->rows;
  return MAFAT_OK;
}

MAFAT_PART(opening)
int mafat_fusion_apply(struct mafat_plan *plan, const struct mafat_network *n, const int *layers,
                       int n_layers, const struct mafat_group_spec *group,
                       struct mafat_diagnostic *d)
{
  int code = MAFAT_OK;
  if (group->n_depthwise && !plan->depthwise_rows) {
    plan->depthwise_rows =
        mafat_heap_calloc(plan->heap, (size_t)plan->n_layers, sizeof *plan->depthwise_rows);
    if (!plan->depthwise_rows) return mafat_fail(d, MAFAT_ENOMEM, "out of memory");
    for (int l = 0; l < plan->n_layers; l++) plan->depthwise_rows[l] = -1;
  }
  for (int i = 0; i < group->n_depthwise && code == MAFAT_OK; i++)
    code = apply_word(plan, n, layers, n_layers, &group->depthwise[i], d);
  return code;
}

/* True if the layer is fused by default. The span of a word must not include it. */
static bool is_usual(const struct mafat_plan *plan, const struct mafat_network *n, int layer)
{
  return mafat_layer_is_depthwise(&n->layers[layer]) && plan->outer[layer] >= 0 &&
         mafat_plan_depthwise_rows(plan, layer) < 0;
}

/* Finds the run of layers from layers[i] on that can share a word; returns the index of the last
 * one. Layers that cannot be fused may be in between. */
static int run_end(const struct mafat_plan *plan, const struct mafat_network *n, const int *layers,
                   int n_layers, int i)
{
  int last = i, rows = mafat_plan_depthwise_rows(plan, layers[i]);
  for (int k = i + 1; k < n_layers && !is_usual(plan, n, layers[k]); k++) {
    int planned = mafat_plan_depthwise_rows(plan, layers[k]);
    if (planned >= 0 && planned != rows) break;
    if (planned >= 0) last = k;
  }
  return last;
}

/* Adds one word for each run, or one for the whole group if all its layers share it. */
MAFAT_PART(opening)
int mafat_fusion_words(const struct mafat_plan *plan, const struct mafat_network *n,
                       const int *layers, int n_layers, struct mafat_heap *heap,
                       struct mafat_group_spec *group)
{
  bool everywhere = true;
  for (int i = 0; i < n_layers; i++) {
    everywhere = everywhere && !is_usual(plan, n, layers[i]);
    int rows = mafat_plan_depthwise_rows(plan, layers[i]);
    if (rows < 0) continue;
    int last = run_end(plan, n, layers, n_layers, i);
    struct mafat_depthwise_word word = {rows, mafat_span(layers[i], layers[last] + 1)};
    if (mafat_depthwise_word_add(heap, group, word)) return MAFAT_ENOMEM;
    i = last;
  }
  if (everywhere && group->n_depthwise == 1) group->depthwise[0].layers = mafat_span(0, 0);
  return MAFAT_OK;
}

/* ---- finding fusions ---- */

/* Counts the readers of each tensor; an output of the network counts as two more. */
static void count_readers(const struct mafat_network *n, const struct mafat_plan *plan,
                          const struct mafat_usage *usage, int *readers)
{
  for (int l = 0; l < plan->n_layers; l++) {
    const struct mafat_layer *layer = &n->layers[l];
    if (usage[l].last_use == plan->n_layers) readers[l] += 2; /* an output of the network */
    if (!usage[l].needed || mafat_layer_is_alias(layer)) continue;
    for (struct mafat_reads r = mafat_layer_reads(layer); mafat_reads_next(&r);)
      readers[r.source->tensor]++;
  }
}

/* Finds the table in which the layer looks up values; -1: none that can be fused. A lookup copies
 * a column straight from the kept weights, so its channels must be contiguous floats. */
static int find_table(const struct mafat_plan *plan, const struct mafat_network *n,
                      const int *readers, int layer)
{
  const struct mafat_layer *l = &n->layers[layer];
  if (!mafat_layer_looks_up(l)) return -1;
  int table = mafat_network_sole_maker(n, mafat_network_sole_tensor(n, &l->operands[1].sources));
  if (table < 0 || !mafat_kind_of(n->layers[table].type)->constant || readers[table] != 1)
    return -1;
  const struct mafat_layer *t = &n->layers[table];
  bool apart = t->out_type != MAFAT_F32 || (t->strides->channels != 1 && t->out.c > 1);
  bool kept = mafat_plan_group(plan, table)->weights.placement == MAFAT_KEPT;
  return apart || !kept ? -1 : table;
}

enum { BY_ITSELF = -1 }; /* in readers[]: a word of the spec forbids the layer's fusion */

MAFAT_PART(opening)
int mafat_fusion_find(struct mafat_plan *plan, const struct mafat_network *n, bool fuse)
{
  size_t n_tensors = (size_t)mafat_network_n_tensors(n);
  struct mafat_usage *usage = mafat_heap_calloc(plan->heap, n_tensors, sizeof *usage);
  int *readers = mafat_heap_calloc(plan->heap, n_tensors, sizeof *readers);
  plan->inner = mafat_heap_calloc(plan->heap, n_tensors, sizeof *plan->inner);
  plan->outer = mafat_heap_calloc(plan->heap, n_tensors, sizeof *plan->outer);
  plan->table = mafat_heap_calloc(plan->heap, n_tensors, sizeof *plan->table);
  bool enough = usage && readers && plan->inner && plan->outer && plan->table;
  if (enough) {
    for (size_t i = 0; i < n_tensors; i++) plan->inner[i] = plan->outer[i] = plan->table[i] = -1;
    mafat_usage_find(n, plan, usage);
    count_readers(n, plan, usage, readers);
    for (int l = 0; l < plan->n_layers && fuse; l++) {
      const struct mafat_layer *layer = &n->layers[l];
      int k = usage[l].needed ? mafat_network_sole_maker(
                                    n, mafat_network_sole_tensor(n, mafat_layer_sources(layer)))
                              : -1;
      if (k < 0 || readers[k] != 1 || plan->group_of[k] != plan->group_of[l]) continue;
      const struct mafat_layer *inner = &n->layers[k];
      const struct mafat_cut *cut = &mafat_plan_group(plan, l)->cut;
      if (cut->kind == MAFAT_CUT_SPLIT && mafat_splits_part(&cut->as.split, k, l)) continue;
      if (!is_added(inner, layer) && !(is_pooled(inner, layer) && plan->inner[k] < 0) &&
          !(mafat_layer_is_pointwise(layer) && mafat_layer_is_depthwise(inner)))
        continue;
      if (mafat_layer_is_depthwise(inner) && mafat_plan_depthwise_rows(plan, k) == 0) {
        readers[k] = BY_ITSELF;
        continue;
      }
      plan->inner[l] = k;
      plan->outer[k] = l;
    }
    /* drop the words of layers that cannot be fused anyway */
    for (int l = 0; l < plan->n_layers && plan->depthwise_rows; l++)
      if (plan->outer[l] < 0 && readers[l] != BY_ITSELF) plan->depthwise_rows[l] = -1;
    for (int l = 0; l < plan->n_layers && fuse; l++)
      if (usage[l].needed) plan->table[l] = find_table(plan, n, readers, l);
  }
  mafat_heap_free(plan->heap, usage);
  mafat_heap_free(plan->heap, readers);
  return enough ? MAFAT_OK : MAFAT_ENOMEM;
}

MAFAT_PART(opening)
int mafat_fusion_links(const struct mafat_plan *plan, const struct mafat_network *n,
                       struct mafat_link links[MAFAT_FUSION_MOST])
{
  int n_links = 1, inside;
  struct mafat_span channels = links[0].channels;
  for (struct mafat_link *link = links; (inside = plan->inner[link->layer]) >= 0; link++) {
    const struct mafat_layer *outer = &n->layers[link->layer], *inner = &n->layers[inside];
    assert(n_links < MAFAT_FUSION_MOST);
    link->channels = mafat_span(0, outer->in.c);
    links[n_links++] = (struct mafat_link){
        .layer = inside, .channels = channels,
        .box.y = mafat_layer_in_span(outer, 0, true, link->box.y),
        .box.x = mafat_layer_in_span(outer, 0, false, link->box.x),
        .filters = mafat_layer_is_depthwise(inner) ? mafat_span(0, inner->out.c) : link->filters};
  }
  return n_links;
}

/* Finds the innermost layer, and the span of its output needed for `out`. */
static int find_reader(const struct mafat_plan *plan, const struct mafat_network *n, int layer,
                       bool axis_y, struct mafat_span *out)
{
  for (int inside; (inside = plan->inner[layer]) >= 0; layer = inside)
    *out = mafat_layer_in_span(&n->layers[layer], 0, axis_y, *out);
  return layer;
}

struct mafat_span mafat_fusion_inner_span(const struct mafat_plan *plan,
                                          const struct mafat_network *n, int layer, bool axis_y,
                                          struct mafat_span out)
{
  find_reader(plan, n, layer, axis_y, &out);
  return out;
}

struct mafat_span mafat_fusion_in_span(const struct mafat_plan *plan, const struct mafat_network *n,
                                       int layer, int operand, bool axis_y, struct mafat_span out)
{
  if (operand > 0) return mafat_layer_in_span(&n->layers[layer], operand, axis_y, out);
  const struct mafat_layer *l = &n->layers[find_reader(plan, n, layer, axis_y, &out)];
  const struct mafat_winograd *winograd = mafat_plan_winograd(plan, layer);
  /* Pooling an odd map does not read its last row, but the last Winograd tile computes it. */
  if (winograd) out = mafat_span_round_out(out, winograd->outputs, axis_y ? l->out.h : l->out.w);
  return mafat_layer_in_span(l, 0, axis_y, out);
}

int mafat_fusion_granularity(const struct mafat_plan *plan, const struct mafat_network *n,
                             int layer)
{
  const struct mafat_winograd *winograd = mafat_plan_winograd(plan, layer);
  if (!winograd) return 1;
  return mafat_fusion_pools(plan, n, layer) ? winograd->outputs / 2 : winograd->outputs;
}
