/* Applies a spec to a network: checks the spec, and fills the fields of a plan in the order in
 * which they depend on each other (groups, fusion, order, parts, weight placement, ranks, in-place
 * outputs). Called by planning.c and balance.c. Allocates the plan from the options' heap; the
 * caller closes it. */
#include "predictor/planning/lay.h"

#include "predictor/plan/algorithms.h"
#include "predictor/plan/fusion.h"
#include "predictor/planning/group_order.h"
#include "predictor/plan/order.h"
#include "predictor/plan/packing.h"
#include "predictor/plan/parts.h"
#include "predictor/schedule/rows_parts.h"
#include "predictor/planning/in_place.h"
#include "predictor/planning/in_place_rings.h"
#include "predictor/ranks/rank_parts.h"
#include "predictor/plan/weight_placement.h"
#include "predictor/schedule/schedule.h"

enum {
  /* greatest result of row_visits that is permitted; yolov3 has 50,000 */
  MAX_ROW_VISITS = 1 << 23,
  /* greatest number of tiles times layers of a group; 608 x 608 tiles of 16 layers are 6 million */
  MAX_TILE_STEPS = 1 << 24
};

/* State of applying ("laying") a spec to a network. */
struct laying {
  const struct mafat_spec *spec;
  const struct mafat_network *network;
  struct mafat_plan *plan;
  int n_laid;                 /* number of plan->members filled so far */
  struct mafat_diagnostic *d; /* reasons of failures; mafat_lay puts the plan's text before them */
};

/* Layers that become a group, ascending: a range of plan->members. */
struct layer_run {
  const int *layers;
  int n;
};

static int last_of(struct layer_run r)
{
  return r.layers[r.n - 1];
}

/* ---- groups ---- */

static struct mafat_group *append_group(struct mafat_plan *plan, struct layer_run layers)
{
  struct mafat_group *grown = mafat_heap_realloc(
      plan->heap, plan->groups, (size_t)(plan->n_groups + 1) * sizeof *plan->groups);
  if (!grown) return NULL;
  plan->groups = grown;
  struct mafat_group *g = &grown[plan->n_groups];
  int at = plan->n_groups ? g[-1].at.end : 0;
  *g = (struct mafat_group){.at = mafat_span(at, at + layers.n)};
  for (int i = 0; i < layers.n; i++) plan->group_of[layers.layers[i]] = plan->n_groups;
  plan->n_groups++;
  return g;
}

/* Returns n + 1 boundaries: 0, the n - 1 inner ones (even ones if inner is NULL), and extent. */
static int *make_bounds(struct mafat_heap *heap, const int *inner, int n, int extent)
{
  int *bounds = mafat_heap_calloc(heap, (size_t)n + 1, sizeof *bounds);
  if (!bounds) return NULL;
  for (int i = 0; i < n; i++)
    bounds[i] = inner ? (i ? inner[i - 1] : 0) : mafat_span_share(extent, n, i).begin;
  bounds[n] = extent;
  return bounds;
}

/* Sets the group's grid. If the spec gives boundaries of one axis, the even boundaries of the other
 * axis count as given too. */
static bool make_grid(struct mafat_heap *heap, struct mafat_group *g, const struct mafat_grid *grid,
                      struct mafat_shape out)
{
  bool uneven = grid->rows || grid->cols;
  g->row_bounds = make_bounds(heap, grid->rows, grid->n_rows, out.h);
  g->col_bounds = make_bounds(heap, grid->cols, grid->n_cols, out.w);
  g->cut = mafat_cut_grid(grid->n_rows, grid->n_cols);
  if (!g->row_bounds || !g->col_bounds) return false;
  g->cut.as.grid.balanced = grid->balanced && mafat_cut_is_tiled(&g->cut);
  g->cut.as.grid.rows = uneven ? g->row_bounds + 1 : NULL;
  g->cut.as.grid.cols = uneven ? g->col_bounds + 1 : NULL;
  return true;
}

/* Fills in the default size of the ring if the spec has none. */
static struct mafat_group_weights usual_weights(struct mafat_group_weights w)
{
  if (w.placement == MAFAT_STREAMED && !w.loaded_kb && !w.ring) w.ring = MAFAT_USUAL_RING;
  return w;
}

static struct mafat_cut usual_cut(struct mafat_cut cut)
{
  if (cut.kind == MAFAT_CUT_ROWS && !cut.as.rows.least) cut.as.rows.least = MAFAT_USUAL_ROWS;
  return cut;
}

/* ---- limits of the work that a plan causes ---- */

/* Greatest number of steps by rows in which a tensor is computed. */
static long long row_steps(const struct mafat_network *n, int least, int tensor)
{
  return mafat_network_tensor_shape(n, tensor).h / least + 1;
}

/* Estimated number of checks that a schedule by rows makes: it checks the operands of each step and
 * the readers of its outputs. */
static long long row_visits(const struct mafat_network *n, int least, struct layer_run layers)
{
  long long visits = 0;
  for (int i = 0; i < layers.n; i++) {
    int l = layers.layers[i];
    visits += row_steps(n, least, l);
    for (struct mafat_reads r = mafat_layer_reads(&n->layers[l]); mafat_reads_next(&r);)
      visits +=
          row_steps(n, least, l) + row_steps(n, least, mafat_network_operator(n, r.source->tensor));
  }
  return visits;
}

static int check_rows(struct laying *l, int least, struct layer_run layers)
{
  if (row_visits(l->network, least, layers) <= MAX_ROW_VISITS) return MAFAT_OK;
  return mafat_fail(
      l->d, MAFAT_EINVAL,
      "the rows%d group over layers %d..%d has more steps of rows than a run can walk through",
      least, layers.layers[0], last_of(layers));
}

static int check_grid(struct laying *l, const struct mafat_grid *grid, struct layer_run layers)
{
  struct mafat_shape out = l->network->layers[last_of(layers)].out;
  const char *why = NULL;
  if (grid->n_rows > out.h || grid->n_cols > out.w)
    why = "has more tiles than the output map has pixels";
  if (grid->rows && grid->n_rows > 1 && grid->rows[grid->n_rows - 2] >= out.h)
    why = "has a row boundary outside the output map";
  if (grid->cols && grid->n_cols > 1 && grid->cols[grid->n_cols - 2] >= out.w)
    why = "has a column boundary outside the output map";
  if (!why && (long long)grid->n_rows * grid->n_cols * layers.n > MAX_TILE_STEPS)
    why = "has more tiles than a run can walk through";
  if (!why) return MAFAT_OK;
  return mafat_fail(l->d, MAFAT_EINVAL,
                    "the %dx%d group over layers %d..%d %s (%d x %d, height x width)", grid->n_rows,
                    grid->n_cols, layers.layers[0], last_of(layers), why, out.h, out.w);
}

/* ---- groups of the plan from a group of the spec ---- */

/* Adds one group to the plan. */
static int lay_group(struct laying *l, const struct mafat_cut *cut,
                     struct mafat_group_weights weights, struct layer_run layers)
{
  int code = MAFAT_OK;
  if (cut->kind == MAFAT_CUT_GRID) code = check_grid(l, &cut->as.grid, layers);
  if (cut->kind == MAFAT_CUT_ROWS) code = check_rows(l, cut->as.rows.least, layers);
  if (code) return code;
  struct mafat_group *g = append_group(l->plan, layers);
  bool enough = g != NULL;
  if (enough) {
    g->cut = *cut;
    g->weights = weights;
    struct mafat_shape out = l->network->layers[last_of(layers)].out;
    if (cut->kind == MAFAT_CUT_GRID) enough = make_grid(l->plan->heap, g, &cut->as.grid, out);
    if (cut->kind == MAFAT_CUT_SPLIT)
      enough = mafat_splits_copy(l->plan->heap, &g->cut.as.split, &cut->as.split);
  }
  return enough ? MAFAT_OK : mafat_fail(l->d, MAFAT_ENOMEM, "out of memory");
}

/* Division of the layers of a group that cannot be tiled or run by rows: whole maps, layer by
 * layer. In a group by rows that streams its weights: by panels. */
static struct mafat_cut whole_cut(const struct mafat_group_spec *g)
{
  if (g->cut.kind == MAFAT_CUT_ROWS && g->weights.placement == MAFAT_STREAMED)
    return mafat_cut_panels(false);
  return mafat_cut_grid(1, 1);
}

/* Limits a grid to as many tile rows and columns as the output map has rows and columns. A group of
 * the spec may become several groups of the plan; this is called for all of them but the first. */
static struct mafat_cut fit_grid(struct mafat_cut cut, struct mafat_shape out)
{
  if (cut.kind != MAFAT_CUT_GRID) return cut;
  cut.as.grid.n_rows = mafat_min(cut.as.grid.n_rows, out.h);
  cut.as.grid.n_cols = mafat_min(cut.as.grid.n_cols, out.w);
  return cut;
}

static bool is_given(const struct mafat_cut *cut)
{
  return cut->kind == MAFAT_CUT_GRID && (cut->as.grid.rows || cut->as.grid.cols);
}

/* Adds the groups of the plan that come from one group of the spec: several, if some of its layers
 * cannot be tiled. */
static int lay_run(struct laying *l, const struct mafat_group_spec *g, struct layer_run all)
{
  const struct mafat_layer *layers = l->network->layers;
  struct mafat_group_weights weights = usual_weights(g->weights);
  struct mafat_cut cut = usual_cut(g->cut), whole = whole_cut(g);
  if (cut.kind == MAFAT_CUT_PANELS || cut.kind == MAFAT_CUT_SPLIT)
    return lay_group(l, &cut, weights, all);
  if (cut.kind == MAFAT_CUT_GRID && !mafat_cut_is_tiled(&cut))
    return lay_group(l, &whole, weights, all);
  for (int begin = 0, stop; begin < all.n; begin = stop) {
    bool tileable = mafat_layer_is_tileable(&layers[all.layers[begin]]);
    for (stop = begin + 1;
         stop < all.n && mafat_layer_is_tileable(&layers[all.layers[stop]]) == tileable;)
      stop++;
    if (is_given(&cut) && (begin > 0 || stop < all.n)) {
      int layer = all.layers[tileable ? stop : begin];
      return mafat_fail(
          l->d, MAFAT_EINVAL,
          "given boundaries over layers %d..%d, but layer %d [%s] cannot be tiled: cut there",
          all.layers[0], last_of(all), layer, mafat_layer_type_name(layers[layer].type));
    }
    struct mafat_cut run = begin > 0 ? fit_grid(cut, layers[all.layers[stop - 1]].out) : cut;
    int code = lay_group(l, tileable ? &run : &whole, weights,
                         (struct layer_run){all.layers + begin, stop - begin});
    if (code) return code;
  }
  return MAFAT_OK;
}

/* ---- sets of layers ---- */

/* Values of group_of while groups are made; COMING: the layer is in the next group. */
enum { IN_NO_GROUP = -1, COMING = -2 };

/* Marks the layers of a group as COMING: those below its end, and those that the spec lists. */
static int mark(struct laying *l, const struct mafat_group_spec *g, int end)
{
  int *group_of = l->plan->group_of;
  for (int i = 0; i < end; i++)
    if (group_of[i] == IN_NO_GROUP) group_of[i] = COMING;
  for (int i = 0; i < g->n_more; i++)
    for (int k = g->more[i].begin; k < g->more[i].end; k++) {
      if (k >= l->plan->n_layers || group_of[k] != IN_NO_GROUP)
        return mafat_fail(
            l->d, MAFAT_EINVAL,
            "expected layers below %d that are in no group yet after the cut at %d, found %d",
            l->plan->n_layers, g->end, k);
      group_of[k] = COMING;
    }
  return MAFAT_OK;
}

/* Appends the layers that are COMING to plan->members. */
static struct layer_run collect(struct laying *l)
{
  struct layer_run r = {l->plan->members + l->n_laid, 0};
  for (int i = 0; i < l->plan->n_layers; i++)
    if (l->plan->group_of[i] == COMING) l->plan->members[l->n_laid + r.n++] = i;
  l->n_laid += r.n;
  return r;
}

/* Finds the layers of one group of the spec, applies its algorithms and depthwise words to them,
 * and adds their groups to the plan. */
static int lay_written(struct laying *l, const struct mafat_group_spec *g, bool last)
{
  int all = l->plan->n_layers, first = 0, code = MAFAT_OK;
  while (first < all && l->plan->group_of[first] != IN_NO_GROUP) first++;
  if (!last && ((g->end <= first && !g->n_more) || g->end >= all))
    return mafat_fail(l->d, MAFAT_EINVAL, "expected a cut between %d and %d, found %d", first + 1,
                      all - 1, g->end);
  if ((code = mark(l, g, last ? all : g->end))) return code;
  struct layer_run layers = collect(l);
  if (layers.n == 0) return mafat_fail(l->d, MAFAT_EINVAL, "no layer is left for the last group");
  for (int a = MAFAT_DIRECT; a < MAFAT_N_ALGORITHMS && code == MAFAT_OK; a++)
    code = mafat_algorithms_apply(l->plan, l->network, layers.layers, layers.n,
                                  (enum mafat_algorithm)a, &g->algorithms[a], l->d);
  if (code == MAFAT_OK)
    code = mafat_fusion_apply(l->plan, l->network, layers.layers, layers.n, g, l->d);
  return code ? code : lay_run(l, g, layers);
}

/* Checks that no group reads a tensor that a later group makes. Needed only if a group lists
 * further layers: groups of consecutive layers never do so. */
static int check_sets(struct laying *l)
{
  const struct mafat_plan *plan = l->plan;
  for (int i = 0; i < plan->n_layers; i++) {
    const struct mafat_layer *layer = &l->network->layers[i];
    if (mafat_layer_is_alias(layer)) continue;
    for (struct mafat_reads r = mafat_layer_reads(layer); mafat_reads_next(&r);) {
      int maker = mafat_network_operator(l->network, r.source->tensor);
      if (maker < plan->n_layers && plan->group_of[maker] > plan->group_of[i])
        return mafat_fail(l->d, MAFAT_EINVAL,
                          "layer %d [%s] reads layer %d [%s], which is in a later group", i,
                          mafat_layer_type_name(layer->type), maker,
                          mafat_layer_type_name(l->network->layers[maker].type));
    }
  }
  return MAFAT_OK;
}

static int lay_groups(struct laying *l)
{
  bool sets = false;
  int code = MAFAT_OK;
  for (int i = 0; i < l->plan->n_layers; i++) l->plan->group_of[i] = IN_NO_GROUP;
  for (int i = 0; i < l->spec->n_groups && code == MAFAT_OK; i++) {
    code = lay_written(l, &l->spec->groups[i], i + 1 == l->spec->n_groups);
    sets = sets || l->spec->groups[i].n_more > 0;
  }
  return code || !sets ? code : check_sets(l);
}

/* Assigns groups to tensors that are not a layer's first output: inputs, and further outputs, which
 * belong to their layers' groups. */
static void place_tensors(struct laying *l)
{
  const struct mafat_network *n = l->network;
  for (int t = mafat_network_n_operators(n); t < mafat_network_n_tensors(n); t++) {
    int maker = mafat_network_operator(n, t);
    l->plan->group_of[t] = maker < l->plan->n_layers ? l->plan->group_of[maker] : -1;
  }
  for (int i = l->network->n_layers; i < mafat_network_n_operators(l->network); i++)
    l->plan->group_of[i] = mafat_group_lifetime(&l->plan->groups[0]) == MAFAT_LIFE_GROUP ? 0 : -1;
}

/* Refuses an order if all groups are by rows: these run their layers on demand. */
static int check_order(struct laying *l)
{
  if (l->spec->op_order == MAFAT_OP_ORDER_FILE) return MAFAT_OK;
  for (int g = 0; g < l->plan->n_groups; g++)
    if (l->plan->groups[g].cut.kind != MAFAT_CUT_ROWS) return MAFAT_OK;
  return mafat_fail(l->d, MAFAT_EINVAL,
                    "order=%s has no effect: layers of groups by rows run on demand",
                    mafat_op_order_name(l->spec->op_order));
}

/* Checks the options' rank and the layers after "/ranks=". In a plan with ranks, all groups must be
 * split. */
static int check_ranks(struct laying *l, const struct mafat_plan_options *options)
{
  if (options->only_rank > mafat_max(l->spec->ranks.n, 0))
    return mafat_fail(l->d, MAFAT_EINVAL, "expected a plan for at least %d ranks",
                      options->only_rank);
  for (int i = 0; i < l->spec->ranks.n_words; i++)
    if (l->spec->ranks.words[i].layers.end > l->plan->n_layers)
      return mafat_fail(l->d, MAFAT_EINVAL, "expected layers below %d on rank %d, found %d",
                        l->plan->n_layers, l->spec->ranks.words[i].rank,
                        l->spec->ranks.words[i].layers.end - 1);
  for (int g = 0; g < l->plan->n_groups && l->spec->ranks.n; g++)
    if (l->plan->groups[g].cut.kind != MAFAT_CUT_SPLIT)
      return mafat_fail(l->d, MAFAT_EINVAL, "expected only split(...) groups in a plan with ranks");
  return MAFAT_OK;
}

/* Fills the rest of the plan from its groups, the options and the shapes. */
static int complete(struct laying *l, const struct mafat_plan_options *options)
{
  place_tensors(l);
  int code = mafat_fusion_find(l->plan, l->network, !options->keep_all);
  if (code == MAFAT_OK)
    code = mafat_order_find_panel_fusions(l->plan, l->network, !options->keep_all);
  if (code == MAFAT_OK) code = mafat_order_find(l->plan, l->network);
  struct mafat_recorded_parts recorded = {NULL, 0, 0};
  if (code == MAFAT_OK) code = mafat_rows_parts_walk(&recorded, l->plan, l->network);
  int refused = code ? MAFAT_OK : mafat_parts_find(l->plan, l->network, &recorded, l->d);
  mafat_heap_free(l->plan->heap, recorded.list);
  if (refused) return refused;
  if (code == MAFAT_OK) code = mafat_weight_placement_find(l->plan, l->network, options);
  bool place = l->plan->in_place && !options->keep_all;
  if (code == MAFAT_OK && l->plan->op_order != MAFAT_OP_ORDER_FILE)
    code = mafat_group_order_sort(l->plan, l->network, place, options->orders);
  if (code == MAFAT_OK) code = mafat_parts_order(l->plan, l->network);
  if (code == MAFAT_OK) code = mafat_parts_place_inputs(l->plan, l->network);
  if (code == MAFAT_OK && options->only_rank &&
      (code = mafat_rank_parts_take(l->plan, l->network, options, l->d)))
    return code;
  if (code == MAFAT_OK) mafat_parts_number(l->plan);
  if (code == MAFAT_OK) code = mafat_in_place_find(l->plan, l->network, place);
  if (code == MAFAT_OK) code = mafat_in_place_rings_find(l->plan, l->network, place);
  return code ? mafat_fail(l->d, code, "out of memory") : MAFAT_OK;
}

/* Sets the fields that come from the options and the spec; allocates group_of and members. */
static int begin(struct laying *l, const struct mafat_ground *ground)
{
  const struct mafat_plan_options *options = ground->options;
  size_t n = (size_t)mafat_network_n_tensors(l->network);
  *l->plan = (struct mafat_plan){.heap = options->heap,
                                 .n_layers = ground->n_layers,
                                 .n_threads = options->n_threads,
                                 .most_boxes = options->most_boxes,
                                 .packed = options->packed,
                                 .frame_bytes = options->frame_bytes,
                                 .frame_stays = options->frame_stays,
                                 .wanted = options->algorithm,
                                 .op_order = l->spec->op_order,
                                 .in_place = l->spec->in_place,
                                 .rank = options->only_rank - 1};
  l->plan->group_of = mafat_heap_calloc(l->plan->heap, n, sizeof *l->plan->group_of);
  l->plan->members =
      mafat_heap_calloc(l->plan->heap, (size_t)ground->n_layers, sizeof *l->plan->members);
  bool enough = mafat_ranks_copy(l->plan->heap, &l->plan->ranks, &l->spec->ranks) &&
                l->plan->group_of && l->plan->members &&
                mafat_algorithms_default(l->plan, l->network, options->algorithms) == MAFAT_OK;
  return enough ? MAFAT_OK : mafat_fail(l->d, MAFAT_ENOMEM, "out of memory");
}

/* Reports the error with the plan's text before it. */
static int refuse(const struct mafat_spec *spec, int code, const char *why,
                  struct mafat_diagnostic *d)
{
  char written[64];
  if (!spec->text) mafat_spec_write(spec, written, sizeof written);
  return mafat_fail(d, code, "plan %.60s: %s", spec->text ? spec->text : written, why);
}

int mafat_lay(struct mafat_plan **out, const struct mafat_spec *spec,
              const struct mafat_ground *ground, struct mafat_diagnostic *d)
{
  struct mafat_diagnostic why = {""};
  struct laying l = {spec, ground->network,
                     mafat_heap_calloc(ground->options->heap, 1, sizeof *l.plan), 0, &why};
  *out = NULL;
  if (!l.plan) return mafat_fail(d, MAFAT_ENOMEM, "plan: out of memory");
  int code = begin(&l, ground);
  if (code == MAFAT_OK) code = lay_groups(&l);
  if (code == MAFAT_OK) code = check_order(&l);
  if (code == MAFAT_OK) code = check_ranks(&l, ground->options);
  if (code == MAFAT_OK) code = complete(&l, ground->options);
  if (code == MAFAT_OK) *out = l.plan;
  else mafat_plan_close(&l.plan);
  return code ? refuse(spec, code, why.text, d) : MAFAT_OK;
}
