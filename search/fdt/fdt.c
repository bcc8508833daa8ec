/* The search "fdt": implements the callbacks of the automatic flow (flow.h), which make plans from
 * paths and predict their bytes. Called by search/smallest/smallest.c, and by api/ through
 * search/searches.c. Allocates from a heap of its own, which it frees; the caller closes the
 * front. */
#include "search/fdt/fdt.h"

#include "search/common/effort.h"
#include "search/fdt/flow.h"
#include "search/fdt/placing.h"

#include <string.h>

enum { TILING, LAYOUT, N_WORDS };
enum { PUBLISHED, OURS }; /* layouts, in the order of their words */
static const enum mafat_fused_tiling tilings[] = {MAFAT_FUSED_FDT, MAFAT_FUSED_FFMT,
                                                  MAFAT_FUSED_BOTH};

#define WORD MAFAT_SEARCH_WORD
static const struct mafat_search_word words[N_WORDS] = {
    WORD(TILING, "tiling", CHOICE, "fdt|ffmt|both", "both", 0, 0,
         "split layers along channels (fdt), along rows and columns\n"
         "(ffmt), or along either\n"),
    WORD(LAYOUT, "layout", CHOICE, "published|ours", "ours", 0, 0,
         "compare plans by the bytes of their arenas (ours), or by those\n"
         "of the publication's offset assignment, hill climbing\n")};
#undef WORD

enum {
  MOST_EVALUATIONS = 1000000, /* effort: sum of the layers and parts of all plans that are tried */
  MOST_SORTING = 1000000000 /* longest time to find the best order of a group, in nanoseconds */
};

/* A predicted plan. */
struct made_plan {
  struct mafat_candidate candidate;
  size_t bytes; /* bytes by which plans are compared (word "layout"); SIZE_MAX: no plan */
  bool apart;   /* see struct flow */
};

/* State of the flow. */
struct flow {
  const struct mafat_search_request *request;
  struct mafat_heap *heap;
  struct mafat_front *front; /* holds the current plan; empty at the beginning */
  /* in plans that are made next, each layer outside of paths gets a group of its own, so that no
   * layer is fused into another; false: such layers share groups */
  bool apart;
  bool stands_apart; /* value of `apart` with which the current plan was made */
  bool climbing;    /* compare plans by the published offset assignment */
  struct made_plan made, kept; /* the plan measured last; the best plan since the current one */
  long long evaluations;  /* remaining effort */
  struct mafat_diagnostic *d;
};

/* ---- plans of paths ---- */

static struct mafat_group_spec *add_group(const struct flow *f, struct mafat_spec *spec, int end)
{
  struct mafat_group_spec *g = mafat_spec_add(spec);
  if (!g) return NULL;
  g->end = end == f->request->n_layers ? 0 : end;
  /* the algorithm that needs the fewest bytes */
  g->algorithms[MAFAT_DIRECT].given = f->request->options->algorithm == MAFAT_AUTO;
  return g;
}

/* Adds the layers up to `end` as one group. The layers of each path are split along channels, or
 * along rows if the path begins at an input of the network. */
static int add_splits(const struct flow *f, struct mafat_spec *spec, const struct mafat_path *paths,
                      int n, int end)
{
  struct mafat_group_spec *g = add_group(f, spec, end);
  if (!g) return MAFAT_ENOMEM;
  if (n == 0) return MAFAT_OK;
  struct mafat_split *list = mafat_heap_calloc(f->heap, (size_t)n, sizeof *list);
  if (!list) return MAFAT_ENOMEM;
  for (int i = 0; i < n; i++)
    list[i] = (struct mafat_split){.axis = paths[i].of_input ? MAFAT_ALONG_H : MAFAT_ALONG_C,
                                   .n = paths[i].n,
                                   .layers = mafat_path_layers(&paths[i])};
  memset(&g->cut, 0, sizeof g->cut);
  g->cut.kind = MAFAT_CUT_SPLIT;
  g->cut.as.split = (struct mafat_splits){list, n};
  return MAFAT_OK;
}

/* Adds each layer of [begin, end) as a group of its own. An alias joins the group of the layer
 * before it. */
static int add_apart(const struct flow *f, struct mafat_spec *spec, int begin, int end)
{
  const struct mafat_layer *layers = f->request->network->layers;
  bool any = false;
  for (int l = begin; l < end; l++) {
    any = any || !mafat_layer_is_alias(&layers[l]);
    if (l + 1 < end && (!any || mafat_layer_is_alias(&layers[l + 1]))) continue;
    if (!add_group(f, spec, l + 1)) return MAFAT_ENOMEM;
    any = false;
  }
  return MAFAT_OK;
}

/* Adds each path, and each layer outside of them, as a group of its own. */
static int add_all_apart(const struct flow *f, struct mafat_spec *spec,
                         const struct mafat_path *paths, int n, struct mafat_span layers)
{
  int begin = layers.begin, code = MAFAT_OK;
  for (int i = 0; i < n && code == MAFAT_OK; i++) {
    struct mafat_span own = mafat_path_layers(&paths[i]);
    code = add_apart(f, spec, begin, own.begin);
    if (code == MAFAT_OK) code = add_splits(f, spec, &paths[i], 1, own.end);
    begin = own.end;
  }
  return code ? code : add_apart(f, spec, begin, layers.end);
}

static int add_tiles(const struct flow *f, struct mafat_spec *spec, const struct mafat_path *p)
{
  struct mafat_group_spec *g = add_group(f, spec, mafat_path_layers(p).end);
  if (!g) return MAFAT_ENOMEM;
  g->cut = mafat_cut_grid(p->tiling == MAFAT_TILE_COLS ? 1 : p->n,
                          p->tiling == MAFAT_TILE_ROWS ? 1 : p->n);
  return MAFAT_OK;
}

/* Makes the spec of these paths. Each tiled path is a group. The other layers, up to the next tiled
 * path or the end, are one group. With f->apart, each untiled path and each layer outside of paths
 * is a group. */
static int make_spec(struct mafat_spec **out, const struct flow *f, const struct mafat_path *paths,
                     int n)
{
  int begin = 0, code = MAFAT_OK, n_layers = f->request->n_layers;
  *out = mafat_spec_new(f->heap);
  if (!*out) return MAFAT_ENOMEM;
  for (int i = 0, k = 0; i <= n && code == MAFAT_OK; i++) {
    bool tiles = i < n && paths[i].tiling != MAFAT_TILE_DEPTH && !paths[i].of_input;
    if (i < n && !tiles) continue;
    int end = tiles ? mafat_path_layers(&paths[i]).begin : n_layers;
    const struct mafat_path *before = i > k ? &paths[k] : NULL; /* paths may be NULL */
    if (begin < end && f->apart)
      code = add_all_apart(f, *out, before, i - k, mafat_span(begin, end));
    else if (begin < end) code = add_splits(f, *out, before, i - k, end);
    if (code == MAFAT_OK && tiles) code = add_tiles(f, *out, &paths[i]);
    if (tiles) begin = mafat_path_layers(&paths[i]).end;
    k = i + 1;
  }
  return code;
}

/* ---- measuring ---- */

static bool may_go_on(const void *user)
{
  const struct flow *f = user;
  return mafat_effort_left(f->request, f->evaluations);
}

/* If plans are compared by the published offset assignment, replaces *bytes, the bytes of the
 * arena, by those of that assignment. */
static int climb(size_t *bytes, const struct flow *f, const struct mafat_spec *spec)
{
  struct mafat_placing p;
  if (!f->climbing) return MAFAT_OK;
  int code = mafat_placing_make(&p, f->request, spec, f->climbing, f->d);
  if (code) return code;
  *bytes = p.total;
  mafat_placing_free(&p);
  return MAFAT_OK;
}

/* Predicts the plan with one order of layers; stores it in f->made if it needs fewer bytes. */
static int try_order(struct flow *f, struct mafat_spec *spec, enum mafat_op_order op_order,
                     long long n_evaluations)
{
  struct mafat_candidate c = {.threads = f->request->options->n_threads};
  spec->op_order = op_order;
  f->evaluations -= f->request->n_layers + n_evaluations;
  int code = mafat_candidate_measure(&c, f->request, spec, f->d);
  if (code == MAFAT_EINVAL || code == MAFAT_ELIMIT ||
      (code == MAFAT_OK && c.charge_bytes == SIZE_MAX))
    return MAFAT_OK;
  size_t bytes = c.arena_bytes;
  if (code == MAFAT_OK) code = climb(&bytes, f, spec);
  if (code || bytes >= f->made.bytes) return code;
  mafat_spec_close(&f->made.candidate.spec);
  f->made = (struct made_plan){c, bytes, f->apart};
  return mafat_spec_copy(&f->made.candidate.spec, spec, f->heap);
}

static void forget(struct made_plan *m)
{
  mafat_spec_close(&m->candidate.spec);
  m->bytes = SIZE_MAX;
}

/* Callback `measure` of flow.h. Tries several orders of layers and parts, and stores the smallest
 * plan in f->made. */
static int measure(void *user, size_t *bytes, const struct mafat_path *paths, int n,
                   long long n_evaluations)
{
  static const enum mafat_op_order op_orders[] = {MAFAT_OP_ORDER_FILE, MAFAT_OP_ORDER_POSTORDER,
                                                  MAFAT_OP_ORDER_SP};
  struct flow *f = user;
  struct mafat_spec *spec = NULL;
  forget(&f->made);
  int code = make_spec(&spec, f, paths, n),
      n_op_orders = f->apart && n == 0 ? 1 : (int)(sizeof op_orders / sizeof *op_orders);
  for (int i = 0; i < n_op_orders && code == MAFAT_OK; i++)
    code = try_order(f, spec, op_orders[i], n_evaluations);
  mafat_spec_close(&spec);
  *bytes = f->made.bytes;
  return code;
}

static int keep(void *user)
{
  struct flow *f = user;
  forget(&f->kept);
  f->kept = f->made;
  f->made.candidate.spec = NULL;
  return MAFAT_OK;
}

static int take(void *user)
{
  struct flow *f = user;
  struct mafat_front *front = f->front;
  struct mafat_candidate c = f->kept.candidate;
  if (!front->list && !(front->list = mafat_heap_calloc(front->heap, 1, sizeof *front->list)))
    return MAFAT_ENOMEM;
  if (mafat_spec_copy(&c.spec, f->kept.candidate.spec, front->heap)) return MAFAT_ENOMEM;
  if (front->n > 0) mafat_spec_close(&front->list[0].spec);
  front->list[0] = c;
  front->n = 1;
  f->stands_apart = f->kept.apart;
  forget(&f->kept);
  return MAFAT_OK;
}

static int find_critical(void *user, int **tensors, int *n)
{
  struct flow *f = user;
  struct mafat_placing p;
  int code = mafat_placing_make(&p, f->request, f->front->list[0].spec, f->climbing, f->d);
  if (code) return code;
  *tensors = mafat_heap_calloc(f->heap, (size_t)p.n + 1, sizeof **tensors);
  code = *tensors ? mafat_critical_find(*tensors, n, p.extents, p.n, p.total, MAFAT_CRITICAL_CHAIN,
                                        f->heap)
                  : MAFAT_ENOMEM;
  for (int i = 0; code == MAFAT_OK && i < *n; i++) (*tensors)[i] = p.tensors[(*tensors)[i]];
  mafat_placing_free(&p);
  return code;
}

static const struct mafat_flow_callbacks callbacks = {measure, keep, take, find_critical,
                                                      may_go_on};

/* ---- search ---- */

/* Tries the current paths with the other value of f->apart. */
static int try_other_style(struct flow *f, struct mafat_flow *flow)
{
  if (!may_go_on(f)) return MAFAT_OK;
  f->apart = !f->stands_apart;
  int code = mafat_flow_begin(flow, flow->applied, flow->n_applied);
  f->apart = f->stands_apart;
  return code;
}

/* True if there is enough time to find the best order of each group. This cannot be interrupted. */
static bool may_sort(const struct flow *f)
{
  const struct mafat_search_request *r = f->request;
  long long most = (long long)f->front->list[0].spec->n_groups * MOST_SORTING;
  return r->plan_ends ? mafat_effort_now() + most < r->plan_ends : may_go_on(f);
}

/* Finds the best order of layers for the final plan, and makes it current if it needs fewer
 * bytes. */
static int sort_best(struct flow *f, const struct mafat_flow *flow)
{
  struct mafat_spec *spec = NULL;
  if (f->stands_apart || !may_sort(f)) return MAFAT_OK;
  forget(&f->made);
  int code = mafat_spec_copy(&spec, f->front->list[0].spec, f->heap);
  if (code == MAFAT_OK) code = try_order(f, spec, MAFAT_OP_ORDER_BEST, 0);
  mafat_spec_close(&spec);
  if (code || f->made.bytes >= flow->bytes) return code;
  code = keep(f);
  return code ? code : take(f);
}

static int run(struct flow *f, struct mafat_flow *flow)
{
  int code = mafat_flow_begin(flow, NULL, 0);
  if (code == MAFAT_OK && f->front->n == 0)
    code = mafat_fail(f->d, MAFAT_ELIMIT, "%s: the memory of every plan is too large to compute",
                      f->request->network->path);
  for (size_t before = SIZE_MAX; code == MAFAT_OK && flow->bytes < before;) {
    before = flow->bytes;
    code = try_other_style(f, flow);
    if (code == MAFAT_OK) code = mafat_flow_run(flow);
  }
  return code ? code : sort_best(f, flow);
}

/* Runs the flow. Temporary memory is in request->options->heap, the final plan in the front's
 * heap. */
static int run_in(struct mafat_front *front, const struct mafat_search_request *request,
                  struct mafat_diagnostic *d)
{
  struct mafat_heap *heap = request->options->heap;
  struct mafat_sole_readers *lines = NULL;
  struct flow f = {.request = request,
                   .heap = heap,
                   .front = front,
                   .made.bytes = SIZE_MAX,
                   .kept.bytes = SIZE_MAX,
                   .evaluations = MOST_EVALUATIONS,
                   .d = d};
  struct mafat_search_value values[N_WORDS];
  int code = mafat_search_words_read(values, &mafat_searching_fdt, request->words, d);
  if (code) return code;
  f.climbing = values[LAYOUT].choice == PUBLISHED;
  struct mafat_flow *flow = mafat_heap_calloc(heap, 1, sizeof *flow);
  code = flow ? mafat_sole_readers_make(&lines, request->network, request->n_layers, heap)
              : MAFAT_ENOMEM;
  if (code == MAFAT_OK) {
    *flow = (struct mafat_flow){.heap = heap,
                                .lines = lines,
                                .callbacks = &callbacks,
                                .user = &f,
                                .tiling = tilings[values[TILING].choice],
                                .of_inputs = true,
                                .bytes = SIZE_MAX};
    code = run(&f, flow);
  }
  forget(&f.made);
  forget(&f.kept);
  mafat_sole_readers_close(&lines);
  mafat_heap_free(heap, flow);
  return code;
}

int mafat_search_fdt(struct mafat_front **out, const struct mafat_search_request *request,
                     struct mafat_diagnostic *d)
{
  return mafat_front_find(out, request, run_in, d);
}

const struct mafat_search mafat_searching_fdt = {
    .name = "fdt",
    .finds = "fused depthwise tiling's",
    .unfit = "this is what the plan of --search fdt needs, which keeps all weights in memory",
    .help = "fused depthwise tiling, Stahl et al. (2023)\n",
    .one_plan = true,
    .timed = true,
    .words = words,
    .n_words = N_WORDS,
    .find = mafat_search_fdt};
