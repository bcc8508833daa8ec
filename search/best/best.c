/* The search "best". Dynamic programming (proposer.h) proposes plans for smaller and smaller
 * arenas, until none fits. Weights that are kept are not in the arena; so they have a price in ns
 * per byte, and several prices are tried. The proposals are laid out and predicted exactly, and
 * the Pareto front of bytes and milliseconds is kept. Called by search/smallest/smallest.c, and by
 * api/ through its row in search/searches.c. Allocates from a heap of its own, which it frees; the
 * caller closes the front. */
#include "search/best/best.h"

#include "predictor/planning/planning.h"
#include "search/best/depthwise.h"
#include "search/best/proposer.h"
#include "search/best/quick.h"
#include "search/common/effort.h"
#include "search/least/least.h"
#include "search/least/grouping.h"
#include "transform/op_schedule_memo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  MAX_FINALISTS = 36,
  MAX_LEAST = 12,      /* number of smallest proposals that the search for the least arena tries */
  /* effort of finding groupings, as the sum of the layers of all plans that are tried: in the
   * search for the least arena, and otherwise */
  EVALUATIONS = 350000,
  FEW_EVALUATIONS = 60000,
  FEW_LAYERS = 200     /* greatest number of layers with which a search takes less than a second */
};

/* a plan's sum of costs may exceed its predicted time by this factor */
static const double NEAR = 1.03;

/* ---- proposals ---- */

static int propose_all(struct mafat_proposer *s)
{
  double disk = s->request->calibration->disk_ns, dear = 1e6;
  if (s->request->most_ms > 0) s->most_ns = s->request->most_ms * 1e6 * NEAR;
  int code = mafat_proposer_descend(s, 0, false, 0);
  if (s->request->least) return code;
  /* Prices from near 0 up: keeping a byte saves at most the time of reading it (disk_ns). At the
   * price `dear`, no weights are kept. */
  if (code == MAFAT_OK) code = mafat_proposer_descend(s, disk * 0.03, true, 8);
  if (code == MAFAT_OK) code = mafat_proposer_descend(s, disk * 0.3, true, 8);
  if (code == MAFAT_OK) code = mafat_proposer_descend(s, dear, true, 8);
  if (code == MAFAT_OK) code = mafat_proposer_descend(s, dear, true, 4);
  return code;
}

/* ---- finalists ---- */

static int by_bytes(const void *a, const void *b)
{
  const struct mafat_proposal *x = a, *y = b;
  if (x->bytes < y->bytes || x->bytes > y->bytes) return x->bytes < y->bytes ? -1 : 1;
  if (x->ns < y->ns || x->ns > y->ns) return x->ns < y->ns ? -1 : 1;
  return mafat_spec_compare(x->spec, y->spec, false);
}

/* Reduces the proposals to finalists. Keeps those that take at most 4 % longer than the fastest
 * proposal with fewer bytes, as their costs are approximate. Sorts these into bins whose limits in
 * bytes form a geometric series, and keeps the fastest of each bin. Frees the others. */
static void choose_finalists(struct mafat_proposer *s)
{
  enum { SLACK_PERCENT = 4 };
  double fastest = INFINITY;
  int n = 0;
  if (s->n_proposals == 0) return;
  qsort(s->proposals, (size_t)s->n_proposals, sizeof *s->proposals, by_bytes);
  double least = fmax(s->proposals[0].bytes, 1),
         most = fmax(s->proposals[s->n_proposals - 1].bytes, least);
  double ratio = pow(most / least, 1.0 / MAX_FINALISTS) * (1 + 1e-9), limit = least * ratio;
  for (int i = 0; i < s->n_proposals; i++) {
    struct mafat_proposal *p = &s->proposals[i];
    bool near = p->ns <= fastest * (1 + SLACK_PERCENT / 100.0);
    if (p->ns < fastest) fastest = p->ns;
    /* p is in the same bin as the last finalist. The smallest proposal has a bin of its own. */
    if (near && n > 1 && p->bytes <= limit) {
      struct mafat_proposal *last = &s->proposals[n - 1];
      if (p->ns < last->ns) {
        mafat_spec_close(&last->spec);
        *last = *p;
      } else {
        mafat_spec_close(&p->spec);
      }
    } else if (near) {
      while (p->bytes > limit) limit *= ratio;
      s->proposals[n++] = *p;
    } else {
      mafat_spec_close(&p->spec);
    }
  }
  s->n_proposals = n;
}

/* Adds standard plans to the front, whatever the cost tables say. No other plans of this search
 * have tiles: groups by rows need less memory and compute nothing twice, so tiles have no cost
 * tables. */
static int add_seeds(struct mafat_proposer *s, struct mafat_front *f)
{
  const struct mafat_group_weights streamed = {.placement = MAFAT_STREAMED};
  struct mafat_group_spec seeds[] = {{.cut = mafat_cut_grid(1, 1)},
                                     {.cut = mafat_cut_rows(0)},
                                     {.cut = mafat_cut_grid(2, 2)},
                                     {.cut = mafat_cut_grid(3, 3)},
                                     {.cut = mafat_cut_panels(false), .weights = streamed},
                                     {.cut = mafat_cut_panels(false), .weights = mafat_least_ring},
                                     {.cut = mafat_cut_rows(1), .weights = mafat_least_ring}};
  int code = MAFAT_OK;
  for (size_t i = 0; i < sizeof seeds / sizeof *seeds && code == MAFAT_OK; i++) {
    struct mafat_spec spec = {.groups = &seeds[i], .n_groups = 1};
    code = mafat_front_add(f, s->request, &spec, s->d);
  }
  return code;
}

static bool has_narrow_weights(const struct mafat_proposer *s)
{
  for (int l = 0; l < s->request->n_layers; l++)
    if (mafat_layer_widens(&s->request->network->layers[l])) return true;
  return false;
}

/* Adds a variant of the spec in which groups with the smallest ring have the default ring instead,
 * because a disk is slower with few reads in flight and the cost tables ignore this. Called for
 * networks with weights narrower than floats: their default ring has few bytes. */
static int add_with_usual_ring(const struct mafat_proposer *s, struct mafat_front *f,
                               const struct mafat_spec *spec)
{
  struct mafat_spec *copy = NULL;
  bool changed = false;
  int code = mafat_spec_copy(&copy, spec, s->heap);
  for (int g = 0; code == MAFAT_OK && g < copy->n_groups; g++) {
    if (copy->groups[g].weights.ring != MAFAT_RING_READS) continue;
    copy->groups[g].weights.ring = 0;
    changed = true;
  }
  if (code == MAFAT_OK && changed) code = mafat_front_add(f, s->request, copy, s->d);
  mafat_spec_close(&copy);
  return code;
}

static int grouping(const struct mafat_proposer *s, struct mafat_front *f, long long evaluations)
{
  bool flat = mafat_grouping_tiles(s->request->network);
  struct mafat_sequence *sequence;
  int code =
      mafat_sequence_make(&sequence, s->request->network, s->request->n_layers, flat, s->heap);
  if (code == MAFAT_OK) code = mafat_grouping_least(f, s->request, sequence, evaluations, s->d);
  mafat_sequence_close(&sequence);
  return code;
}

/* Finds the grouping with the smallest arena (least/grouping.h) and adds it twice: with kept and
 * with loaded weights. Does nothing for Darknet's networks: they are chains with few branches, so
 * the proposals already have good groups. */
static int add_groupings(const struct mafat_proposer *s, struct mafat_front *f)
{
  struct mafat_front *one = NULL;
  if (!s->request->network->format.any_order) return MAFAT_OK;
  int code = mafat_front_open(&one);
  if (code == MAFAT_OK) code = grouping(s, one, FEW_EVALUATIONS);
  for (int placement = MAFAT_KEPT; code == MAFAT_OK && one->n > 0 && placement <= MAFAT_LOADED;
       placement++) {
    struct mafat_spec *spec = one->list[0].spec;
    for (int g = 0; g < spec->n_groups; g++)
      spec->groups[g].weights.placement = (enum mafat_weight_placement)placement;
    code = mafat_front_add(f, s->request, spec, s->d);
  }
  mafat_front_close(&one);
  return code;
}

static int lay_out(struct mafat_proposer *s, struct mafat_front *f)
{
  bool narrow = has_narrow_weights(s);
  bool all = s->request->most_ms <= 0;
  int code = all ? add_seeds(s, f) : MAFAT_OK;
  if (code == MAFAT_OK && all) code = add_groupings(s, f);
  for (int i = 0; i < s->n_proposals && code == MAFAT_OK && mafat_effort_left(s->request, 0); i++) {
    code = mafat_front_add(f, s->request, s->proposals[i].spec, s->d);
    if (code == MAFAT_OK && narrow) code = add_with_usual_ring(s, f, s->proposals[i].spec);
  }
  return code;
}

/* The search for the least arena: lays out the smallest proposals, all with kept weights, and then
 * reduces the arena of the best one (least/least.h). */
static int lay_out_least(struct mafat_proposer *s, struct mafat_front *f)
{
  struct mafat_group_spec rows = {.cut = mafat_cut_rows(1)};
  struct mafat_spec seed = {.groups = &rows, .n_groups = 1};
  int code = mafat_least_take(f, s->request, &seed, s->d);
  if (s->n_proposals > 0)
    qsort(s->proposals, (size_t)s->n_proposals, sizeof *s->proposals, by_bytes);
  for (int i = 0; i < mafat_min(s->n_proposals, MAX_LEAST) && code == MAFAT_OK; i++)
    code = mafat_least_take(f, s->request, s->proposals[i].spec, s->d);
  /* In small networks, the plan is refined both before and after groupings are tried, because it
   * may end in different plans. */
  if (code == MAFAT_OK && s->request->n_layers <= FEW_LAYERS)
    code = mafat_least_refine(f, s->request, s->d);
  if (code == MAFAT_OK) code = grouping(s, f, EVALUATIONS);
  if (code == MAFAT_OK) code = mafat_least_refine(f, s->request, s->d);
  return code ? code : mafat_least_lower(f, s->request, s->d);
}

static int search(struct mafat_proposer *s, struct mafat_front *f)
{
  int code = propose_all(s);
  mafat_proposer_end(s);
  if (code) return code;
  if (s->request->least) return lay_out_least(s, f);
  choose_finalists(s);
  return lay_out(s, f);
}

/* Searches with one number of threads and adds the plans to the front. */
static int search_threads(struct mafat_front *f, const struct mafat_search_request *request,
                          struct mafat_diagnostic *d)
{
  struct mafat_proposer s;
  int code = mafat_proposer_open(&s, request, &mafat_full_scope, d);
  if (code == MAFAT_OK) code = search(&s, f);
  mafat_proposer_close(&s);
  return code;
}

/* If the search chooses the number of threads, calls `find` for 1, 2, 4 ... and most_threads
 * threads; else once. */
static int for_threads(struct mafat_front *f, const struct mafat_search_request *request,
                       int (*find)(struct mafat_front *f,
                                   const struct mafat_search_request *request,
                                   struct mafat_diagnostic *d),
                       struct mafat_diagnostic *d)
{
  struct mafat_plan_options options = *request->options;
  struct mafat_search_request r = *request;
  int most = r.most_threads, code = MAFAT_OK;
  if (!most) return find(f, request, d);
  r.options = &options;
  if (r.least) most = 1; /* each additional thread has its own scratch */
  for (int threads = 1; threads <= most && code == MAFAT_OK;) {
    options.n_threads = threads;
    code = find(f, &r, d);
    threads = threads == most ? most + 1 : mafat_min(2 * threads, most);
  }
  return code;
}

/* Adds variants of the front's plans with other numbers of rows of fused depthwise layers
 * (depthwise.h). */
static int add_depthwise(struct mafat_front *f, const struct mafat_search_request *request,
                         struct mafat_diagnostic *d)
{
  struct mafat_plan_options options = *request->options;
  struct mafat_search_request r = *request;
  int n = f->n, code = MAFAT_OK;
  r.options = &options;
  for (int i = 0; i < n && code == MAFAT_OK && mafat_effort_left(request, 0); i++) {
    options.n_threads = f->list[i].threads;
    code = mafat_depthwise_add(f, &r, f->list[i].spec, mafat_front_add, d);
  }
  mafat_front_reduce(f);
  return code;
}

/* ---- one budget ---- */

/* The algorithms of a candidate. MAFAT_ENOMEM. */
static int copy_algorithms(enum mafat_algorithm **out, const struct mafat_candidate *c,
                           const struct mafat_search_request *r, struct mafat_diagnostic *d)
{
  struct mafat_plan_options options = *r->options;
  struct mafat_plan *plan;
  size_t n = (size_t)r->n_layers;
  options.n_threads = c->threads;
  int code = mafat_plan_make(&plan, c->spec, r->network, r->n_layers, &options, d);
  if (code) return code;
  *out = mafat_heap_calloc(options.heap, n, sizeof **out);
  if (*out) memcpy(*out, plan->algorithms, n * sizeof **out);
  mafat_plan_close(&plan);
  return *out ? MAFAT_OK : MAFAT_ENOMEM;
}

/* Finds a plan for the request's budget. *done: the search is over, because no plan fits, or
 * because the request wants only the first plan (plan_seconds < 0). Otherwise the search continues
 * with the algorithms of this plan, so that they do not depend on how long it takes. */
static int find_first(struct mafat_front *f, struct mafat_search_request *r,
                      struct mafat_plan_options *options, bool *done, struct mafat_diagnostic *d)
{
  enum mafat_algorithm *algorithms = NULL;
  *done = false;
  if (r->budget_bytes == 0 || r->least) return MAFAT_OK;
  int code = for_threads(f, r, mafat_quick_find, d);
  if (code) return code;
  mafat_front_reduce(f);
  if (f->n > 0) r->most_ms = f->list[f->n - 1].ms;
  *done = f->n == 0 || r->plan_seconds < 0;
  if (*done || options->algorithm != MAFAT_AUTO) return MAFAT_OK;
  code = copy_algorithms(&algorithms, &f->list[f->n - 1], r, d);
  options->algorithms = algorithms;
  return code;
}

/* ---- search ---- */

/* Adds all plans to the front, removes those that are not on it, and assigns offsets. */
static int find_all(struct mafat_front *f, const struct mafat_search_request *r,
                    struct mafat_diagnostic *d)
{
  int code = for_threads(f, r, search_threads, d);
  if (code == MAFAT_OK) mafat_front_reduce(f);
  if (code == MAFAT_OK && !r->least) code = add_depthwise(f, r, d);
  if (code == MAFAT_OK && f->n == 0)
    code = mafat_fail(d, MAFAT_ELIMIT,
                      "%s: the memory of every plan is too large to compute", r->network->path);
  if (code == MAFAT_OK) code = mafat_front_assign_offsets(f, r, d);
  for (int i = 0; i < f->n && code == MAFAT_OK; i++)
    code = mafat_candidate_name_algorithms(&f->list[i], r, f->heap, d);
  return code;
}

int mafat_search_front(struct mafat_front **out, const struct mafat_search_request *request,
                       struct mafat_diagnostic *d)
{
  struct mafat_plan_options options = *request->options;
  struct mafat_search_request r = *request;
  struct mafat_front *f = NULL;
  bool done = false;
  *out = NULL;
  r.options = &options;
  if (r.plan_seconds > 0) r.plan_ends = mafat_effort_now() + (long long)(r.plan_seconds * 1e9);
  int code = mafat_heap_open(&options.heap);
  mafat_heap_limit(options.heap, r.allowance);
  if (code == MAFAT_OK) code = mafat_op_schedule_memo_open(&options.orders, options.heap);
  if (code == MAFAT_OK) code = mafat_front_open(&f);
  if (code == MAFAT_OK) code = find_first(f, &r, &options, &done, d);
  if (code == MAFAT_OK && !done) code = find_all(f, &r, d);
  if (code == MAFAT_OK) f->search_bytes = mafat_heap_most_bytes(options.heap);
  if (code == MAFAT_OK) *out = f;
  else mafat_front_close(&f);
  mafat_op_schedule_memo_close(&options.orders);
  mafat_heap_close(&options.heap);
  return code == MAFAT_ENOMEM ? mafat_fail(d, code, "%s: out of memory", request->network->path)
                              : code;
}

const struct mafat_search mafat_searching_best = {
    .name = "best",
    .finds = "the best that is found",
    .unfit = "no plan was found that needs less",
    .help = "of the plans within the budget the one that is predicted to\n"
            "be the fastest\n",
    .timed = true,
    .find = mafat_search_front};
