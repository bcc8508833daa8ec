/* Makes specs for several ranks (rank_specs.h). Adds one split at a time, and removes it if no
 * valid plan can be made of the spec. In this file, a "word" is one split of the spec's text, such
 * as "h4:12-17", or the rank of some layers, such as "8-11:2". Called by api/ (rank_choice.c,
 * rank_dry_run.c). Allocates from request->options->heap; the caller closes the spec. */
#include "search/ranks/rank_specs.h"

#include "base/blocks.h"
#include "base/tuning.h"
#include "predictor/plan/fusion.h"
#include "predictor/planning/planning.h"
#include "predictor/plan/usage.h"

struct spec_maker {
  const struct mafat_rank_request *request;
  struct mafat_rank_sharing *sharing;
  struct mafat_plan_options options; /* options of the plans that are made to check the spec */
  bool *rigid;                       /* [layer]: it cannot be split by rows (find_rigid) */
  struct mafat_spec *spec;
};

static const char *const names[MAFAT_N_RANK_STRATEGIES] = {"deeperthings", "fdto", "layers",
                                                           "best"};

const char *mafat_rank_strategy_name(enum mafat_rank_strategy strategy)
{
  return names[strategy];
}

/* ---- adding words ---- */

static struct mafat_splits *splits_of(const struct spec_maker *m)
{
  return &m->spec->groups[0].cut.as.split;
}

/* Sets *good: whether a valid plan can be made of the spec. */
static int try_spec(const struct spec_maker *m, bool *good)
{
  struct mafat_plan *plan;
  struct mafat_diagnostic why = {""};
  int ranks = m->spec->ranks.n;
  m->spec->ranks.n = m->request->n_ranks; /* so that parts must be whole channel blocks */
  int code =
      mafat_plan_make(&plan, m->spec, m->request->network, m->request->n_layers, &m->options, &why);
  m->spec->ranks.n = ranks;
  *good = code == MAFAT_OK;
  if (*good) mafat_plan_close(&plan);
  return code == MAFAT_EINVAL ? MAFAT_OK : code;
}

/* Returns bounds between the n parts of a split, in proportion to the ranks' shares. Each part has
 * at least one unit: a row or a panel of filters. The first part belongs to rank 1, and the last
 * one to rank 0, as in predictor/ranks/rank_parts.h. NULL: shares are equal, there are fewer units
 * than parts, or memory is lacking. */
static int *bounds_of(const struct spec_maker *m, enum mafat_split_axis axis,
                      struct mafat_span layers, int n)
{
  const struct mafat_layer *list = m->request->network->layers;
  bool channels = axis == MAFAT_ALONG_C;
  int unit = channels ? MAFAT_PANEL : 1,
      units = channels ? list[layers.begin].out.c / unit : list[layers.end - 1].out.h;
  int *bounds = m->request->shares && units >= n
                    ? mafat_heap_calloc(m->spec->heap, (size_t)n, sizeof *bounds)
                    : NULL;
  double all = 0, sum = 0;
  for (int i = 0; i < n && bounds; i++) all += m->request->shares[i];
  for (int i = 1; i < n && bounds; i++) {
    sum += m->request->shares[i];
    int at = (int)(sum / all * units + .5), least = (i > 1 ? bounds[i - 2] / unit : 0) + 1,
        most = units - (n - i);
    bounds[i - 1] = mafat_max(least, mafat_min(at, most)) * unit;
  }
  return bounds;
}

/* Removes the last split. */
static void take_back(struct spec_maker *m)
{
  struct mafat_splits *s = splits_of(m);
  s->n--;
  mafat_heap_free(m->spec->heap, s->list[s->n].bounds);
  s->list[s->n].bounds = NULL;
}

/* Adds the split that the caller has written at the end of the list. Removes it if then no valid
 * plan can be made. */
static int try_word(struct spec_maker *m, bool *added)
{
  struct mafat_splits *s = splits_of(m);
  s->n++;
  int code = try_spec(m, added);
  if (!*added) take_back(m);
  return code;
}

/* Adds a split with as many parts as possible, from `most` down to 2, if any is valid. For each
 * number, tries parts in proportion to the shares, then equal parts. */
static int add_word_of(struct spec_maker *m, enum mafat_split_axis axis, struct mafat_span layers,
                       int most, bool *added)
{
  struct mafat_splits *s = splits_of(m);
  int code = MAFAT_OK;
  *added = false;
  if (s->n == MAFAT_MOST_SPLITS) return MAFAT_OK;
  struct mafat_split *grown =
      mafat_heap_realloc(m->spec->heap, s->list, (size_t)(s->n + 1) * sizeof *grown);
  if (!grown) return MAFAT_ENOMEM;
  s->list = grown;
  for (int n = most; n > 1 && !*added && code == MAFAT_OK; n--) {
    grown[s->n] = (struct mafat_split){
        .axis = axis, .n = n, .layers = layers, .bounds = bounds_of(m, axis, layers, n)};
    bool even = !grown[s->n].bounds;
    code = try_word(m, added);
    if (*added || even || code) continue;
    grown[s->n] = (struct mafat_split){.axis = axis, .n = n, .layers = layers};
    code = try_word(m, added);
  }
  return code;
}

static int add_word(struct spec_maker *m, enum mafat_split_axis axis, struct mafat_span layers,
                    bool *added)
{
  return add_word_of(m, axis, layers, m->request->n_ranks, added);
}

/* ---- rows, and grids of rows and columns ---- */

/* Adds a split with exactly n parts, if that is possible; *added: it was. */
static int add_exactly(struct spec_maker *m, enum mafat_split_axis axis, struct mafat_span layers,
                       int n, bool *added)
{
  struct mafat_splits *s = splits_of(m);
  const int before = s->n;
  int code = add_word_of(m, axis, layers, n, added);
  if (code || !*added || s->list[before].n == n) return code;
  take_back(m);
  *added = false;
  return MAFAT_OK;
}

/* Adds splits into `columns` columns and n_ranks / columns rows, so that each rank gets one
 * part. */
static int add_grid(struct spec_maker *m, struct mafat_span layers, int columns, bool *added)
{
  const int rows = m->request->n_ranks / columns;
  bool high = rows == 1;
  int code = high ? MAFAT_OK : add_exactly(m, MAFAT_ALONG_H, layers, rows, &high);
  *added = false;
  if (code || !high) return code;
  code = add_exactly(m, MAFAT_ALONG_W, layers, columns, added);
  if (!*added && rows > 1) take_back(m);
  return code;
}

static int add_run(struct spec_maker *m, struct mafat_span layers, bool *added)
{
  const struct mafat_rank_mix *mix = m->request->mix;
  return mix && mix->columns > 1 ? add_grid(m, layers, mix->columns, added)
                                 : add_word(m, MAFAT_ALONG_H, layers, added);
}

/* True if some plan may fuse the layer into its reader (predictor/plan/fusion.h). Then it does not
 * matter whether the layer itself can be split by rows. */
static bool may_be_inside(const struct mafat_layer *l, const struct mafat_layer *reader)
{
  return (mafat_layer_is_ungrouped(l) &&
          (mafat_layer_blends(reader) || mafat_layer_pools(reader))) ||
         (mafat_layer_is_depthwise(l) && mafat_layer_is_pointwise(reader));
}

/* Sets m->rigid: layers that have steps of their own in every plan and cannot be split by rows. A
 * split with such a layer is always invalid, so splits end before them. Otherwise, in networks with
 * hundreds of maps of one row, splits of every range of layers would be tried. */
static int find_rigid(struct spec_maker *m)
{
  const struct mafat_rank_request *r = m->request;
  struct mafat_plan *plan = NULL;
  struct mafat_diagnostic why = {""};
  struct mafat_usage *usage = mafat_heap_calloc(
      m->options.heap, (size_t)mafat_network_n_tensors(r->network), sizeof *usage);
  m->rigid = mafat_heap_calloc(m->options.heap, (size_t)r->n_layers, sizeof *m->rigid);
  int code = usage && m->rigid
                 ? mafat_plan_make(&plan, m->spec, r->network, r->n_layers, &m->options, &why)
                 : MAFAT_ENOMEM;
  if (code == MAFAT_OK) mafat_usage_find(r->network, plan, usage);
  for (int i = 0; i < r->n_layers && code == MAFAT_OK; i++) {
    const struct mafat_layer *l = &r->network->layers[i];
    int unit = plan->inner[i] < 0 ? mafat_fusion_granularity(plan, r->network, i) : 1;
    bool cut = mafat_layer_along(l) & MAFAT_ALONG_ROWS && mafat_divide_up(l->out.h, unit) > 1;
    m->rigid[i] = !cut && !mafat_layer_is_alias(l) && usage[i].needed;
  }
  mafat_plan_close(&plan);
  mafat_heap_free(m->options.heap, usage);
  if (code) return code == MAFAT_EINVAL ? MAFAT_OK : code; /* there is no valid plan at all */
  for (int i = 0; i < r->n_layers; i++)
    for (struct mafat_reads reads = mafat_layer_reads(&r->network->layers[i]);
         mafat_reads_next(&reads);) {
      int tensor = reads.source->tensor;
      if (tensor < r->n_layers &&
          may_be_inside(&r->network->layers[tensor], &r->network->layers[i]))
        m->rigid[tensor] = false;
    }
  return MAFAT_OK;
}

/* The first rigid layer from `begin` on, or `end`. */
static int rigid_from(const struct spec_maker *m, int begin, int end)
{
  while (begin < end && !m->rigid[begin]) begin++;
  return begin;
}

/* Splits the layers before `end` by rows. A split covers a range of layers that is as long as
 * possible, because fused layers must be in the same split. */
static int add_rows(struct spec_maker *m, int end)
{
  int code = m->rigid || end == 0 ? MAFAT_OK : find_rigid(m);
  for (int begin = 0; begin < end && code == MAFAT_OK;) {
    bool added = false;
    int stop = rigid_from(m, begin, end);
    for (; stop > begin && !added; stop -= added ? 0 : 1)
      if ((code = add_run(m, mafat_span(begin, stop), &added))) return code;
    begin = added ? stop : begin + 1;
  }
  return code;
}

/* ---- weights ---- */

/* Range of layers from the i-th layer with weights up to, but not including, the (i + n)-th one. */
static struct mafat_span stretch(const struct spec_maker *m, int i, int n)
{
  const struct mafat_rank_layers *l = &m->sharing->layers;
  int end = i + n < l->n ? l->list[i + n].layer : m->request->n_layers;
  return mafat_span(l->list[i].layer, end);
}

/* Splits the i-th layer with weights along channels, and after it as many of the layers without
 * weights as possible. */
static int add_fan_out(struct spec_maker *m, int i, int most)
{
  struct mafat_span layers = stretch(m, i, 1);
  bool added = false;
  int code = MAFAT_OK;
  for (; layers.end > layers.begin && !added && code == MAFAT_OK; layers.end--)
    code = add_word_of(m, MAFAT_ALONG_C, layers, most, &added);
  return code;
}

/* Adds one split, along channels, of a fan-out and the fan-in that reads it. */
static int add_fused(struct spec_maker *m, int i, bool *added)
{
  const struct mafat_rank_layers *l = &m->sharing->layers;
  return add_word(m, MAFAT_ALONG_C, mafat_span(l->list[i].layer, l->list[i + 1].layer + 1), added);
}

static int add_weights(struct spec_maker *m)
{
  const struct mafat_rank_sharing *s = m->sharing;
  int code = MAFAT_OK;
  for (int i = s->from; i < s->layers.n && code == MAFAT_OK; i++) {
    bool fused = false;
    if (s->schemes[i] == MAFAT_FUSED_OUT) code = add_fused(m, i, &fused);
    if (code) return code;
    if (fused) {
      i++;
      continue;
    }
    if (s->schemes[i] == MAFAT_FUSED_OUT) s->schemes[i] = s->schemes[i + 1] = MAFAT_FAN_OUT;
    if (s->schemes[i] == MAFAT_FAN_IN) s->schemes[i] = MAFAT_FAN_OUT; /* no spec can say FAN_IN */
    code = add_fan_out(m, i, m->request->n_ranks);
  }
  return code;
}

static int share_weights(struct spec_maker *m)
{
  const struct mafat_rank_request *r = m->request;
  struct mafat_rank_sharing *s = m->sharing;
  const struct mafat_rank_layers *l = &s->layers;
  uint64_t exchange;
  s->from =
      r->mix ? mafat_min(r->mix->rows, l->n) : mafat_sharing_switch(l->list, l->n, r->n_ranks);
  if (r->strategy != MAFAT_RANKS_FDTO && s->from < l->n) {
    int code = mafat_sharing_schemes(s->schemes + s->from, &exchange, l->list + s->from,
                                     l->n - s->from, r->n_ranks, l->heap);
    if (code) return code;
  }
  int code = add_rows(m, s->from < l->n ? l->list[s->from].layer : r->n_layers);
  return code ? code : add_weights(m);
}

/* ---- whole layers ---- */

static int share_layers(struct spec_maker *m)
{
  const struct mafat_rank_request *r = m->request;
  const struct mafat_rank_layers *l = &m->sharing->layers;
  struct mafat_ranks *ranks = &m->spec->ranks;
  int bounds[MAFAT_MOST_RANKS + 1];
  uint64_t most;
  struct mafat_sharing_measure measure = {.shares = r->shares, .by_work = r->by_work};
  int code = mafat_sharing_layers(bounds, &most, l->list, l->n, r->n_ranks, &measure, l->heap);
  ranks->words = mafat_heap_calloc(m->spec->heap, (size_t)r->n_ranks, sizeof *ranks->words);
  if (code || !ranks->words) return MAFAT_ENOMEM;
  for (int rank = 1; rank < r->n_ranks; rank++) {
    if (bounds[rank] >= bounds[rank + 1]) continue;
    int end = bounds[rank + 1] < l->n ? l->list[bounds[rank + 1]].layer : r->n_layers;
    ranks->words[ranks->n_words++] =
        (struct mafat_rank_word){{l->list[bounds[rank]].layer, end}, rank};
  }
  return MAFAT_OK;
}

/* ---- rows, and runs of whole layers ---- */

/* Sets each rank's remaining capacity, in values: its capacity minus the weights of the layers by
 * rows, which each rank holds as a whole, and minus those of its parts of large layers. Returns
 * false if they exceed the capacity of a rank. */
static bool leave_room(uint64_t *capacity, const bool *large, const struct spec_maker *m)
{
  const struct mafat_rank_mix *mix = m->request->mix;
  const struct mafat_rank_layers *l = &m->sharing->layers;
  for (int rank = 0; rank < m->request->n_ranks; rank++) {
    uint64_t taken = 0;
    for (int i = 0; i < m->sharing->from; i++) taken += l->list[i].weights;
    for (int i = m->sharing->from; i < l->n && rank < mix->n_parts; i++)
      if (large[i]) taken += l->list[i].weights / (uint64_t)mix->n_parts;
    if (taken > mix->capacity[rank]) return false;
    capacity[rank] = mix->capacity[rank] - taken;
  }
  return true;
}

/* Writes to the spec which layers run on which rank. A run of layers with weights includes the
 * layers without weights after it. Layers that the spec does not name run on rank 0. */
static int name_runs(struct spec_maker *m, const int *rank)
{
  const struct mafat_rank_layers *l = &m->sharing->layers;
  struct mafat_ranks *ranks = &m->spec->ranks;
  ranks->words = mafat_heap_calloc(m->spec->heap, (size_t)l->n + 1, sizeof *ranks->words);
  if (!ranks->words) return MAFAT_ENOMEM;
  for (int i = m->sharing->from, end; i < l->n; i = end) {
    for (end = i + 1; end < l->n && rank[end] == rank[i];) end++;
    struct mafat_span layers =
        mafat_span(l->list[i].layer, end < l->n ? l->list[end].layer : m->request->n_layers);
    if (rank[i] > 0) ranks->words[ranks->n_words++] = (struct mafat_rank_word){layers, rank[i]};
  }
  return MAFAT_OK;
}

static int share_runs(struct spec_maker *m, bool *large, int *rank)
{
  const struct mafat_rank_mix *mix = m->request->mix;
  struct mafat_rank_sharing *s = m->sharing;
  const struct mafat_rank_layers *l = &s->layers;
  uint64_t capacity[MAFAT_MOST_RANKS], crosses;
  s->from = mafat_min(mix->rows, l->n);
  for (int i = s->from; i < l->n; i++)
    large[i] = l->list[i].weights > mix->large && mix->n_parts > 1;
  if (!leave_room(capacity, large, m)) return MAFAT_ELIMIT;
  int code = mafat_sharing_runs(rank + s->from, &crosses, l->list + s->from, large + s->from,
                                l->n - s->from, m->request->n_ranks, capacity, l->heap);
  if (code == MAFAT_OK)
    code = add_rows(m, s->from < l->n ? l->list[s->from].layer : m->request->n_layers);
  for (int i = s->from; i < l->n && code == MAFAT_OK; i++)
    if (large[i]) code = add_fan_out(m, i, mix->n_parts);
  return code ? code : name_runs(m, rank);
}

static int share_mix(struct spec_maker *m)
{
  const struct mafat_rank_layers *l = &m->sharing->layers;
  if (!m->request->mix->runs) return share_weights(m);
  bool *large = mafat_heap_calloc(l->heap, (size_t)l->n + 1, sizeof *large);
  int *rank = mafat_heap_calloc(l->heap, (size_t)l->n + 1, sizeof *rank);
  int code = large && rank ? share_runs(m, large, rank) : MAFAT_ENOMEM;
  mafat_heap_free(l->heap, large);
  mafat_heap_free(l->heap, rank);
  return code;
}

/* ---- all strategies ---- */

static int make(struct spec_maker *m)
{
  const struct mafat_rank_request *r = m->request;
  struct mafat_rank_sharing *s = m->sharing;
  int code = mafat_rank_layers_find(&s->layers, r->network, r->n_layers, true, m->options.heap);
  if (code) return code;
  s->schemes = mafat_heap_calloc(m->options.heap, (size_t)s->layers.n + 1, sizeof *s->schemes);
  m->spec = mafat_spec_new(m->options.heap);
  struct mafat_group_spec *group = m->spec ? mafat_spec_add(m->spec) : NULL;
  if (!s->schemes || !group) return MAFAT_ENOMEM;
  group->cut = (struct mafat_cut){.kind = MAFAT_CUT_SPLIT};
  group->weights = r->weights;
  /* Streamed or loaded weights leave no memory for transformed ones. */
  group->algorithms[MAFAT_DIRECT].given =
      r->weights.placement != MAFAT_KEPT && r->options->algorithm == MAFAT_AUTO;
  m->spec->ranks.n = r->n_ranks;
  if (r->strategy == MAFAT_RANKS_BEST) return share_mix(m);
  return r->strategy == MAFAT_RANKS_LAYERS ? share_layers(m) : share_weights(m);
}

int mafat_rank_spec(struct mafat_spec **out, struct mafat_rank_sharing *sharing,
                    const struct mafat_rank_request *request, struct mafat_diagnostic *d)
{
  struct spec_maker m = {.request = request, .sharing = sharing, .options = *request->options};
  m.options.only_rank = 0;
  *sharing = (struct mafat_rank_sharing){.schemes = NULL};
  *out = NULL;
  int code = make(&m);
  mafat_heap_free(m.options.heap, m.rigid);
  if (code == MAFAT_OK) {
    *out = m.spec;
    return MAFAT_OK;
  }
  mafat_spec_close(&m.spec);
  mafat_rank_sharing_close(sharing);
  return mafat_fail(d, code, "%s: %s", request->network->path,
                    code == MAFAT_ENOMEM ? "out of memory" : "sizes overflow");
}

void mafat_rank_sharing_close(struct mafat_rank_sharing *sharing)
{
  struct mafat_heap *heap = sharing->layers.heap;
  mafat_heap_free(heap, sharing->schemes);
  sharing->schemes = NULL;
  mafat_rank_layers_close(&sharing->layers);
}
