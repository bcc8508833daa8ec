/* The search "best": dynamic programming over cuts. For a given arena size, it finds the fastest
 * sequence of groups from the costs of layers and spans. Then it shrinks the arena below what that
 * sequence needs, until nothing fits. So every trade of bytes for milliseconds is found. Kept
 * weights add to all groups alike: they have a price per byte, and several prices are tried. The
 * proposals are laid out and predicted exactly, and the Pareto front is kept. Called through its
 * row in search/searches.c, and by search/smallest/smallest.c. Allocates in a heap of its own. */
#include "search/best/best.h"

#include "predictor/plan/algorithms.h"
#include "predictor/schedule/fetches.h"
#include "predictor/plan/packing.h"
#include "predictor/planning/planning.h"
#include "search/best/depthwise.h"
#include "search/common/effort.h"
#include "search/least/least.h"
#include "search/least/grouping.h"
#include "search/best/spans.h"
#include "transform/op_schedule_memo.h"

#include <math.h>
#include <stdlib.h>

enum {
  MAX_BLOCKS = 72,
  MAX_STEPS = 150,     /* arenas tried per price */
  MAX_FINALISTS = 36,
  MAX_LEAST = 12,      /* smallest proposals tried when searching for the least arena */
  EVALUATIONS = 350000,      /* effort of groupings when searching for the least arena, in layers */
  FEW_EVALUATIONS = 60000,   /* effort otherwise */
  FEW_LAYERS = 200     /* networks that are searched within a second */
};

static const double ARENA_STEP = 0.965; /* ratio of each arena to the previous one, at most */

/* Groups that run each layer once. */
enum once { ONCE_WHOLE, ONCE_WHOLE_LOADED, ONCE_PANELS, ONCE_PANELS_STREAMED, N_ONCE };

enum { ROWS = N_ONCE, N_STATES }; /* state of a cut: how the group that ends there is cut */

/* The cheapest sequence of groups up to a cut: its cost and its last group. */
struct best_state {
  float cost; /* ns, with the price of kept weights; INFINITY: nothing fits */
  float ns, kept, peak;
  int from, from_state;
  const struct mafat_span_option *option; /* for groups of rows */
};

/* A proposed sequence of groups, before it is laid out. */
struct proposal {
  struct mafat_spec *spec;
  double bytes, ns;
};

struct best_search {
  const struct mafat_search_request *request;
  struct mafat_heap *heap;  /* the options'; for all of this */
  struct mafat_costs *costs;
  struct mafat_spans *spans;
  int once_candidates[N_ONCE];
  struct mafat_fetch_sizes fetch;
  struct best_state *states;     /* [cut][N_STATES] */
  enum mafat_algorithm *algorithms; /* [layer]: in the proposed sequence */
  int *layers;              /* identity: 0, 1, 2 ... */
  float group_ns;           /* minimum gain of an additional group */
  double arena, price;      /* bytes for maps, scratch and loaded weights; ns per kept byte */
  bool reads;               /* loaded or streamed weights are allowed */
  int ring;                 /* number of reads that the ring of fetches holds */
  struct proposal *proposals;
  int n_proposals, capacity;
  struct mafat_diagnostic *d;
};

/* ---- blocks of layers that run once ---- */

struct once_cost {
  float ns, peak, kept;
};

static int once_candidate(const struct mafat_costs *c, enum once once)
{
  for (int w = 0; w < c->n_cut_candidates; w++) {
    const struct mafat_cut_candidate *cut_candidate = &c->cut_candidates[w];
    if (cut_candidate->cut ==
            (once < ONCE_PANELS ? MAFAT_CANDIDATE_WHOLE : MAFAT_CANDIDATE_PANELS) &&
        cut_candidate->streamed == (once == ONCE_PANELS_STREAMED))
      return w;
  }
  return 0;
}

static double read_ns_of(const struct best_search *s)
{
  return s->request->calibration->disk_ns;
}

/* Cost of one layer with one algorithm. */
static struct once_cost cost_once(const struct best_search *s, enum once once,
                                  enum mafat_algorithm algorithm, int layer)
{
  const struct mafat_layer_cost *cost =
      mafat_cost_of(s->costs, s->once_candidates[once], algorithm, layer);
  float weights = s->costs->weights_bytes[layer];
  struct once_cost sum = {cost->ns, cost->live_bytes, 0};
  bool loaded = once == ONCE_WHOLE_LOADED || (once == ONCE_PANELS_STREAMED && cost->loaded);
  if (once == ONCE_WHOLE || once == ONCE_PANELS || s->costs->must_keep[layer]) {
    sum.kept = weights;
    return sum;
  }
  const struct mafat_calibration *k = s->request->calibration;
  bool packed = s->request->options->packed;
  if (loaded || !packed) sum.ns += weights * (float)(packed ? k->copy_ns : k->pack_ns);
  if (loaded) sum.peak += weights;
  sum.ns = (float)mafat_spans_overlap(sum.ns, weights * read_ns_of(s));
  return sum;
}

/* Chooses the layer's algorithm in a group that runs it once: the fastest that fits. */
static enum mafat_algorithm choose_once(const struct best_search *s, enum once once, int layer,
                                        struct once_cost *cost)
{
  enum mafat_algorithm chosen = MAFAT_DIRECT;
  *cost = cost_once(s, once, MAFAT_DIRECT, layer);
  for (int a = MAFAT_DIRECT + 1; a < MAFAT_N_ALGORITHMS && s->costs->has_choice[layer]; a++) {
    struct once_cost other = cost_once(s, once, (enum mafat_algorithm)a, layer);
    if (other.peak > s->arena || (cost->peak <= s->arena && cost->ns <= other.ns)) continue;
    *cost = other;
    chosen = (enum mafat_algorithm)a;
  }
  return chosen;
}

static bool add_block_once(const struct best_search *s, enum once once, int block,
                           struct once_cost *sum)
{
  const struct mafat_costs *c = s->costs;
  *sum = (struct once_cost){0, 0, 0};
  for (int l = c->cuts[block]; l < c->cuts[block + 1]; l++) {
    struct once_cost cost;
    if (!c->runs[l]) continue;
    choose_once(s, once, l, &cost);
    if (cost.peak > s->arena) return false;
    sum->ns += cost.ns;
    sum->kept += cost.kept;
    if (cost.peak > sum->peak) sum->peak = cost.peak;
  }
  return true;
}

/* ---- dynamic programming ---- */

static struct best_state *state_at(const struct best_search *s, int cut, int state)
{
  return &s->states[cut * N_STATES + state];
}

/* Penalty of a group, because costs are approximate: small gains do not justify more groups. */
static const double GROUP_SHARE = 0.004; /* of the time of the plan with whole maps */

static void extend(const struct best_search *s, int from, int from_state, int to, int to_state,
                   const struct once_cost *add, const struct mafat_span_option *option)
{
  const struct best_state *before = state_at(s, from, from_state);
  struct best_state *after = state_at(s, to, to_state);
  bool same = from > 0 && from_state == to_state && to_state != ROWS;
  float cost = before->cost + add->ns + (float)s->price * add->kept + (same ? 0 : s->group_ns);
  if (!(cost < after->cost)) return;
  *after = (struct best_state){cost,
                               before->ns + add->ns,
                               before->kept + add->kept,
                               add->peak > before->peak ? add->peak : before->peak,
                               from,
                               from_state,
                               option};
}

static bool reads_weights(enum once once)
{
  return once == ONCE_WHOLE_LOADED || once == ONCE_PANELS_STREAMED;
}

/* The cheapest state at a cut; -1: none. */
static int cheapest(const struct best_search *s, int cut)
{
  int best = -1;
  for (int state = 0; state < N_STATES; state++)
    if (state_at(s, cut, state)->cost < (best < 0 ? INFINITY : state_at(s, cut, best)->cost))
      best = state;
  return best;
}

/* Extends a sequence by groups of rows after a cut. */
static void extend_by_rows(const struct best_search *s, int from, int from_state)
{
  int n = s->costs->n_blocks;
  for (int to = from + 1; to <= n; to++) {
    int at = from * (n + 1) + to;
    for (int o = s->spans->at[at]; o < s->spans->at[at + 1]; o++) {
      const struct mafat_span_option *option = &s->spans->options[o];
      if (option->bytes > s->arena || (!s->reads && option->placement_rule != MAFAT_PLACE_KEPT))
        continue;
      struct once_cost add = {option->ns, option->bytes, option->kept_bytes};
      extend(s, from, from_state, to, ROWS, &add, option);
    }
  }
}

/* Extends a group that runs each layer once by a block. */
static void extend_by_block(const struct best_search *s, int from, enum once once)
{
  struct once_cost block;
  if ((!s->reads && reads_weights(once)) || !add_block_once(s, once, from, &block)) return;
  for (int state = 0; state < N_STATES; state++)
    if (state_at(s, from, state)->cost < INFINITY)
      extend(s, from, state, from + 1, (int)once, &block, NULL);
}

/* The last state of the cheapest sequence; -1: none. */
static int solve(const struct best_search *s)
{
  int n = s->costs->n_blocks;
  for (int i = 0; i < (n + 1) * N_STATES; i++) s->states[i].cost = INFINITY;
  *state_at(s, 0, 0) = (struct best_state){0};
  for (int from = 0; from < n; from++) {
    int best = cheapest(s, from);
    if (best < 0) continue;
    for (int once = 0; once < N_ONCE; once++) extend_by_block(s, from, (enum once)once);
    extend_by_rows(s, from, best);
  }
  return cheapest(s, n);
}

/* ---- spec of a sequence ---- */

static void describe_rows(const struct best_search *s, const struct mafat_span_option *o,
                          struct mafat_group_spec *g)
{
  static const enum mafat_weight_placement placements[] = {[MAFAT_PLACE_KEPT] = MAFAT_KEPT,
                                                           [MAFAT_PLACE_LOADED] = MAFAT_LOADED,
                                                           [MAFAT_PLACE_SMALL_LOADED] =
                                                               MAFAT_STREAMED,
                                                           [MAFAT_PLACE_STREAMED] = MAFAT_STREAMED};
  g->cut = mafat_cut_rows(o->rows);
  g->weights.placement = placements[o->placement_rule];
  if (o->placement_rule == MAFAT_PLACE_SMALL_LOADED) g->weights.loaded_kb = o->loaded_kb;
  if (o->placement_rule == MAFAT_PLACE_STREAMED) g->weights.ring = s->ring;
}

static void describe_once(const struct best_search *s, enum once once, struct mafat_group_spec *g)
{
  if (once == ONCE_PANELS || once == ONCE_PANELS_STREAMED) g->cut = mafat_cut_panels(false);
  if (once == ONCE_WHOLE_LOADED) g->weights.placement = MAFAT_LOADED;
  if (once == ONCE_PANELS_STREAMED)
    g->weights = (struct mafat_group_weights){MAFAT_STREAMED, s->ring, 0};
}

/* The algorithm of a layer in a group of rows. */
static enum mafat_algorithm choose_in_rows(const struct best_search *s,
                                           const struct mafat_span_option *o, int layer)
{
  const struct mafat_costs *c = s->costs;
  int cut_candidate = mafat_spans_cut_candidate(
      c, o->rows, mafat_spans_weight_placement(c, o, layer) == MAFAT_STREAMED);
  return mafat_cost_fastest(c, cut_candidate, (enum mafat_algorithm)o->most, layer);
}

/* A group of the sequence. */
struct part {
  int begin, end, state;
  const struct mafat_span_option *option;
};

static int list_parts(const struct best_search *s, int state, struct part *parts)
{
  int n = 0;
  for (int cut = s->costs->n_blocks; cut > 0;) {
    const struct best_state *at = state_at(s, cut, state);
    bool joins = n > 0 && state != ROWS && parts[n - 1].state == state && parts[n - 1].begin == cut;
    if (joins) parts[n - 1].begin = at->from;
    else parts[n++] = (struct part){at->from, cut, state, at->option};
    state = at->from_state;
    cut = at->from;
  }
  for (int i = 0; i < n / 2; i++) {
    struct part swap = parts[i];
    parts[i] = parts[n - 1 - i];
    parts[n - 1 - i] = swap;
  }
  return n;
}

static void choose_algorithms(const struct best_search *s, const struct part *part)
{
  const struct mafat_costs *c = s->costs;
  for (int l = c->cuts[part->begin]; l < c->cuts[part->end]; l++) {
    struct once_cost cost;
    if (!c->has_choice[l]) continue;
    s->algorithms[c->reader[l]] = part->state == ROWS
                                      ? choose_in_rows(s, part->option, l)
                                      : choose_once(s, (enum once)part->state, l, &cost);
  }
}

/* Adds a group to the spec, with words for algorithms that differ from the options'. */
static int describe_part(const struct best_search *s, const struct part *part,
                         struct mafat_spec *spec)
{
  const struct mafat_costs *c = s->costs;
  int first = c->cuts[part->begin], end = c->cuts[part->end];
  struct mafat_algorithm_choice choice = {c->network,    s->request->options->algorithm,
                                          s->algorithms, s->layers + first,
                                          end - first,   s->heap};
  struct mafat_group_spec *g = mafat_spec_add(spec);
  if (!g) return MAFAT_ENOMEM;
  if (part->end < c->n_blocks) g->end = end;
  choose_algorithms(s, part);
  if (part->state == ROWS) describe_rows(s, part->option, g);
  else describe_once(s, (enum once)part->state, g);
  return c->choice ? mafat_algorithms_words(&choice, g) : MAFAT_OK;
}

static int describe(const struct best_search *s, int state, struct mafat_spec **out)
{
  struct part parts[MAX_BLOCKS + 1];
  int n = list_parts(s, state, parts),
      code = (*out = mafat_spec_new(s->heap)) ? MAFAT_OK : MAFAT_ENOMEM;
  for (int l = 0; l < s->costs->n_layers; l++) s->algorithms[l] = MAFAT_DIRECT;
  for (int i = 0; i < n && code == MAFAT_OK; i++) code = describe_part(s, &parts[i], *out);
  if (code) mafat_spec_close(out);
  return code;
}

/* ---- proposals ---- */

static double io_bytes(const struct best_search *s)
{
  if (!s->reads) return 0;
  size_t usual = mafat_fetch_window(s->request->options->packed ? MAFAT_FETCH_BYTES
                                                                : MAFAT_FETCH_FILTERS_BYTES);
  size_t ring = usual * (size_t)s->ring;
  return (double)(ring > s->fetch.ring_bytes ? ring : s->fetch.ring_bytes) +
         (double)s->fetch.panel_bytes + (double)s->fetch.affine_bytes;
}

static int propose(struct best_search *s, int state)
{
  const struct best_state *end = state_at(s, s->costs->n_blocks, state);
  struct mafat_spec *spec;
  if (s->n_proposals == s->capacity) {
    int capacity = 2 * s->capacity + 64;
    struct proposal *grown =
        mafat_heap_realloc(s->heap, s->proposals, (size_t)capacity * sizeof *grown);
    if (!grown) return MAFAT_ENOMEM;
    s->proposals = grown;
    s->capacity = capacity;
  }
  int code = describe(s, state, &spec);
  if (code) return code;
  s->proposals[s->n_proposals++] =
      (struct proposal){spec, (double)end->peak + end->kept + io_bytes(s), end->ns};
  return MAFAT_OK;
}

/* Proposes sequences from the largest arena to the smallest, at one price of kept weights. The last
 * steps are refined to reach the smallest arena. */
static int descend(struct best_search *s, double price, bool reads, int ring)
{
  double peak = 1e15, ratio = ARENA_STEP;
  s->price = price;
  s->reads = reads;
  s->ring = ring;
  s->arena = peak;
  for (int i = 0; i < MAX_STEPS && mafat_effort_left(s->request, 0); i++) {
    int state = solve(s);
    if (state < 0 && ratio == 1) return MAFAT_OK;
    if (state < 0) {
      ratio = 1;
      s->arena = peak * (1 - 1e-4);
      continue;
    }
    int code = propose(s, state);
    if (code) return code;
    peak = fmin(state_at(s, s->costs->n_blocks, state)->peak, s->arena);
    s->arena = fmin(peak * (1 - 1e-4), s->arena * ratio);
  }
  return MAFAT_OK;
}

static int propose_all(struct best_search *s)
{
  double disk = read_ns_of(s), dear = 1e6;
  int code = descend(s, 0, false, 0);
  if (s->request->least) return code;
  /* A kept byte saves at most the time of reading it. */
  if (code == MAFAT_OK) code = descend(s, disk * 0.03, true, 8);
  if (code == MAFAT_OK) code = descend(s, disk * 0.3, true, 8);
  if (code == MAFAT_OK) code = descend(s, dear, true, 8);
  if (code == MAFAT_OK) code = descend(s, dear, true, 4);
  return code;
}

/* ---- finalists ---- */

static int by_bytes(const void *a, const void *b)
{
  const struct proposal *x = a, *y = b;
  if (x->bytes < y->bytes || x->bytes > y->bytes) return x->bytes < y->bytes ? -1 : 1;
  if (x->ns < y->ns || x->ns > y->ns) return x->ns < y->ns ? -1 : 1;
  return mafat_spec_compare(x->spec, y->spec, false);
}

/* Keeps the proposals within 4 % of the front, as their costs are approximate. Proposals are sorted
 * into bins whose limits in bytes form a geometric series; only the fastest of each bin is kept.
 * Frees the others. */
static void choose_finalists(struct best_search *s)
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
    struct proposal *p = &s->proposals[i];
    bool near = p->ns <= fastest * (1 + SLACK_PERCENT / 100.0);
    if (p->ns < fastest) fastest = p->ns;
    /* in the same bin as the last kept proposal; the smallest proposal has a bin of its own */
    if (near && n > 1 && p->bytes <= limit) {
      struct proposal *last = &s->proposals[n - 1];
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

static const struct mafat_group_weights least_ring = {MAFAT_STREAMED, MAFAT_RING_READS, 0};

/* Adds standard plans, whatever the cost tables say. Plans with tiles appear only here: rows need
 * less memory and compute nothing twice, so tiles have no cost tables. */
static int add_seeds(struct best_search *s, struct mafat_front *f)
{
  const struct mafat_group_weights streamed = {.placement = MAFAT_STREAMED};
  struct mafat_group_spec seeds[] = {{.cut = mafat_cut_grid(1, 1)},
                                     {.cut = mafat_cut_rows(0)},
                                     {.cut = mafat_cut_grid(2, 2)},
                                     {.cut = mafat_cut_grid(3, 3)},
                                     {.cut = mafat_cut_panels(false), .weights = streamed},
                                     {.cut = mafat_cut_panels(false), .weights = least_ring},
                                     {.cut = mafat_cut_rows(1), .weights = least_ring}};
  int code = MAFAT_OK;
  for (size_t i = 0; i < sizeof seeds / sizeof *seeds && code == MAFAT_OK; i++) {
    struct mafat_spec spec = {.groups = &seeds[i], .n_groups = 1};
    code = mafat_front_add(f, s->request, &spec, s->d);
  }
  return code;
}

static bool has_narrow_weights(const struct best_search *s)
{
  for (int l = 0; l < s->request->n_layers; l++)
    if (mafat_layer_widens(&s->request->network->layers[l])) return true;
  return false;
}

/* Adds a variant that has the default ring wherever the spec has the smallest ring. The cost tables
 * ignore that a disk is slower with few reads in flight. Called for networks with weights narrower
 * than floats, whose default ring is small too. */
static int add_with_usual_ring(const struct best_search *s, struct mafat_front *f,
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

static int grouping(const struct best_search *s, struct mafat_front *f, long long evaluations)
{
  bool flat = mafat_grouping_tiles(s->request->network);
  struct mafat_sequence *sequence;
  int code =
      mafat_sequence_make(&sequence, s->request->network, s->request->n_layers, flat, s->heap);
  if (code == MAFAT_OK) code = mafat_grouping_least(f, s->request, sequence, evaluations, s->d);
  mafat_sequence_close(&sequence);
  return code;
}

/* Adds the grouping with the smallest arena: once with kept and once with loaded weights. Skipped
 * for Darknet's networks: they are chains with few branches, so the proposals already have good
 * groups. */
static int add_groupings(const struct best_search *s, struct mafat_front *f)
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

static int lay_out(struct best_search *s, struct mafat_front *f)
{
  bool narrow = has_narrow_weights(s);
  int code = add_seeds(s, f);
  if (code == MAFAT_OK) code = add_groupings(s, f);
  for (int i = 0; i < s->n_proposals && code == MAFAT_OK && mafat_effort_left(s->request, 0); i++) {
    code = mafat_front_add(f, s->request, s->proposals[i].spec, s->d);
    if (code == MAFAT_OK && narrow) code = add_with_usual_ring(s, f, s->proposals[i].spec);
  }
  return code;
}

/* Lays out the smallest proposals, all with kept weights, and reduces the arena of the best. */
static int lay_out_least(struct best_search *s, struct mafat_front *f)
{
  struct mafat_group_spec rows = {.cut = mafat_cut_rows(1)};
  struct mafat_spec seed = {.groups = &rows, .n_groups = 1};
  int code = mafat_least_take(f, s->request, &seed, s->d);
  if (s->n_proposals > 0)
    qsort(s->proposals, (size_t)s->n_proposals, sizeof *s->proposals, by_bytes);
  for (int i = 0; i < mafat_min(s->n_proposals, MAX_LEAST) && code == MAFAT_OK; i++)
    code = mafat_least_take(f, s->request, s->proposals[i].spec, s->d);
  /* Refines before and after the groupings are tried, so from two starting points, if that is
   * quick. */
  if (code == MAFAT_OK && s->request->n_layers <= FEW_LAYERS)
    code = mafat_least_refine(f, s->request, s->d);
  if (code == MAFAT_OK) code = grouping(s, f, EVALUATIONS);
  if (code == MAFAT_OK) code = mafat_least_refine(f, s->request, s->d);
  return code ? code : mafat_least_lower(f, s->request, s->d);
}

/* ---- search ---- */

static int find_fetch_sizes(struct best_search *s)
{
  struct mafat_group_spec group = {.cut = mafat_cut_panels(false), .weights = least_ring};
  struct mafat_spec spec = {.groups = &group, .n_groups = 1};
  struct mafat_plan *plan = NULL;
  int code = mafat_plan_make(&plan, &spec, s->request->network, s->request->n_layers,
                             s->request->options, s->d);
  if (code == MAFAT_OK) code = mafat_fetches_size(s->request->network, plan, &s->fetch);
  mafat_plan_close(&plan);
  return code;
}

static int allocate(struct best_search *s)
{
  size_t n_layers = (size_t)s->costs->n_layers;
  s->states =
      mafat_heap_calloc(s->heap, (size_t)(s->costs->n_blocks + 1) * N_STATES, sizeof *s->states);
  s->algorithms = mafat_heap_calloc(s->heap, n_layers, sizeof *s->algorithms);
  s->layers = mafat_heap_calloc(s->heap, n_layers, sizeof *s->layers);
  if (!s->states || !s->algorithms || !s->layers) return MAFAT_ENOMEM;
  for (int l = 0; l < s->costs->n_layers; l++) s->layers[l] = l;
  return MAFAT_OK;
}

static int search(struct best_search *s, struct mafat_front *f)
{
  int code = mafat_costs_make(&s->costs, s->request, MAX_BLOCKS, s->d);
  if (code == MAFAT_OK) code = find_fetch_sizes(s);
  if (code) return code;
  for (int once = 0; once < N_ONCE; once++)
    s->once_candidates[once] = once_candidate(s->costs, (enum once)once);
  for (int l = 0; l < s->costs->n_layers; l++)
    s->group_ns += (float)GROUP_SHARE *
                   mafat_cost_of(s->costs, s->once_candidates[ONCE_WHOLE], MAFAT_DIRECT, l)->ns;
  code = mafat_spans_make(&s->spans, s->costs, s->request);
  if (code == MAFAT_OK) code = allocate(s);
  if (code == MAFAT_OK) code = propose_all(s);
  if (code) return code;
  if (s->request->least) return lay_out_least(s, f);
  choose_finalists(s);
  return lay_out(s, f);
}

/* Searches with one number of threads and adds the plans to the front. */
static int search_threads(struct mafat_front *f, const struct mafat_search_request *request,
                          int threads, struct mafat_diagnostic *d)
{
  struct mafat_plan_options options = *request->options;
  struct mafat_search_request r = *request;
  struct best_search s = {.request = &r, .heap = options.heap, .d = d};
  options.n_threads = threads;
  r.options = &options;
  int code = search(&s, f);
  for (int i = 0; i < s.n_proposals; i++) mafat_spec_close(&s.proposals[i].spec);
  mafat_heap_free(s.heap, s.proposals);
  mafat_heap_free(s.heap, s.states);
  mafat_heap_free(s.heap, s.algorithms);
  mafat_heap_free(s.heap, s.layers);
  mafat_spans_close(&s.spans);
  mafat_costs_close(&s.costs);
  return code;
}

/* Tries 1, 2, 4 ... threads, and the maximum. */
static int search_all_threads(struct mafat_front *f, const struct mafat_search_request *request,
                              struct mafat_diagnostic *d)
{
  int most = request->most_threads, code = MAFAT_OK;
  if (!most) return search_threads(f, request, request->options->n_threads, d);
  /* each additional thread has its own scratch */
  if (request->least) return search_threads(f, request, 1, d);
  for (int threads = 1; threads <= most && code == MAFAT_OK;) {
    code = search_threads(f, request, threads, d);
    threads = threads == most ? most + 1 : mafat_min(2 * threads, most);
  }
  return code;
}

/* Adds variants of the front's plans that differ in their depthwise words (depthwise.h). */
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

int mafat_search_front(struct mafat_front **out, const struct mafat_search_request *request,
                       struct mafat_diagnostic *d)
{
  struct mafat_plan_options options = *request->options;
  struct mafat_search_request r = *request;
  struct mafat_front *f = NULL;
  *out = NULL;
  r.options = &options;
  if (r.plan_seconds > 0) r.plan_ends = mafat_effort_now() + (long long)(r.plan_seconds * 1e9);
  int code = mafat_heap_open(&options.heap);
  if (code == MAFAT_OK) code = mafat_op_schedule_memo_open(&options.orders, options.heap);
  if (code == MAFAT_OK) code = mafat_front_open(&f);
  if (code == MAFAT_OK) code = search_all_threads(f, &r, d);
  if (code == MAFAT_OK) mafat_front_reduce(f);
  if (code == MAFAT_OK && !r.least) code = add_depthwise(f, &r, d);
  if (code == MAFAT_OK && f->n == 0)
    code = mafat_fail(d, MAFAT_ELIMIT, "%s: no plan has countable bytes", request->network->path);
  if (code == MAFAT_OK) code = mafat_front_assign_offsets(f, &r, d);
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
