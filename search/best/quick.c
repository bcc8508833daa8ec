/* Finds a plan within milliseconds if whole maps fit the budget. Each layer gets
 * the algorithm that is fastest on whole maps, and only a few cuts are compared. Called by
 * search/best/best.c. Allocates in the options' heap. */
#include "search/best/quick.h"

#include "predictor/plan/winograd.h"
#include "predictor/planning/planning.h"
#include "search/best/depthwise.h"
#include "search/best/proposer.h"

#include <math.h>

enum { MOST_LAID_OUT = 6 }; /* greatest number of proposals that are compared */

static const double NEAR = 1.15; /* limit of a proposal's estimated time, relative to the fastest */
/* A candidate that needs fewer bytes than the fastest one is preferred if its time is at most this
 * factor greater. */
static const double SLOWER = 1.005;

struct quick {
  struct mafat_search_request request; /* copy of the caller's; request.options = &options */
  struct mafat_plan_options options;
  enum mafat_algorithm *algorithms; /* [layer]: fastest on whole maps; NULL: no layer has several */
  struct mafat_front *tried;        /* candidates; their offsets are not assigned yet */
  struct mafat_diagnostic *d;
};

/* ---- algorithms ---- */

static bool has_choice(const struct mafat_search_request *r)
{
  if (r->options->algorithm != MAFAT_AUTO || r->options->algorithms) return false;
  for (int l = 0; l < r->n_layers; l++)
    if (mafat_winograd_applies(&r->network->layers[l])) return true;
  return false;
}

/* Chooses each layer's fastest algorithm on whole maps. */
static int choose_algorithms(struct quick *q)
{
  static const struct mafat_cost_scope scope = {.max_blocks = MAFAT_MOST_BLOCKS};
  const struct mafat_search_request *r = &q->request;
  struct mafat_costs *costs;
  if (!has_choice(r)) return MAFAT_OK;
  q->algorithms =
      mafat_heap_calloc(q->options.heap, (size_t)r->n_layers, sizeof *q->algorithms);
  if (!q->algorithms) return MAFAT_ENOMEM;
  int code = mafat_costs_make(&costs, r, &scope, q->d);
  if (code) return code;
  for (int l = 0; l < r->n_layers; l++) q->algorithms[l] = MAFAT_DIRECT;
  for (int l = 0; l < r->n_layers; l++)
    if (costs->has_choice[l])
      q->algorithms[costs->reader[l]] = mafat_cost_fastest(costs, 0, MAFAT_WINOGRAD_LARGE, l);
  mafat_costs_close(&costs);
  return MAFAT_OK;
}

/* ---- candidates ---- */

static int add_cut(struct quick *q, struct mafat_cut cut)
{
  struct mafat_group_spec group = {.cut = cut};
  struct mafat_spec spec = {.groups = &group, .n_groups = 1};
  return mafat_front_add(q->tried, &q->request, &spec, q->d);
}

/* Among the candidates that fit the budget and take at most `slower` times the time of the fastest
 * of them, finds the index of the one with the fewest bytes. -1: none fits. */
static int find_fastest(const struct quick *q, double slower)
{
  const struct mafat_candidate *list = q->tried->list;
  double ms = INFINITY;
  int best = -1;
  for (int i = 0; i < q->tried->n; i++)
    if (list[i].charge_bytes <= q->request.budget_bytes) ms = fmin(ms, list[i].ms);
  for (int i = 0; i < q->tried->n; i++) {
    if (list[i].charge_bytes > q->request.budget_bytes || list[i].ms > ms * slower) continue;
    if (best < 0 || list[i].charge_bytes < list[best].charge_bytes) best = i;
  }
  return best;
}

static int add_depthwise(struct quick *q)
{
  int best = find_fastest(q, SLOWER);
  if (best < 0) return MAFAT_OK;
  struct mafat_spec *spec;
  int code = mafat_spec_copy(&spec, q->tried->list[best].spec, q->options.heap);
  if (code == MAFAT_OK)
    code = mafat_depthwise_add(q->tried, &q->request, spec, mafat_front_add, q->d);
  mafat_spec_close(&spec);
  return code;
}

/* Adds candidates: the fastest sequence of groups that the proposer finds, and sequences for
 * smaller arenas that take at most NEAR times its time. All weights are kept in memory. */
static int try_few(struct quick *q)
{
  static const int rows[] = {2, 4, 6, 16};
  static const struct mafat_cost_scope scope = {
      .max_blocks = MAFAT_MOST_BLOCKS, .rows = rows, .n_rows = sizeof rows / sizeof *rows};
  struct mafat_proposer p;
  int code = mafat_proposer_open(&p, &q->request, &scope, q->d);
  p.slowest = NEAR;
  if (code == MAFAT_OK) code = mafat_proposer_descend(&p, 0, false, 0);
  /* the first and the last proposal, and some between them */
  int n = mafat_min(p.n_proposals, MOST_LAID_OUT);
  for (int i = 0; i < n && code == MAFAT_OK; i++)
    code = mafat_front_add(q->tried, &q->request,
                           p.proposals[n > 1 ? i * (p.n_proposals - 1) / (n - 1) : 0].spec, q->d);
  mafat_proposer_close(&p);
  return code;
}

/* ---- search ---- */

/* Assigns offsets to the buffers of the fastest candidate, then of the next, until one still fits
 * the budget. Moves it to the Pareto front. */
static int take(struct quick *q, struct mafat_front *front)
{
  for (int best; (best = find_fastest(q, SLOWER)) >= 0;) {
    struct mafat_candidate *c = &q->tried->list[best];
    int code = mafat_candidate_measure(c, &q->request, c->spec, q->d);
    if (code) return code;
    if (c->charge_bytes > q->request.budget_bytes) continue;
    code = mafat_candidate_name_algorithms(c, &q->request, q->tried->heap, q->d);
    return code ? code : mafat_front_put(front, c);
  }
  return MAFAT_OK;
}

static int search(struct quick *q, struct mafat_front *front)
{
  int code = choose_algorithms(q);
  if (code) return code;
  q->options.algorithms = q->algorithms;
  code = add_cut(q, mafat_cut_grid(1, 1));
  if (code || find_fastest(q, 1) < 0) return code;
  code = try_few(q);
  if (code == MAFAT_OK) code = add_depthwise(q);
  return code ? code : take(q, front);
}

int mafat_quick_find(struct mafat_front *front, const struct mafat_search_request *request,
                     struct mafat_diagnostic *d)
{
  struct quick q = {.request = *request, .options = *request->options, .d = d};
  q.request.options = &q.options;
  q.request.plan_ends = 0;
  int code = mafat_front_open(&q.tried);
  if (code == MAFAT_OK) code = search(&q, front);
  mafat_heap_free(q.options.heap, q.algorithms);
  mafat_front_close(&q.tried);
  return code;
}
