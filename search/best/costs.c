/* Computes the cost tables of the search "best" (costs.h): makes one plan for each cut candidate
 * and algorithm, and walks its schedule. Called by search/best (proposer.c, quick.c, spans.c).
 * Allocates from request->options->heap. */
#include "search/best/costs.h"

#include "predictor/plan/fusion.h"
#include "predictor/layout/layout.h"
#include "predictor/plan/order.h"
#include "predictor/plan/packing.h"
#include "predictor/planning/planning.h"
#include "predictor/plan/winograd.h"
#include "predictor/cost/work.h"

#include <math.h>
#include <string.h>

/* ---- cut candidates ---- */

static void list_cut_candidates(struct mafat_costs *c, const struct mafat_cost_scope *scope)
{
  c->cut_candidates[c->n_cut_candidates++] =
      (struct mafat_cut_candidate){MAFAT_CANDIDATE_WHOLE, 0, false};
  for (int streamed = 0; streamed <= scope->reads; streamed++) {
    c->cut_candidates[c->n_cut_candidates++] =
        (struct mafat_cut_candidate){MAFAT_CANDIDATE_PANELS, 0, streamed};
    for (int i = 0; i < scope->n_rows; i++)
      c->cut_candidates[c->n_cut_candidates++] =
          (struct mafat_cut_candidate){MAFAT_CANDIDATE_ROWS, scope->rows[i], streamed};
  }
}

/* The spec of the whole network as one group, cut as the candidate says. */
static struct mafat_group_spec group_of(const struct mafat_cut_candidate *w)
{
  struct mafat_group_spec g = {.cut = mafat_cut_grid(1, 1)};
  if (w->cut == MAFAT_CANDIDATE_ROWS) g.cut = mafat_cut_rows(w->rows);
  if (w->cut == MAFAT_CANDIDATE_PANELS) g.cut = mafat_cut_panels(false);
  if (w->streamed) g.weights.placement = MAFAT_STREAMED;
  return g;
}

/* ---- walking one plan ---- */

/* Cached cost of a step in a group by rows. The steps of a layer cost the same, except the first
 * step and steps with fewer rows. */
struct memo {
  int rows, first; /* number of rows of the step; 1: it is the first step */
  double ns;
};

struct cost_walk {
  const struct mafat_search_request *request;
  struct mafat_costs *costs;
  struct mafat_plan *plan;
  struct mafat_layout *layout;
  struct mafat_schedule *schedule;
  struct mafat_work_context context;
  struct memo *memos; /* [layer][2]: entry 1 is for the first step, entry 0 for other steps */
};

static double price(struct cost_walk *w, const struct mafat_step *step)
{
  const struct mafat_calibration *c = w->request->calibration;
  struct mafat_work work = {{0}};
  mafat_work_add_step(&w->context, step, &work);
  return mafat_work_ns(&work, c, w->plan->n_threads);
}

/* Cost in ns of all parts of a divided step. *step is the first part and becomes the last one. */
static double price_parts(struct cost_walk *w, struct mafat_step *step)
{
  double ns = price(w, step);
  int layer = step->layer;
  while (mafat_schedule_is_dividing(w->schedule, layer) &&
         mafat_schedule_next_part(w->schedule, step))
    ns += price(w, step);
  return ns;
}

static double price_step(struct cost_walk *w, struct mafat_step *step)
{
  int rows = mafat_span_size(step->out.y), first = step->out.y.begin == 0;
  bool divided = mafat_schedule_is_dividing(w->schedule, step->layer);
  /* The schedule returns each part of a panel producer, because readers run between them. */
  if (mafat_order_is_panel_producer(w->plan, step->layer)) return price(w, step);
  if (w->plan->groups[step->group].cut.kind == MAFAT_CUT_ROWS) {
    struct memo *m = &w->memos[2 * step->layer + first];
    if (m->rows == rows) {
      if (divided) mafat_schedule_skip_parts(w->schedule);
      return m->ns;
    }
    *m = (struct memo){rows, first, divided ? price_parts(w, step) : price(w, step)};
    return m->ns;
  }
  return price(w, step);
}

static struct mafat_layer_cost *cost_at(struct mafat_costs *c, int cut_candidate, int algorithm,
                                        int layer)
{
  return &c->table[((size_t)cut_candidate * mafat_costs_choices(c) + (size_t)algorithm) *
                       (size_t)c->n_layers +
                   (size_t)layer];
}

static void take_sizes(struct cost_walk *w, struct mafat_layer_cost *costs)
{
  const struct mafat_layout *layout = w->layout;
  int n = w->plan->n_layers;
  for (int l = 0; l < n; l++) {
    int scratch = layout->scratch_buffers[l];
    for (int k = 0; k < mafat_layer_n_outputs(&w->costs->network->layers[l]); k++) {
      int map = layout->tensors[mafat_network_output(w->costs->network, l, k)].buffer;
      if (map >= 0) costs[l].held_bytes += (float)layout->buffers[map].bytes;
    }
    if (scratch >= 0)
      costs[l].scratch_bytes = (float)mafat_scratch_bytes(&layout->scratch[l], layout->n_workers);
    costs[l].loaded = w->plan->placement[mafat_plan_reader(w->plan, l)] == MAFAT_LOADED;
  }
  for (int b = 0; b < layout->n_buffers; b++) {
    const struct mafat_buffer *buffer = &layout->buffers[b];
    if (buffer->tag == MAFAT_TAG_WEIGHTS || buffer->tag == MAFAT_TAG_IO ||
        buffer->first > buffer->last)
      continue;
    if (b == layout->frame_buffer && w->plan->frame_stays) continue; /* live during every layer */
    for (int at = buffer->first / 2; at <= buffer->last / 2; at++)
      costs[w->plan->order[at]].live_bytes += (float)buffer->bytes;
  }
}

static int walk_cut_candidate(struct cost_walk *w, int cut_candidate, int algorithm)
{
  struct mafat_costs *c = w->costs;
  struct mafat_layer_cost *costs = cost_at(c, cut_candidate, algorithm, 0);
  struct mafat_step step;
  mafat_work_open(&w->context, c->network, w->plan, w->layout, w->request->calibration);
  memset(w->memos, 0, 2 * (size_t)c->n_layers * sizeof *w->memos);
  if (mafat_schedule_open(&w->schedule, c->network, w->plan)) return MAFAT_ENOMEM;
  mafat_schedule_rewind(w->schedule);
  while (mafat_schedule_next(w->schedule, &step)) {
    if (step.kind == MAFAT_STEP_INPUT) continue;
    costs[step.layer].ns += (float)price_step(w, &step);
    if (step.kind == MAFAT_STEP_COMPUTE && step.channels.begin == 0 && step.filters.begin == 0)
      costs[step.layer].reads++;
    else if (step.kind == MAFAT_STEP_TRANSFORM) costs[step.layer].reads++;
  }
  take_sizes(w, costs);
  mafat_schedule_close(&w->schedule);
  return MAFAT_OK;
}

/* Marks a candidate as impossible for this network, for example one with too few rows for the
 * network's depth. */
static void rule_out(struct mafat_costs *c, int cut_candidate, int algorithm)
{
  for (int l = 0; l < c->n_layers; l++) cost_at(c, cut_candidate, algorithm, l)->ns = INFINITY;
}

static int make_cut_candidate(struct cost_walk *w, int cut_candidate, int algorithm,
                              enum mafat_algorithm wanted, struct mafat_diagnostic *d)
{
  struct mafat_plan_options options = *w->request->options;
  struct mafat_group_spec group = group_of(&w->costs->cut_candidates[cut_candidate]);
  struct mafat_spec spec = {.groups = &group, .n_groups = 1};
  options.algorithm = wanted;
  int code = mafat_plan_make(&w->plan, &spec, w->costs->network, w->costs->n_layers, &options, d);
  if (code == MAFAT_OK) code = mafat_layout_outline(&w->layout, w->costs->network, w->plan, d);
  if (code == MAFAT_OK) code = walk_cut_candidate(w, cut_candidate, algorithm);
  mafat_layout_close(&w->layout);
  mafat_plan_close(&w->plan);
  if (code != MAFAT_EINVAL) return code;
  rule_out(w->costs, cut_candidate, algorithm);
  return MAFAT_OK;
}

/* ---- properties that do not depend on the candidate ---- */

static void describe_layers(struct mafat_costs *c, const struct mafat_plan_options *options,
                            const struct mafat_plan *plan, const struct mafat_layout *layout,
                            const struct mafat_usage *usage)
{
  const struct mafat_network *n = c->network;
  for (int l = 0; l < c->n_layers; l++) {
    c->runs[l] = usage[l].needed && !mafat_layer_is_alias(&n->layers[l]) && plan->outer[l] < 0;
    c->reader[l] = mafat_plan_reader(plan, l);
    c->has_choice[l] = c->choice && c->runs[l] && mafat_winograd_applies(&n->layers[c->reader[l]]);
    c->indivisible[l] =
        !mafat_layer_is_tileable(&n->layers[l]) && !mafat_layer_is_alias(&n->layers[l]);
    c->must_keep[l] = mafat_plan_must_keep(options, &n->layers[l]);
    for (int i = l; c->runs[l] && i >= 0; i = mafat_fusion_inside(plan, i))
      c->weights_bytes[l] += (float)mafat_packed_layer_bytes(&n->layers[i]);
  }
  for (int t = 0; t < mafat_network_n_tensors(n); t++) {
    int buffer = layout->tensors[t].buffer;
    c->map_bytes[t] = buffer < 0 ? 0 : (float)layout->buffers[buffer].bytes;
    c->last_use[t] = usage[t].last_use;
  }
}

/* ---- cuts ---- */

/* Bytes of maps that are made before a cut and read after it. */
static double crossing_bytes(const struct mafat_costs *c, int cut)
{
  double sum = 0;
  for (int t = 0; t < mafat_network_n_tensors(c->network); t++) {
    bool before =
        mafat_network_operator(c->network, t) < cut || mafat_network_is_input(c->network, t);
    if (before && c->last_use[t] >= cut) sum += c->map_bytes[t];
  }
  return sum;
}

static void drop_cut(struct mafat_costs *c, double *crossing, int i)
{
  memmove(c->cuts + i, c->cuts + i + 1, (size_t)(c->n_blocks - i) * sizeof *c->cuts);
  memmove(crossing + i, crossing + i + 1, (size_t)(c->n_blocks - i) * sizeof *crossing);
  c->n_blocks--;
}

/* Removes cuts until max_blocks blocks are left. First removes each cut that is crossed by more
 * bytes than both of its neighbors. Then repeatedly removes the cut whose two neighboring blocks
 * have the fewest layers together; among several such cuts, the one that the most bytes cross. */
static void thin_cuts(struct mafat_costs *c, double *crossing, int max_blocks)
{
  double before = crossing[0];
  for (int i = 1; i + 1 < c->n_blocks && c->n_blocks > max_blocks;) {
    bool is_top = crossing[i] > before && crossing[i] > crossing[i + 1];
    before = crossing[i];
    if (is_top) drop_cut(c, crossing, i);
    else i++;
  }
  while (c->n_blocks > max_blocks) {
    int worst = 1;
    for (int i = 2; i < c->n_blocks; i++) {
      int layers = c->cuts[i + 1] - c->cuts[i - 1],
          least = c->cuts[worst + 1] - c->cuts[worst - 1];
      if (layers < least || (layers == least && crossing[i] > crossing[worst])) worst = i;
    }
    drop_cut(c, crossing, worst);
  }
}

/* Lists the possible cuts, each before a layer. If layer p is fused into a later layer q, there is
 * no cut before the layers between p and q; a cut before q itself is possible. Nor is there a cut
 * between an alias and a layer without steps that follows it. */
static int find_cuts(struct mafat_costs *c, const struct mafat_plan *plan, int max_blocks)
{
  double *crossing = mafat_heap_calloc(c->heap, (size_t)c->n_layers + 1, sizeof *crossing);
  int inside = 0; /* highest layer into which one of the layers before l is fused */
  if (!crossing) return MAFAT_ENOMEM;
  c->n_blocks = 0;
  for (int l = 0; l < c->n_layers; l++) {
    bool clean =
        l >= inside && (l == 0 || !mafat_layer_is_alias(&c->network->layers[l - 1]) || c->runs[l]);
    if (plan->outer[l] >= inside) inside = plan->outer[l];
    if (!clean) continue;
    crossing[c->n_blocks] = crossing_bytes(c, l);
    c->cuts[c->n_blocks++] = l;
  }
  c->cuts[c->n_blocks] = c->n_layers;
  thin_cuts(c, crossing, max_blocks);
  mafat_heap_free(c->heap, crossing);
  return MAFAT_OK;
}

/* ---- all tables ---- */

static bool allocate(struct mafat_costs *c)
{
  size_t n = (size_t)c->n_layers, n_tensors = (size_t)mafat_network_n_tensors(c->network);
  c->table = mafat_heap_calloc(c->heap, (size_t)c->n_cut_candidates * mafat_costs_choices(c) * n,
                               sizeof *c->table);
  c->runs = mafat_heap_calloc(c->heap, n, sizeof *c->runs);
  c->has_choice = mafat_heap_calloc(c->heap, n, sizeof *c->has_choice);
  c->reader = mafat_heap_calloc(c->heap, n, sizeof *c->reader);
  c->weights_bytes = mafat_heap_calloc(c->heap, n, sizeof *c->weights_bytes);
  c->must_keep = mafat_heap_calloc(c->heap, n, sizeof *c->must_keep);
  c->map_bytes = mafat_heap_calloc(c->heap, n_tensors, sizeof *c->map_bytes);
  c->last_use = mafat_heap_calloc(c->heap, n_tensors, sizeof *c->last_use);
  c->indivisible = mafat_heap_calloc(c->heap, n, sizeof *c->indivisible);
  c->cuts = mafat_heap_calloc(c->heap, n + 1, sizeof *c->cuts);
  return c->table && c->runs && c->has_choice && c->reader && c->weights_bytes && c->must_keep &&
         c->map_bytes && c->last_use && c->indivisible && c->cuts;
}

/* Fills the tables that do not depend on the candidate, from the plan with whole maps. */
static int describe(struct mafat_costs *c, const struct mafat_search_request *r, int max_blocks,
                    struct mafat_diagnostic *d)
{
  struct mafat_plan *plan = NULL;
  struct mafat_layout *layout = NULL;
  struct mafat_usage *usage =
      mafat_heap_calloc(c->heap, (size_t)mafat_network_n_tensors(c->network), sizeof *usage);
  int code =
      usage ? mafat_plan_untiled(&plan, c->network, c->n_layers, r->options, d) : MAFAT_ENOMEM;
  if (code == MAFAT_OK) code = mafat_layout_outline(&layout, c->network, plan, d);
  if (code == MAFAT_OK) {
    mafat_usage_find(c->network, plan, usage);
    describe_layers(c, r->options, plan, layout, usage);
    code = find_cuts(c, plan, max_blocks);
  }
  mafat_heap_free(c->heap, usage);
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  return code;
}

/* True if the search chooses algorithms, and some layer can use more than one. */
static bool has_any_choice(const struct mafat_search_request *r)
{
  if (r->options->algorithm != MAFAT_AUTO || r->options->algorithms) return false;
  for (int l = 0; l < r->n_layers; l++)
    if (mafat_winograd_applies(&r->network->layers[l])) return true;
  return false;
}

int mafat_costs_make(struct mafat_costs **out, const struct mafat_search_request *r,
                     const struct mafat_cost_scope *scope, struct mafat_diagnostic *d)
{
  *out = NULL;
  struct mafat_costs *c = mafat_heap_calloc(r->options->heap, 1, sizeof *c);
  if (!c) return MAFAT_ENOMEM;
  c->heap = r->options->heap;
  c->network = r->network;
  c->n_layers = r->n_layers;
  c->choice = has_any_choice(r);
  list_cut_candidates(c, scope);
  struct cost_walk w = {.request = r, .costs = c};
  w.memos = mafat_heap_calloc(c->heap, 2 * (size_t)c->n_layers, sizeof *w.memos);
  int code = w.memos && allocate(c) ? describe(c, r, scope->max_blocks, d) : MAFAT_ENOMEM;
  for (int cut_candidate = 0; cut_candidate < c->n_cut_candidates && code == MAFAT_OK;
       cut_candidate++) {
    code = make_cut_candidate(&w, cut_candidate, 0,
                              c->choice ? MAFAT_DIRECT : r->options->algorithm, d);
    for (int a = 1; a < MAFAT_N_CHOICES && c->choice && code == MAFAT_OK; a++)
      code = make_cut_candidate(&w, cut_candidate, a, (enum mafat_algorithm)(MAFAT_DIRECT + a), d);
  }
  mafat_heap_free(r->options->heap, w.memos);
  if (code == MAFAT_OK) *out = c;
  else mafat_costs_close(&c);
  return code;
}

void mafat_costs_close(struct mafat_costs **costs)
{
  if (!costs || !*costs) return;
  struct mafat_costs *c = *costs;
  struct mafat_heap *heap = c->heap;
  mafat_heap_free(heap, c->table);
  mafat_heap_free(heap, c->runs);
  mafat_heap_free(heap, c->has_choice);
  mafat_heap_free(heap, c->reader);
  mafat_heap_free(heap, c->weights_bytes);
  mafat_heap_free(heap, c->must_keep);
  mafat_heap_free(heap, c->map_bytes);
  mafat_heap_free(heap, c->last_use);
  mafat_heap_free(heap, c->indivisible);
  mafat_heap_free(heap, c->cuts);
  mafat_heap_free(heap, c);
  *costs = NULL;
}

enum mafat_algorithm mafat_cost_fastest(const struct mafat_costs *c, int cut_candidate,
                                        enum mafat_algorithm most, int layer)
{
  enum mafat_algorithm fastest = MAFAT_DIRECT;
  for (int a = MAFAT_DIRECT + 1; c->has_choice[layer] && a <= (int)most; a++)
    if (mafat_cost_of(c, cut_candidate, (enum mafat_algorithm)a, layer)->ns <
        mafat_cost_of(c, cut_candidate, fastest, layer)->ns)
      fastest = (enum mafat_algorithm)a;
  return fastest;
}
