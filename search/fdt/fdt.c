#include "search/fdt/fdt.h"

#include "predictor/layout.h"
#include "predictor/planning.h"
#include "search/effort.h"
#include "search/fdt/critical.h"
#include "search/fdt/paths.h"

#include <string.h>

enum {
  MOST_APPLIED = 32,     /* paths in a plan */
  MOST_LOOKS = 1000000   /* plans times their layers and parts */
};

/* Where a plan with these paths is measured, and the best one is kept. */
struct flow {
  const struct mafat_search_request *request;
  struct mafat_heap *heap;
  struct mafat_front *front; /* of the plan that stands, once there is one */
  struct mafat_lines *lines;
  struct mafat_path applied[MOST_APPLIED]; /* in it, in the order of layers */
  int n_applied;
  struct mafat_path paths[MAFAT_MOST_PATHS];
  struct mafat_candidate best; /* of one buffer's candidates; no spec: none is smaller */
  struct mafat_path best_applied[MOST_APPLIED];
  int n_best, best_length, best_parts; /* of the new path: of equals the shorter, then fewer parts */
  long long looks;             /* of MOST_LOOKS, left */
  struct mafat_diagnostic *d;
};

static int n_parts(const struct mafat_path *p)
{
  return p->tiling == MAFAT_TILE_BOTH ? p->n * p->n : p->n;
}

static struct mafat_span span_of(const struct mafat_path *p)
{
  return mafat_span(p->layers[0], p->layers[p->length - 1] + 1);
}

/* ---- a plan of paths ---- */

static struct mafat_group_spec *add_group(const struct flow *f, struct mafat_spec *spec, int end)
{
  struct mafat_group_spec *g = mafat_spec_add(spec);
  if (!g) return NULL;
  g->end = end == f->request->n_layers ? 0 : end;
  g->algorithms[MAFAT_DIRECT].given = f->request->options->algorithm == MAFAT_AUTO; /* it works in the fewest bytes */
  return g;
}

/* Layers in one group, some of them in parts along channels. */
static int add_splits(const struct flow *f, struct mafat_spec *spec, const struct mafat_path *paths, int n, int end)
{
  struct mafat_group_spec *g = add_group(f, spec, end);
  if (!g) return MAFAT_ENOMEM;
  if (n == 0) return MAFAT_OK;
  struct mafat_split *list = mafat_heap_calloc(f->heap, (size_t)n, sizeof *list);
  if (!list) return MAFAT_ENOMEM;
  for (int i = 0; i < n; i++) list[i] = (struct mafat_split){.axis = MAFAT_ALONG_C, .n = paths[i].n, .layers = span_of(&paths[i])};
  memset(&g->cut, 0, sizeof g->cut);
  g->cut.kind = MAFAT_CUT_SPLIT;
  g->cut.as.split = (struct mafat_splits){list, n};
  return MAFAT_OK;
}

static int add_tiles(const struct flow *f, struct mafat_spec *spec, const struct mafat_path *p)
{
  struct mafat_group_spec *g = add_group(f, spec, span_of(p).end);
  if (!g) return MAFAT_ENOMEM;
  g->cut = mafat_cut_grid(p->tiling == MAFAT_TILE_COLS ? 1 : p->n, p->tiling == MAFAT_TILE_ROWS ? 1 : p->n);
  return MAFAT_OK;
}

/* Tiles have groups of their own; between these, and before and behind, is a group each. */
static int make_spec(struct mafat_spec **out, const struct flow *f, const struct mafat_path *paths, int n)
{
  int begin = 0, code = MAFAT_OK, n_layers = f->request->n_layers;
  *out = mafat_spec_new(f->heap);
  if (!*out) return MAFAT_ENOMEM;
  for (int i = 0, k = 0; i <= n && code == MAFAT_OK; i++) {
    bool tiles = i < n && paths[i].tiling != MAFAT_TILE_DEPTH;
    if (i < n && !tiles) continue;
    int end = tiles ? span_of(&paths[i]).begin : n_layers;
    if (begin < end) code = add_splits(f, *out, &paths[k], i - k, end);
    if (code == MAFAT_OK && tiles) code = add_tiles(f, *out, &paths[i]);
    if (tiles) begin = span_of(&paths[i]).end;
    k = i + 1;
  }
  return code;
}

/* ---- measuring ---- */

static bool may_go_on(const struct flow *f)
{
  return mafat_effort_left(f->request, f->looks);
}

static bool is_better(const struct flow *f, const struct mafat_candidate *c, const struct mafat_path *p)
{
  int length = p ? p->length : 0, parts = p ? n_parts(p) : 0;
  size_t least = f->best.spec ? f->best.arena_bytes : f->front->n > 0 ? f->front->list[0].arena_bytes : SIZE_MAX;
  if (c->arena_bytes != least || !f->best.spec) return c->arena_bytes < least;
  return length != f->best_length ? length < f->best_length : parts < f->best_parts;
}

static int keep(struct flow *f, const struct mafat_candidate *c, const struct mafat_spec *spec, const struct mafat_path *paths, int n,
                const struct mafat_path *p)
{
  mafat_spec_close(&f->best.spec);
  f->best = *c;
  if (n > 0) memmove(f->best_applied, paths, (size_t)n * sizeof *paths);
  f->n_best = n;
  f->best_length = p ? p->length : 0;
  f->best_parts = p ? n_parts(p) : 0;
  return mafat_spec_copy(&f->best.spec, spec, f->heap);
}

/* A plan of these paths in one order; p: the new one of them. */
static int try_order(struct flow *f, struct mafat_spec *spec, enum mafat_sorting sorting, const struct mafat_path *paths, int n,
                     const struct mafat_path *p)
{
  struct mafat_candidate c = {.threads = f->request->options->n_threads};
  spec->sorting = sorting;
  f->looks -= f->request->n_layers + (p ? (long long)p->length * n_parts(p) : 0);
  int code = mafat_candidate_measure(&c, f->request, spec, f->d);
  if (code == MAFAT_EINVAL || code == MAFAT_ELIMIT || (code == MAFAT_OK && c.charge_bytes == SIZE_MAX)) return MAFAT_OK;
  return code == MAFAT_OK && is_better(f, &c, p) ? keep(f, &c, spec, paths, n, p) : code;
}

/* Parts are run depth by depth: as they are asked for, or in the order that is best for series and parallels. */
static int try_paths(struct flow *f, const struct mafat_path *paths, int n, const struct mafat_path *p)
{
  static const enum mafat_sorting sortings[] = {MAFAT_SORT_FILE, MAFAT_SORT_POSTORDER, MAFAT_SORT_SP};
  struct mafat_spec *spec = NULL;
  int code = make_spec(&spec, f, paths, n);
  for (size_t i = 0; i < sizeof sortings / sizeof *sortings && code == MAFAT_OK; i++)
    code = try_order(f, spec, sortings[i], paths, n, p);
  mafat_spec_close(&spec);
  return code;
}

/* ---- candidates ---- */

/* Has a plan words for it: is what lies between its layers of the file nothing but names? */
static bool is_run(const struct flow *f, const struct mafat_path *p)
{
  for (int i = 1; i < p->length; i++)
    for (int l = p->layers[i - 1] + 1; l < p->layers[i]; l++)
      if (!mafat_layer_is_alias(&f->request->network->layers[l])) return false;
  return true;
}

/* With those that stand, but for what it meets: that it replaces. Returns how many; 0: there are too many. */
static int join(const struct flow *f, const struct mafat_path *p, struct mafat_path *paths)
{
  struct mafat_span own = span_of(p);
  int n = 0;
  bool placed = false;
  for (int i = 0; i < f->n_applied; i++) {
    struct mafat_span other = span_of(&f->applied[i]);
    if (other.begin < own.end && own.begin < other.end) continue;
    if (!placed && other.begin >= own.end) {
      if (n == MOST_APPLIED) return 0;
      paths[n++] = *p;
      placed = true;
    }
    if (n == MOST_APPLIED) return 0;
    paths[n++] = f->applied[i];
  }
  if (placed) return n;
  if (n == MOST_APPLIED) return 0;
  paths[n++] = *p;
  return n;
}

static int try_tensor(struct flow *f, int tensor)
{
  struct mafat_path joined[MOST_APPLIED];
  int code = MAFAT_OK, n_paths = mafat_paths_find(f->paths, MAFAT_MOST_PATHS, f->lines, tensor);
  for (int i = 0; i < n_paths; i++) {
    struct mafat_path *p = &f->paths[i];
    int most = is_run(f, p) ? mafat_path_most_parts(f->lines, p, tensor) : 0;
    for (p->n = MAFAT_LEAST_TILES; p->n <= most && code == MAFAT_OK && may_go_on(f); p->n++) {
      int n = join(f, p, joined);
      if (n > 0) code = try_paths(f, joined, n, p);
    }
  }
  return code;
}

/* ---- the flow ---- */

/* What was kept is the plan now. */
static int accept(struct flow *f)
{
  struct mafat_front *front = f->front;
  struct mafat_candidate c = f->best;
  if (!front->list && !(front->list = mafat_heap_calloc(front->heap, 1, sizeof *front->list))) return MAFAT_ENOMEM;
  if (mafat_spec_copy(&c.spec, f->best.spec, front->heap)) return MAFAT_ENOMEM;
  if (front->n > 0) mafat_spec_close(&front->list[0].spec);
  front->list[0] = c;
  front->n = 1;
  memcpy(f->applied, f->best_applied, sizeof f->applied);
  f->n_applied = f->n_best;
  mafat_spec_close(&f->best.spec);
  return MAFAT_OK;
}

static int critical_of(int *tensors, int *n, const struct flow *f, const struct mafat_layout *layout)
{
  size_t total;
  struct mafat_extent *extents = mafat_heap_calloc(f->heap, (size_t)layout->n_buffers + 1, sizeof *extents);
  if (!extents) return MAFAT_ENOMEM;
  for (int i = 0; i < layout->n_buffers; i++) {
    const struct mafat_buffer *b = &layout->buffers[i];
    extents[i] = (struct mafat_extent){b->offset, b->offset + b->bytes, b->first, b->last};
  }
  int code = mafat_extents_settle(&total, extents, layout->n_buffers, f->heap);
  if (code == MAFAT_OK)
    code = mafat_critical_find(tensors, n, extents, layout->n_buffers, total, MAFAT_CRITICAL_CHAIN, f->heap);
  for (int i = 0; code == MAFAT_OK && i < *n; i++) {
    const struct mafat_buffer *b = &layout->buffers[tensors[i]];
    tensors[i] = b->tag == MAFAT_TAG_ACTIVATIONS ? b->tensor : -1;
  }
  mafat_heap_free(f->heap, extents);
  return code;
}

/* The layers whose outputs are critical in the plan that stands, the largest first; as many as there are buffers, with -1 for
 * others. The list is the caller's to free. */
static int find_critical(int **tensors, int *n, const struct flow *f)
{
  const struct mafat_search_request *r = f->request;
  struct mafat_plan *plan = NULL;
  struct mafat_layout *layout = NULL;
  *n = 0;
  int code = mafat_plan_make(&plan, f->front->list[0].spec, r->network, r->n_layers, r->options, f->d);
  if (code == MAFAT_OK) code = mafat_layout_make(&layout, r->network, plan, f->d);
  if (code == MAFAT_OK && !(*tensors = mafat_heap_calloc(f->heap, (size_t)layout->n_buffers + 1, sizeof **tensors)))
    code = MAFAT_ENOMEM;
  if (code == MAFAT_OK) code = critical_of(*tensors, n, f, layout);
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  return code;
}

/* Outputs stay as they are, and so do inputs. `tried` keeps buffers of one tensor from being gone through again. */
static int try_critical(struct flow *f, const int *tensors, int n, bool *tried)
{
  int code = MAFAT_OK, n_layers = f->request->n_layers;
  memset(tried, 0, (size_t)n_layers * sizeof *tried);
  for (int i = 0; i < n && code == MAFAT_OK && !f->best.spec && may_go_on(f); i++) {
    int t = tensors[i];
    if (t < 0 || t >= n_layers || tried[t] || mafat_network_is_output(f->request->network, n_layers, t)) continue;
    tried[t] = true;
    code = try_tensor(f, t);
  }
  return code;
}

static int improve(struct flow *f)
{
  bool *tried = mafat_heap_calloc(f->heap, (size_t)f->request->n_layers + 1, sizeof *tried);
  int code = tried ? MAFAT_OK : MAFAT_ENOMEM;
  for (bool better = true; code == MAFAT_OK && better;) {
    int *tensors = NULL, n;
    code = find_critical(&tensors, &n, f);
    if (code == MAFAT_OK) code = try_critical(f, tensors, n, tried);
    mafat_heap_free(f->heap, tensors);
    better = code == MAFAT_OK && f->best.spec;
    if (better) code = accept(f);
  }
  mafat_heap_free(f->heap, tried);
  return code;
}

/* The least order there is, for the plan at the end. */
static int sort_best(struct flow *f)
{
  struct mafat_spec *spec = NULL;
  if (!may_go_on(f)) return MAFAT_OK;
  int code = mafat_spec_copy(&spec, f->front->list[0].spec, f->heap);
  if (code == MAFAT_OK) code = try_order(f, spec, MAFAT_SORT_BEST, f->applied, f->n_applied, NULL);
  if (code == MAFAT_OK && f->best.spec) code = accept(f);
  mafat_spec_close(&spec);
  return code;
}

static int run(struct flow *f)
{
  const struct mafat_search_request *r = f->request;
  int code = mafat_lines_make(&f->lines, r->network, r->n_layers, f->heap);
  if (code == MAFAT_OK) code = try_paths(f, NULL, 0, NULL);
  if (code == MAFAT_OK && !f->best.spec)
    code = mafat_fail(f->d, MAFAT_ELIMIT, "%s: no plan has countable bytes", r->network->path);
  if (code == MAFAT_OK) code = accept(f);
  if (code == MAFAT_OK) code = improve(f);
  if (code == MAFAT_OK) code = sort_best(f);
  return code;
}

/* A flow has a heap of its own, of which nothing is left but the front, in another. */
static int run_in(struct mafat_front *front, const struct mafat_search_request *request, struct mafat_diagnostic *d)
{
  struct flow *f = mafat_heap_calloc(request->options->heap, 1, sizeof *f);
  if (!f) return MAFAT_ENOMEM;
  *f = (struct flow){.request = request, .heap = request->options->heap, .front = front, .looks = MOST_LOOKS, .d = d};
  int code = run(f);
  mafat_spec_close(&f->best.spec);
  mafat_lines_close(&f->lines);
  mafat_heap_free(request->options->heap, f);
  return code;
}

int mafat_search_fdt(struct mafat_front **out, const struct mafat_search_request *request, struct mafat_diagnostic *d)
{
  struct mafat_plan_options options = *request->options;
  struct mafat_search_request r = *request;
  struct mafat_front *f = NULL;
  *out = NULL;
  r.options = &options;
  if (r.most_threads) options.n_threads = 1; /* each more works in room of its own */
  if (r.plan_seconds > 0) r.plan_ends = mafat_effort_now() + (long long)(r.plan_seconds * 1e9);
  int code = mafat_heap_open(&options.heap);
  if (code == MAFAT_OK) code = mafat_front_open(&f);
  if (code == MAFAT_OK) code = run_in(f, &r, d);
  if (code == MAFAT_OK) *out = f;
  else mafat_front_close(&f);
  mafat_heap_close(&options.heap);
  return code == MAFAT_ENOMEM ? mafat_fail(d, code, "%s: out of memory", request->network->path) : code;
}
