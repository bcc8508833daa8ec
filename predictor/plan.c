#include "predictor/plan.h"

#include "predictor/algorithms.h"
#include "predictor/balance.h"
#include "predictor/fetches.h"
#include "predictor/fusion.h"
#include "predictor/order.h"
#include "predictor/packing.h"
#include "predictor/schedule.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  MAX_PLAN_TEXT = 1 << 16,
  MAX_TILES_PER_AXIS = 1 << 16,
  DEFAULT_ROWS = 4,
  DEFAULT_RING = 8,
  LEAST_RING = MAFAT_RING_READS,
  MOST_RING = 64,
  MOST_LOADED_KB = 1 << 20,
  SMALL_FLOATS = 20 << 10,
  MAX_ROW_LOOKS = 1 << 23, /* steps of rows, looked at by their layers, neighbours and readers: yolov3 has 50000 */
  MAX_TILE_STEPS = 1 << 24 /* tiles x layers of a group: 608 x 608 tiles of 16 layers are 6 million */
};

/* The text being read. */
struct parser {
  const char *text, *at;
  const struct mafat_network *network;
  int n_layers;
  struct mafat_diagnostic *d;
};

/* A group as written, before it is laid over the network. */
struct written_group {
  int n_rows, n_cols;
  int *rows, *cols; /* inner boundaries, when given */
  int rolling;      /* rows a step, when not a grid */
  bool panels;      /* not a grid either */
  bool apart;
  bool balanced;
  enum mafat_residence weights;
  int ring, loaded_kb;
  struct mafat_algorithm_word direct, winograd;
};

static void release_written(struct written_group *w)
{
  free(w->rows);
  free(w->cols);
  mafat_algorithms_release(&w->direct);
  mafat_algorithms_release(&w->winograd);
  memset(w, 0, sizeof *w);
}

static int expected(const struct parser *p, const char *what)
{
  if (*p->at == '\0')
    return mafat_fail(p->d, MAFAT_EINVAL, "plan %.60s: expected %s at its end", p->text, what);
  return mafat_fail(p->d, MAFAT_EINVAL, "plan %.60s: expected %s at character %d, found %.20s",
                    p->text, what, (int)(p->at - p->text) + 1, p->at);
}

static bool take(struct parser *p, const char *word)
{
  size_t n = strlen(word);
  if (strncmp(p->at, word, n) != 0) return false;
  p->at += n;
  return true;
}

static int take_number(struct parser *p, const char *what, int *value)
{
  if (!isdigit((unsigned char)*p->at)) return expected(p, what);
  char *end;
  errno = 0;
  long v = strtol(p->at, &end, 10);
  if (errno || v > MAFAT_MAX_EXTENT) return expected(p, "a smaller number");
  p->at = end;
  *value = (int)v;
  return MAFAT_OK;
}

/* "[100,204]": the inner boundaries. */
static int take_bounds(struct parser *p, int **bounds, int *n_parts)
{
  int n = 0, code;
  int *list = NULL;
  while (!take(p, "]")) {
    int value;
    if (n && !take(p, ",")) {
      code = expected(p, "a comma or ]");
      goto fail;
    }
    if ((code = take_number(p, "a boundary", &value))) goto fail;
    int *grown = realloc(list, (size_t)(n + 1) * sizeof *list);
    if (!grown) {
      code = mafat_fail(p->d, MAFAT_ENOMEM, "plan %.60s: out of memory", p->text);
      goto fail;
    }
    list = grown;
    if (value <= (n ? list[n - 1] : 0)) {
      code = mafat_fail(p->d, MAFAT_EINVAL, "plan %.60s: expected rising boundaries above 0, found %d",
                        p->text, value);
      goto fail;
    }
    list[n++] = value;
  }
  *bounds = list;
  *n_parts = n + 1;
  return MAFAT_OK;
fail:
  free(list);
  return code;
}

static int take_side(struct parser *p, int **bounds, int *n_parts)
{
  if (take(p, "[")) return take_bounds(p, bounds, n_parts);
  int code = take_number(p, "a grid like 5x5", n_parts);
  if (code) return code;
  if (*n_parts < 1 || *n_parts > MAX_TILES_PER_AXIS)
    return mafat_fail(p->d, MAFAT_EINVAL, "plan %.60s: expected 1 to %d tiles a side, found %d", p->text,
                      MAX_TILES_PER_AXIS, *n_parts);
  return MAFAT_OK;
}

static int take_rows(struct parser *p, struct written_group *w)
{
  w->n_rows = w->n_cols = 1;
  w->rolling = DEFAULT_ROWS;
  if (!isdigit((unsigned char)*p->at)) return MAFAT_OK;
  int code = take_number(p, "rows a step", &w->rolling);
  if (code || w->rolling >= 1) return code;
  return mafat_fail(p->d, MAFAT_EINVAL, "plan %.60s: expected at least 1 row a step, found 0", p->text);
}

static int take_grid(struct parser *p, struct written_group *w)
{
  int code = take_side(p, &w->rows, &w->n_rows);
  if (code) return code;
  if (!take(p, "x")) return expected(p, "x between the sides of a grid");
  return take_side(p, &w->cols, &w->n_cols);
}

/* "streamed", "streamed4" */
static int take_ring(struct parser *p, struct written_group *w)
{
  w->weights = MAFAT_STREAMED;
  w->ring = DEFAULT_RING;
  if (!isdigit((unsigned char)*p->at)) return MAFAT_OK;
  int code = take_number(p, "reads in the ring", &w->ring);
  if (code || (w->ring >= LEAST_RING && w->ring <= MOST_RING)) return code;
  return mafat_fail(p->d, MAFAT_EINVAL, "plan %.60s: expected a ring of %d to %d reads, found %d", p->text, LEAST_RING,
                    MOST_RING, w->ring);
}

/* "loaded", "loaded300" */
static int take_loaded(struct parser *p, struct written_group *w)
{
  w->weights = MAFAT_LOADED;
  if (!isdigit((unsigned char)*p->at)) return MAFAT_OK;
  int code = take_number(p, "kilobytes", &w->loaded_kb);
  if (code) return code;
  w->weights = MAFAT_STREAMED;
  if (w->loaded_kb >= 1 && w->loaded_kb <= MOST_LOADED_KB) return MAFAT_OK;
  return mafat_fail(p->d, MAFAT_EINVAL, "plan %.60s: expected 1 to %d kilobytes of a layer, found %d", p->text,
                    MOST_LOADED_KB, w->loaded_kb);
}

/* The words behind a colon: how, and where weights are. */
static int take_words(struct parser *p, struct written_group *w)
{
  bool grid = !w->rolling && !w->panels, again = false;
  int code = MAFAT_OK;
  while (code == MAFAT_OK && take(p, ":")) {
    bool weighed = w->weights != MAFAT_KEPT;
    if (take(p, "loaded")) {
      again = again || weighed;
      code = take_loaded(p, w);
    } else if (take(p, "streamed")) {
      again = again || weighed;
      code = take_ring(p, w);
    } else if (grid && take(p, "balanced")) {
      again = again || w->balanced;
      w->balanced = true;
    } else if (w->panels && take(p, "apart")) {
      again = again || w->apart;
      w->apart = true;
    } else if (take(p, "direct")) {
      again = again || w->direct.given;
      code = mafat_algorithms_take(&w->direct, p->text, &p->at, p->d);
    } else if (take(p, "winograd")) {
      again = again || w->winograd.given;
      code = mafat_algorithms_take(&w->winograd, p->text, &p->at, p->d);
    } else {
      return expected(p, grid ? "balanced, loaded, streamed, direct or winograd"
                        : w->panels ? "apart, loaded, streamed, direct or winograd"
                                    : "loaded, streamed, direct or winograd");
    }
  }
  if (code) return code;
  if (again)
    return mafat_fail(p->d, MAFAT_EINVAL, "plan %.60s: words stand once, and weights are loaded or streamed, not both",
                      p->text);
  if (w->direct.given && w->winograd.given && (!w->direct.n || !w->winograd.n))
    return mafat_fail(p->d, MAFAT_EINVAL, "plan %.60s: expected layers behind :direct and :winograd where both stand",
                      p->text);
  if (w->balanced && (w->rows || w->cols))
    return mafat_fail(p->d, MAFAT_EINVAL, "plan %.60s: boundaries are given or balanced, not both", p->text);
  return MAFAT_OK;
}

static int take_group(struct parser *p, struct written_group *w)
{
  int code = MAFAT_OK;
  if (take(p, "panels")) {
    w->n_rows = w->n_cols = 1;
    w->panels = true;
  } else {
    code = take(p, "rows") ? take_rows(p, w) : take_grid(p, w);
  }
  return code ? code : take_words(p, w);
}

/* ---- laying groups over the network ---- */

static struct mafat_group *append_group(struct mafat_plan *plan, int first, int end)
{
  struct mafat_group *grown =
      realloc(plan->groups, (size_t)(plan->n_groups + 1) * sizeof *plan->groups);
  if (!grown) return NULL;
  plan->groups = grown;
  struct mafat_group *g = &grown[plan->n_groups++];
  *g = (struct mafat_group){.first = first, .end = end, .generator = &mafat_generator_grid};
  return g;
}

/* Inner boundaries (or even shares where NULL) -> 0 ... extent. */
static int *make_bounds(const int *inner, int n, int extent)
{
  int *bounds = malloc((size_t)(n + 1) * sizeof *bounds);
  if (!bounds) return NULL;
  for (int i = 0; i < n; i++)
    bounds[i] = inner ? (i ? inner[i - 1] : 0) : mafat_span_share(extent, n, i).begin;
  bounds[n] = extent;
  return bounds;
}

static long long row_steps(const struct mafat_network *n, int rolling, int tensor)
{
  return mafat_network_tensor_shape(n, tensor).h / rolling + 1;
}

/* Every step of rows looks at what the layer reads and at who reads what it writes. */
static long long row_looks(const struct mafat_network *n, int rolling, int first, int end)
{
  long long looks = 0;
  if (!rolling) return 0;
  for (int l = first; l < end; l++) {
    const struct mafat_sources *lists[] = {&n->layers[l].sources, &n->layers[l].from};
    looks += row_steps(n, rolling, l);
    for (int i = 0; i < 2; i++)
      for (int s = 0; s < lists[i]->n; s++)
        looks += row_steps(n, rolling, l) + row_steps(n, rolling, lists[i]->list[s].tensor);
  }
  return looks;
}

static int lay_group(struct parser *p, struct mafat_plan *plan, const struct written_group *w,
                     int first, int end)
{
  struct mafat_shape out = p->network->layers[end - 1].out;
  const char *why = NULL;
  if (w->n_rows > out.h || w->n_cols > out.w) why = "has more tiles than the output map has pixels";
  if (w->rows && w->rows[w->n_rows - 2] >= out.h) why = "has a row boundary outside the output map";
  if (w->cols && w->cols[w->n_cols - 2] >= out.w) why = "has a column boundary outside the output map";
  if (!why && (long long)w->n_rows * w->n_cols * (end - first) > MAX_TILE_STEPS)
    why = "has more tiles than a run can walk through";
  if (!why && row_looks(p->network, w->rolling, first, end) > MAX_ROW_LOOKS)
    why = "has more steps of rows than a run can walk through";
  if (why && w->rolling)
    return mafat_fail(p->d, MAFAT_EINVAL, "plan %.60s: the rows%d group over layers %d..%d %s", p->text,
                      w->rolling, first, end - 1, why);
  if (why)
    return mafat_fail(p->d, MAFAT_EINVAL,
                      "plan %.60s: the %dx%d group over layers %d..%d %s (%d x %d, height x width)", p->text,
                      w->n_rows, w->n_cols, first, end - 1, why, out.h, out.w);
  struct mafat_group *g = append_group(plan, first, end);
  if (!g) return mafat_fail(p->d, MAFAT_ENOMEM, "plan %.60s: out of memory", p->text);
  g->n_rows = w->n_rows;
  g->n_cols = w->n_cols;
  g->rows = w->rolling;
  g->panels = w->panels;
  g->apart = w->apart;
  g->weights = w->weights;
  g->ring = w->ring;
  g->loaded_kb = w->loaded_kb;
  if (g->rows) g->generator = &mafat_generator_rows;
  if (g->panels) g->generator = &mafat_generator_panels;
  g->given = w->rows || w->cols;
  g->balanced = w->balanced && w->n_rows * w->n_cols > 1;
  g->row_bounds = make_bounds(w->rows, w->n_rows, out.h);
  g->col_bounds = make_bounds(w->cols, w->n_cols, out.w);
  if (!g->row_bounds || !g->col_bounds)
    return mafat_fail(p->d, MAFAT_ENOMEM, "plan %.60s: out of memory", p->text);
  return MAFAT_OK;
}

/* A run of layers [first, end) under one written group: split where a layer
 * cannot be tiled. Runs behind a split may have maps smaller than the grid. */
static int lay_run(struct parser *p, struct mafat_plan *plan, const struct written_group *w,
                   int first, int end)
{
  /* Where weights are streamed, what cannot be cut by rows is by panels. */
  struct written_group whole = {.n_rows = 1, .n_cols = 1, .weights = w->weights, .ring = w->ring,
                                .loaded_kb = w->loaded_kb,
                                .panels = w->rolling && w->weights == MAFAT_STREAMED};
  if (w->panels) return lay_group(p, plan, w, first, end);
  if (w->n_rows == 1 && w->n_cols == 1 && !w->rolling) return lay_group(p, plan, &whole, first, end);
  for (int begin = first; begin < end;) {
    bool tileable = mafat_layer_is_tileable(&p->network->layers[begin]);
    int stop = begin + 1;
    while (stop < end && mafat_layer_is_tileable(&p->network->layers[stop]) == tileable) stop++;
    struct mafat_shape out = p->network->layers[stop - 1].out;
    struct written_group run = *w;
    if (begin > first || !tileable) {
      if (run.n_rows > out.h) run.n_rows = out.h;
      if (run.n_cols > out.w) run.n_cols = out.w;
    }
    bool given = w->rows || w->cols;
    if (given && (begin > first || stop < end))
      return mafat_fail(p->d, MAFAT_EINVAL,
                        "plan %.60s: given boundaries over layers %d..%d, but layer %d [%s] cannot be tiled: cut there",
                        p->text, first, end - 1, tileable ? stop : begin,
                        mafat_layer_type_name(p->network->layers[tileable ? stop : begin].type));
    int code = lay_group(p, plan, tileable ? &run : &whole, begin, stop);
    if (code) return code;
    begin = stop;
  }
  return MAFAT_OK;
}

static int parse_plan(struct parser *p, struct mafat_plan *plan)
{
  struct written_group w = {0};
  int first = 0, code;
  for (;;) {
    if ((code = take_group(p, &w))) break;
    int end = p->n_layers;
    bool last = *p->at == '\0' || (first == 0 && strcmp(p->at, "/NoCut") == 0);
    if (!last) {
      if (!take(p, "/")) {
        code = expected(p, "/ before a cut");
        break;
      }
      if ((code = take_number(p, "a cut (a layer number) or NoCut", &end))) break;
      if (end <= first || end >= p->n_layers) {
        code = mafat_fail(p->d, MAFAT_EINVAL, "plan %.60s: expected a cut between %d and %d, found %d", p->text,
                          first + 1, p->n_layers - 1, end);
        break;
      }
    }
    if ((code = mafat_algorithms_apply(plan, p->network, first, end, MAFAT_DIRECT, &w.direct, p->text, p->d))) break;
    if ((code = mafat_algorithms_apply(plan, p->network, first, end, MAFAT_WINOGRAD, &w.winograd, p->text, p->d))) break;
    if ((code = lay_run(p, plan, &w, first, end)) || last) break;
    release_written(&w);
    if (!take(p, "/")) {
      code = expected(p, "/ and a grid after a cut");
      break;
    }
    first = end;
  }
  release_written(&w);
  return code;
}

void mafat_plan_defaults(struct mafat_plan_options *options)
{
  *options = (struct mafat_plan_options){.algorithm = MAFAT_AUTO, .n_threads = 1, .small_floats = SMALL_FLOATS};
}

static bool has_weights(const struct mafat_layer *l)
{
  return l->type == MAFAT_CONVOLUTIONAL || l->type == MAFAT_CONNECTED || l->type == MAFAT_LOCAL ||
         l->type == MAFAT_BATCHNORM;
}

/* Can a step of the layer be some of its filters, with nothing but their weights? */
static bool is_divisible(const struct mafat_plan *plan, const struct mafat_network *n, int layer)
{
  const struct mafat_group *g = &plan->groups[mafat_plan_group_of(plan, layer)];
  const struct mafat_layer *l = &n->layers[mafat_fusion_reader(plan, layer)];
  if (mafat_order_takes_panels(plan, layer)) return false;
  if (l->type == MAFAT_CONNECTED) return g->panels;
  return l->type == MAFAT_CONVOLUTIONAL && l->groups == 1 && (g->panels || g->rows);
}

static int choose_residence(struct mafat_plan *plan, const struct mafat_network *n,
                            const struct mafat_plan_options *options)
{
  plan->residence = calloc((size_t)plan->n_layers, sizeof *plan->residence);
  if (!plan->residence) return MAFAT_ENOMEM;
  for (int l = 0; l < plan->n_layers; l++) {
    const struct mafat_group *g = &plan->groups[mafat_plan_group_of(plan, l)];
    int step = mafat_fusion_outermost(plan, l);
    bool divisible = mafat_fusion_reader(plan, step) == l && is_divisible(plan, n, step);
    if (!has_weights(&n->layers[l]) || mafat_plan_must_keep(options, &n->layers[l])) continue;
    /* Rows come back to a layer again and again: small ones are read once. */
    size_t small = g->loaded_kb ? (size_t)g->loaded_kb << 8 : g->rows ? (size_t)options->small_floats : 0;
    bool loaded = !divisible || mafat_packed_floats(&n->layers[l]) <= small;
    plan->residence[l] = g->weights == MAFAT_STREAMED && loaded ? MAFAT_LOADED : g->weights;
  }
  return MAFAT_OK;
}

bool mafat_plan_divides(const struct mafat_plan *plan, const struct mafat_network *n, int layer)
{
  const struct mafat_group *g = &plan->groups[mafat_plan_group_of(plan, layer)];
  return is_divisible(plan, n, layer) &&
         (g->panels || plan->residence[mafat_fusion_reader(plan, layer)] == MAFAT_STREAMED);
}

bool mafat_plan_transforms(const struct mafat_plan *plan, const struct mafat_network *n, int layer)
{
  return plan->algorithms[mafat_fusion_reader(plan, layer)] == MAFAT_WINOGRAD &&
         mafat_plan_divides(plan, n, layer);
}

/* What groups and shapes decide, once the groups are laid. */
static int complete(struct mafat_plan *plan, const struct mafat_network *n,
                    const struct mafat_plan_options *options, struct mafat_diagnostic *d)
{
  int code = mafat_fusion_find(plan, n, !options->keep_all);
  if (code == MAFAT_OK) code = mafat_order_find_fans(plan, n, !options->keep_all);
  if (code == MAFAT_OK) code = mafat_order_find(plan, n);
  if (code == MAFAT_OK) code = choose_residence(plan, n, options);
  if (code) return mafat_fail(d, code, "plan: out of memory");
  for (int g = 0; g < plan->n_groups && code == MAFAT_OK; g++)
    if (plan->groups[g].balanced) code = mafat_balance_group(n, plan, g, d);
  return code;
}

int mafat_plan_read(struct mafat_plan **out, const char *text,
                    const struct mafat_network *network, int n_layers,
                    const struct mafat_plan_options *options, struct mafat_diagnostic *d)
{
  struct mafat_plan_options defaults;
  mafat_plan_defaults(&defaults);
  if (!options) options = &defaults;
  *out = NULL;
  if (n_layers < 1 || n_layers > network->n_layers)
    return mafat_fail(d, MAFAT_EINVAL, "expected 1 to %d layers, found %d", network->n_layers, n_layers);
  if (options->n_threads < 1 || options->n_threads > MAFAT_MAX_THREADS)
    return mafat_fail(d, MAFAT_EINVAL, "expected 1 to %d threads, found %d", MAFAT_MAX_THREADS,
                      options->n_threads);
  if (strlen(text) > MAX_PLAN_TEXT) return mafat_fail(d, MAFAT_EINVAL, "plan: the text is too long");
  struct mafat_plan *plan = calloc(1, sizeof *plan);
  if (!plan) return mafat_fail(d, MAFAT_ENOMEM, "plan: out of memory");
  plan->n_layers = n_layers;
  plan->n_threads = options->n_threads;
  plan->packed = options->packed;
  plan->wanted = options->algorithm;
  struct parser p = {text, text, network, n_layers, d};
  int code = mafat_algorithms_default(plan, network);
  code = code ? mafat_fail(d, code, "plan: out of memory") : parse_plan(&p, plan);
  if (code == MAFAT_OK) code = complete(plan, network, options, d);
  if (code == MAFAT_OK) *out = plan;
  else mafat_plan_close(&plan);
  return code;
}

int mafat_plan_untiled(struct mafat_plan **out, const struct mafat_network *network, int n_layers,
                       const struct mafat_plan_options *options, struct mafat_diagnostic *d)
{
  return mafat_plan_read(out, "1x1/NoCut", network, n_layers, options, d);
}

void mafat_plan_close(struct mafat_plan **plan)
{
  if (!plan || !*plan) return;
  for (int g = 0; g < (*plan)->n_groups; g++) {
    free((*plan)->groups[g].row_bounds);
    free((*plan)->groups[g].col_bounds);
  }
  free((*plan)->groups);
  free((*plan)->algorithms);
  free((*plan)->inner);
  free((*plan)->outer);
  free((*plan)->residence);
  free((*plan)->fan);
  free((*plan)->order);
  free((*plan)->position);
  free(*plan);
  *plan = NULL;
}

/* snprintf at the end of a text that may already be full. */
static void append_text(char *text, size_t room, size_t *length, const char *format, int value)
{
  size_t left = *length < room ? room - *length : 0;
  int n = snprintf(left ? text + *length : NULL, left, format, value);
  if (n > 0) *length += (size_t)n;
}

static void write_bounds(const int *bounds, int n, char *text, size_t room, size_t *length)
{
  append_text(text, room, length, "[", 0);
  for (int i = 1; i < n; i++) append_text(text, room, length, i > 1 ? ",%d" : "%d", bounds[i]);
  append_text(text, room, length, "]", 0);
}

size_t mafat_plan_write(const struct mafat_plan *plan, const struct mafat_network *network, char *text, size_t room)
{
  size_t length = 0;
  if (room) text[0] = '\0';
  for (int i = 0; i < plan->n_groups; i++) {
    const struct mafat_group *g = &plan->groups[i];
    if (i) append_text(text, room, &length, "/%d/", g->first);
    if (g->panels) {
      append_text(text, room, &length, "panels", 0);
    } else if (g->rows) {
      append_text(text, room, &length, "rows%d", g->rows);
    } else if (g->given) {
      write_bounds(g->row_bounds, g->n_rows, text, room, &length);
      append_text(text, room, &length, "x", 0);
      write_bounds(g->col_bounds, g->n_cols, text, room, &length);
    } else {
      append_text(text, room, &length, "%dx", g->n_rows);
      append_text(text, room, &length, "%d", g->n_cols);
    }
    if (g->balanced) append_text(text, room, &length, ":balanced", 0);
    if (g->apart) append_text(text, room, &length, ":apart", 0);
    if (g->weights == MAFAT_LOADED) append_text(text, room, &length, ":loaded", 0);
    if (g->loaded_kb) append_text(text, room, &length, ":loaded%d", g->loaded_kb);
    else if (g->weights == MAFAT_STREAMED) append_text(text, room, &length, ":streamed", 0);
    if (g->weights == MAFAT_STREAMED && !g->loaded_kb && g->ring != DEFAULT_RING) append_text(text, room, &length, "%d", g->ring);
    size_t left = length < room ? room - length : 0;
    if (network) length += mafat_algorithms_write(plan, network, g->first, g->end, left ? text + length : NULL, left);
  }
  if (plan->n_groups == 1) append_text(text, room, &length, "/NoCut", 0);
  return length;
}

int mafat_plan_group_of(const struct mafat_plan *plan, int layer)
{
  int g = 0;
  while (plan->groups[g].end <= layer) g++;
  return g;
}

struct mafat_span mafat_group_share(const struct mafat_group *g, bool axis_y, int part, int extent)
{
  const int *bounds = axis_y ? g->row_bounds : g->col_bounds;
  int whole = bounds[axis_y ? g->n_rows : g->n_cols];
  return mafat_span((int)((long long)bounds[part] * extent / whole),
                    (int)((long long)bounds[part + 1] * extent / whole));
}

static const char *const algorithm_names[] = {"auto", "direct", "winograd"};

const char *mafat_algorithm_name(enum mafat_algorithm algorithm)
{
  return algorithm_names[algorithm];
}

bool mafat_algorithm_find(enum mafat_algorithm *algorithm, const char *name)
{
  for (int a = MAFAT_AUTO; a <= MAFAT_WINOGRAD; a++)
    if (strcmp(name, algorithm_names[a]) == 0) {
      *algorithm = (enum mafat_algorithm)a;
      return true;
    }
  return false;
}
