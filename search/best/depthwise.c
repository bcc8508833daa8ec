/* Chooses how many rows of a depthwise layer are computed at a time inside the 1x1 convolution that
 * reads it. Each number is tried for all such layers at once, and the time and live bytes of each
 * layer are noted. Layers influence each other only through the size of the arena, so each layer
 * gets the fastest number whose live bytes fit. Called by search/best/best.c and
 * search/best/quick.c. Allocates from request->options->heap. */
#include "search/best/depthwise.h"

#include "predictor/cost/latency.h"
#include "predictor/planning/planning.h"

#include <math.h>
#include <string.h>

enum { USUAL = -1 /* the default number; the spec then has no word */, N_TRIED = 11 };
/* numbers of rows that are tried; 0: the layer is not fused */
static const int tried[N_TRIED] = {USUAL, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256};

/* Among numbers that take at most 0.5 % longer than the fastest one, the default is preferred, then
 * the one with the fewest live bytes. */
static const double SLACK = 1.005;

struct depthwise_chooser {
  const struct mafat_search_request *request;
  struct mafat_heap *heap;
  struct mafat_plan *plan; /* plan of the spec that is optimized */
  struct mafat_spec *spec; /* copy of that spec, whose depthwise words are replaced */
  int *layers, n;          /* (n) depthwise layers that are fused into a 1x1 convolution */
  int *rows;               /* (n) number of rows of each of these layers; USUAL: the default */
  double *ms;              /* [tried][n]: time of the layer and its 1x1 convolution, in ms */
  size_t *live;            /* [tried][n]: greatest live bytes while these two layers run */
  double *layers_ms;       /* (n_layers) time of each layer in the plan that is tried, in ms */
  size_t *lives;           /* (plan->n_positions) live bytes at each position of that plan */
  size_t others;           /* greatest live bytes while any other layer runs */
  struct mafat_diagnostic *d;
};

static int rows_at(const struct depthwise_chooser *c, int t, int i)
{
  int all = c->request->network->layers[c->layers[i]].out.h;
  return tried[t] > all ? all : tried[t];
}

static int write_words(struct depthwise_chooser *c)
{
  for (int g = 0; g < c->spec->n_groups; g++) c->spec->groups[g].n_depthwise = 0;
  for (int i = 0; i < c->n; i++) {
    int layer = c->layers[i];
    struct mafat_depthwise_word word = {c->rows[i], mafat_span(layer, layer + 1)};
    if (c->rows[i] != USUAL &&
        mafat_depthwise_word_add(c->heap, &c->spec->groups[c->plan->group_of[layer]], word))
      return MAFAT_ENOMEM;
  }
  return MAFAT_OK;
}

/* ---- measuring ---- */

static void add_up_lives(struct depthwise_chooser *c, const struct mafat_layout *layout,
                         const struct mafat_plan *plan)
{
  memset(c->lives, 0, (size_t)plan->n_positions * sizeof *c->lives);
  for (int b = 0; b < layout->n_buffers; b++) {
    const struct mafat_buffer *buffer = &layout->buffers[b];
    int last = mafat_min(buffer->last / 2, plan->n_positions - 1);
    for (int at = mafat_max(buffer->first / 2, 0); at <= last; at++) c->lives[at] += buffer->bytes;
  }
}

static void note(struct depthwise_chooser *c, const struct mafat_plan *plan, int t)
{
  for (int i = 0; i < c->n; i++) {
    int layer = c->layers[i], top = mafat_plan_outermost(c->plan, layer);
    size_t *of_layer = &c->lives[plan->position[layer]], *of_top = &c->lives[plan->position[top]];
    c->ms[t * c->n + i] = c->layers_ms[layer] + c->layers_ms[top];
    c->live[t * c->n + i] = *of_layer > *of_top ? *of_layer : *of_top;
  }
  if (tried[t] != USUAL) return;
  for (int i = 0; i < c->n; i++)
    c->lives[plan->position[c->layers[i]]] =
        c->lives[plan->position[mafat_plan_outermost(c->plan, c->layers[i])]] = 0;
  for (int at = 0; at < plan->n_positions; at++)
    if (c->lives[at] > c->others) c->others = c->lives[at];
}

static int try(struct depthwise_chooser *c, int t)
{
  const struct mafat_search_request *r = c->request;
  struct mafat_plan *plan = NULL;
  struct mafat_layout *layout = NULL;
  for (int i = 0; i < c->n; i++) c->rows[i] = rows_at(c, t, i);
  int code = write_words(c);
  if (code == MAFAT_OK)
    code = mafat_plan_make(&plan, c->spec, r->network, r->n_layers, r->options, c->d);
  if (code == MAFAT_OK) code = mafat_layout_sketch(&layout, r->network, plan, c->d);
  if (code == MAFAT_OK)
    code = mafat_latency_of_layers(c->layers_ms, r->network, plan, layout, r->calibration);
  if (code == MAFAT_OK) {
    add_up_lives(c, layout, plan);
    note(c, plan, t);
  }
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  return code;
}

/* ---- choosing ---- */

/* Chooses an index in `tried` for depthwise layer i: that of the fastest number whose live bytes
 * fit into `arena` or, if none fits, of the number with the fewest live bytes. */
static int choose(const struct depthwise_chooser *c, int i, size_t arena)
{
  double fastest = INFINITY;
  int least = 0, chosen = -1;
  for (int t = 0; t < N_TRIED; t++) {
    size_t live = c->live[t * c->n + i];
    if (live < c->live[least * c->n + i]) least = t;
    if (live <= arena) fastest = fmin(fastest, c->ms[t * c->n + i]);
  }
  for (int t = 0; t < N_TRIED; t++) {
    size_t live = c->live[t * c->n + i];
    if (live > arena || c->ms[t * c->n + i] > fastest * SLACK) continue;
    if (tried[t] == USUAL) return t;
    if (chosen < 0 || live < c->live[chosen * c->n + i]) chosen = t;
  }
  return chosen < 0 ? least : chosen;
}

static size_t least_arena(const struct depthwise_chooser *c)
{
  size_t arena = c->others;
  for (int i = 0; i < c->n; i++) {
    size_t least = SIZE_MAX;
    for (int t = 0; t < N_TRIED; t++)
      if (c->live[t * c->n + i] < least) least = c->live[t * c->n + i];
    if (least > arena) arena = least;
  }
  return arena;
}

/* ---- words of a plan ---- */

static int open(struct depthwise_chooser *c, const struct mafat_spec *spec)
{
  const struct mafat_search_request *r = c->request;
  size_t n_layers = (size_t)r->n_layers;
  int code = mafat_plan_make(&c->plan, spec, r->network, r->n_layers, r->options, c->d);
  if (code == MAFAT_OK) code = mafat_plan_spec(&c->spec, c->plan, r->network);
  if (code) return code;
  c->layers = mafat_heap_calloc(c->heap, n_layers, sizeof *c->layers);
  for (int l = 0; c->layers && !c->plan->parts && l < r->n_layers; l++)
    if (c->plan->outer[l] >= 0 && mafat_layer_is_depthwise(&r->network->layers[l]))
      c->layers[c->n++] = l;
  size_t n = (size_t)c->n + 1; /* avoids a table of size 0 */
  c->rows = mafat_heap_calloc(c->heap, n, sizeof *c->rows);
  c->ms = mafat_heap_calloc(c->heap, N_TRIED * n, sizeof *c->ms);
  c->live = mafat_heap_calloc(c->heap, N_TRIED * n, sizeof *c->live);
  c->layers_ms = mafat_heap_calloc(c->heap, n_layers, sizeof *c->layers_ms);
  c->lives = mafat_heap_calloc(c->heap, (size_t)c->plan->n_positions, sizeof *c->lives);
  return c->layers && c->rows && c->ms && c->live && c->layers_ms && c->lives ? MAFAT_OK
                                                                              : MAFAT_ENOMEM;
}

static void close(struct depthwise_chooser *c)
{
  mafat_heap_free(c->heap, c->layers);
  mafat_heap_free(c->heap, c->rows);
  mafat_heap_free(c->heap, c->ms);
  mafat_heap_free(c->heap, c->live);
  mafat_heap_free(c->heap, c->layers_ms);
  mafat_heap_free(c->heap, c->lives);
  mafat_spec_close(&c->spec);
  mafat_plan_close(&c->plan);
}

int mafat_depthwise_add(struct mafat_front *front, const struct mafat_search_request *request,
                        const struct mafat_spec *spec,
                        int (*add)(struct mafat_front *front,
                                   const struct mafat_search_request *request,
                                   const struct mafat_spec *spec, struct mafat_diagnostic *d),
                        struct mafat_diagnostic *d)
{
  struct depthwise_chooser c = {.request = request, .heap = request->options->heap, .d = d};
  int code = open(&c, spec);
  for (int t = 0; t < N_TRIED && c.n > 0 && code == MAFAT_OK; t++) code = try(&c, t);
  if (c.n > 0 && code == MAFAT_OK) {
    size_t usual = c.others;
    for (int i = 0; i < c.n; i++)
      if (c.live[i] > usual) usual = c.live[i];
    const size_t arenas[] = {usual, SIZE_MAX, least_arena(&c)};
    for (size_t a = 0; a < sizeof arenas / sizeof *arenas && code == MAFAT_OK; a++) {
      bool any = false;
      for (int i = 0; i < c.n; i++) {
        c.rows[i] = rows_at(&c, choose(&c, i, arenas[a]), i);
        any = any || c.rows[i] != USUAL;
      }
      if (!any) continue;
      code = write_words(&c);
      if (code == MAFAT_OK) code = add(front, request, c.spec, d);
    }
  }
  close(&c);
  return code == MAFAT_EINVAL || code == MAFAT_ELIMIT ? MAFAT_OK : code;
}
