/* Proposes sequences of groups by dynamic programming over cuts (the positions between layers where
 * groups may begin, costs.h), from tables of costs. Called by search/best/best.c and
 * search/best/quick.c. Allocates from request->options->heap. */
#include "search/best/proposer.h"

#include "predictor/plan/algorithms.h"
#include "predictor/plan/packing.h"
#include "predictor/planning/planning.h"
#include "search/common/effort.h"

#include <math.h>

enum { MAX_STEPS = 150 /* greatest number of arenas that are tried for each price */ };

static const double ARENA_STEP = 0.965; /* each arena is at most this part of the previous one */

/* Kinds of groups that run each layer once. */
enum once {
  ONCE_WHOLE,
  ONCE_WHOLE_LOADED,
  ONCE_PANELS,
  ONCE_PANELS_STREAMED,
  N_ONCE = MAFAT_N_ONCE_CANDIDATES
};

/* A state at a cut is the kind of the group that ends there: an enum once, or ROWS. */
enum { ROWS = N_ONCE, N_STATES };

/* The cheapest sequence of groups that ends at a cut with a group of a certain kind. */
struct mafat_sequence_state {
  float cost;           /* ns, including the price of kept weights; INFINITY: no sequence fits */
  float ns, kept, peak; /* time; bytes of kept weights; greatest arena bytes of its groups */
  int from, from_state; /* cut at which the last group begins, and the state there */
  const struct mafat_span_option *option; /* of the last group, if it is by rows; else NULL */
};

/* ---- blocks of layers that run once ---- */

/* Time; greatest arena bytes; bytes of kept weights. */
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

/* Cost of one layer with one algorithm, in a group that runs each layer once. */
static struct once_cost cost_once(const struct mafat_proposer *s, enum once once,
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
  sum.ns = (float)mafat_spans_overlap(sum.ns, weights * s->request->calibration->disk_ns);
  return sum;
}

/* Chooses the layer's algorithm in a group that runs each layer once: the fastest that fits the
 * arena. */
static enum mafat_algorithm choose_once(const struct mafat_proposer *s, enum once once, int layer,
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

static bool add_block_once(const struct mafat_proposer *s, enum once once, int block,
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

static struct mafat_sequence_state *state_at(const struct mafat_proposer *s, int cut, int state)
{
  return &s->states[cut * N_STATES + state];
}

/* Each group costs extra, because costs are approximate and a small gain does not justify one group
 * more. The extra cost is this share of the time of the plan with whole maps. */
static const double GROUP_SHARE = 0.004;

/* Extends the sequence at cut `from` by a group (or, if the kind stays the same, by more layers of
 * its last group) up to cut `to`, if that gives the cheapest sequence there. */
static void extend(const struct mafat_proposer *s, int from, int from_state, int to, int to_state,
                   const struct once_cost *add, const struct mafat_span_option *option)
{
  const struct mafat_sequence_state *before = state_at(s, from, from_state);
  struct mafat_sequence_state *after = state_at(s, to, to_state);
  bool same = from > 0 && from_state == to_state && to_state != ROWS;
  float cost = before->cost + add->ns + (float)s->price * add->kept + (same ? 0 : s->group_ns);
  if (!(cost < after->cost)) return;
  *after = (struct mafat_sequence_state){cost,
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

/* The cheapest state at a cut; -1: no sequence fits. */
static int cheapest(const struct mafat_proposer *s, int cut)
{
  int best = -1;
  for (int state = 0; state < N_STATES; state++)
    if (state_at(s, cut, state)->cost < (best < 0 ? INFINITY : state_at(s, cut, best)->cost))
      best = state;
  return best;
}

/* Extends the sequence at cut `from` by each possible group by rows. */
static void extend_by_rows(const struct mafat_proposer *s, int from, int from_state)
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

/* Extends all sequences at cut `from` by one block that runs each layer once. */
static void extend_by_block(const struct mafat_proposer *s, int from, enum once once)
{
  struct once_cost block;
  if ((!s->reads && reads_weights(once)) || !add_block_once(s, once, from, &block)) return;
  for (int state = 0; state < N_STATES; state++)
    if (state_at(s, from, state)->cost < INFINITY)
      extend(s, from, state, from + 1, (int)once, &block, NULL);
}

/* Finds the cheapest sequences. Returns the cheapest state at the last cut; -1: none fits. */
static int solve(const struct mafat_proposer *s)
{
  int n = s->costs->n_blocks;
  for (int i = 0; i < (n + 1) * N_STATES; i++) s->states[i].cost = INFINITY;
  *state_at(s, 0, 0) = (struct mafat_sequence_state){0};
  for (int from = 0; from < n; from++) {
    int best = cheapest(s, from);
    if (best < 0) continue;
    for (int once = 0; once < N_ONCE; once++) extend_by_block(s, from, (enum once)once);
    extend_by_rows(s, from, best);
  }
  return cheapest(s, n);
}

/* ---- spec of a sequence ---- */

static void describe_rows(const struct mafat_proposer *s, const struct mafat_span_option *o,
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

static void describe_once(const struct mafat_proposer *s, enum once once,
                          struct mafat_group_spec *g)
{
  if (once == ONCE_PANELS || once == ONCE_PANELS_STREAMED) g->cut = mafat_cut_panels(false);
  if (once == ONCE_WHOLE_LOADED) g->weights.placement = MAFAT_LOADED;
  if (once == ONCE_PANELS_STREAMED)
    g->weights = (struct mafat_group_weights){MAFAT_STREAMED, s->ring, 0};
}

/* The algorithm of a layer in a group by rows. */
static enum mafat_algorithm choose_in_rows(const struct mafat_proposer *s,
                                           const struct mafat_span_option *o, int layer)
{
  const struct mafat_costs *c = s->costs;
  int cut_candidate = mafat_spans_cut_candidate(
      c, o->rows, mafat_spans_weight_placement(c, o, layer) == MAFAT_STREAMED);
  return mafat_cost_fastest(c, cut_candidate, (enum mafat_algorithm)o->most, layer);
}

/* A group of the sequence: blocks begin ... end - 1. */
struct part {
  int begin, end, state;
  const struct mafat_span_option *option;
};

static int list_parts(const struct mafat_proposer *s, int state, struct part *parts)
{
  int n = 0;
  for (int cut = s->costs->n_blocks; cut > 0;) {
    const struct mafat_sequence_state *at = state_at(s, cut, state);
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

static void choose_algorithms(const struct mafat_proposer *s, const struct part *part)
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

/* Adds a group to the spec, and names the algorithms that differ from the options' algorithm. */
static int describe_part(const struct mafat_proposer *s, const struct part *part,
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

static int describe(const struct mafat_proposer *s, int state, struct mafat_spec **out)
{
  struct part parts[MAFAT_MOST_BLOCKS + 1];
  int n = list_parts(s, state, parts),
      code = (*out = mafat_spec_new(s->heap)) ? MAFAT_OK : MAFAT_ENOMEM;
  for (int l = 0; l < s->costs->n_layers; l++) s->algorithms[l] = MAFAT_DIRECT;
  for (int i = 0; i < n && code == MAFAT_OK; i++) code = describe_part(s, &parts[i], *out);
  if (code) mafat_spec_close(out);
  return code;
}

/* ---- proposals ---- */

static double io_bytes(const struct mafat_proposer *s)
{
  if (!s->reads) return 0;
  size_t usual = mafat_fetch_window(s->request->options->packed ? MAFAT_FETCH_BYTES
                                                                : MAFAT_FETCH_FILTERS_BYTES);
  size_t ring = usual * (size_t)s->ring;
  return (double)(ring > s->fetch.ring_bytes ? ring : s->fetch.ring_bytes) +
         (double)s->fetch.panel_bytes + (double)s->fetch.affine_bytes;
}

/* Approximate bytes of a sequence: of its largest group, of kept weights, and of I/O buffers. */
static double bytes_of(const struct mafat_proposer *s, int state)
{
  const struct mafat_sequence_state *end = state_at(s, s->costs->n_blocks, state);
  return (double)end->peak + end->kept + io_bytes(s);
}

static int propose(struct mafat_proposer *s, int state)
{
  const struct mafat_sequence_state *end = state_at(s, s->costs->n_blocks, state);
  struct mafat_spec *spec;
  if (s->n_proposals == s->capacity) {
    int capacity = 2 * s->capacity + 64;
    struct mafat_proposal *grown =
        mafat_heap_realloc(s->heap, s->proposals, (size_t)capacity * sizeof *grown);
    if (!grown) return MAFAT_ENOMEM;
    s->proposals = grown;
    s->capacity = capacity;
  }
  int code = describe(s, state, &spec);
  if (code) return code;
  s->proposals[s->n_proposals++] = (struct mafat_proposal){spec, bytes_of(s, state), end->ns};
  if (s->n_proposals == 1) s->most_ns = fmin(s->most_ns, s->slowest * end->ns);
  return MAFAT_OK;
}

int mafat_proposer_descend(struct mafat_proposer *s, double price, bool reads, int ring)
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
    if (state_at(s, s->costs->n_blocks, state)->ns > s->most_ns) return MAFAT_OK;
    int code = propose(s, state);
    if (code) return code;
    peak = fmin(state_at(s, s->costs->n_blocks, state)->peak, s->arena);
    s->arena = fmin(peak * (1 - 1e-4), s->arena * ratio);
  }
  return MAFAT_OK;
}

/* ---- opening ---- */

static int find_fetch_sizes(struct mafat_proposer *s)
{
  struct mafat_group_spec group = {.cut = mafat_cut_panels(false), .weights = mafat_least_ring};
  struct mafat_spec spec = {.groups = &group, .n_groups = 1};
  struct mafat_plan *plan = NULL;
  int code = mafat_plan_make(&plan, &spec, s->request->network, s->request->n_layers,
                             s->request->options, s->d);
  if (code == MAFAT_OK) code = mafat_fetches_size(s->request->network, plan, &s->fetch);
  mafat_plan_close(&plan);
  return code;
}

static int allocate(struct mafat_proposer *s)
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

static void price_groups(struct mafat_proposer *s)
{
  for (int l = 0; l < s->costs->n_layers; l++)
    s->group_ns += (float)GROUP_SHARE *
                   mafat_cost_of(s->costs, s->once_candidates[ONCE_WHOLE], MAFAT_DIRECT, l)->ns;
}

int mafat_proposer_open(struct mafat_proposer *s, const struct mafat_search_request *request,
                        const struct mafat_cost_scope *scope, struct mafat_diagnostic *d)
{
  *s = (struct mafat_proposer){.request = request,
                               .heap = request->options->heap,
                               .most_ns = INFINITY,
                               .slowest = INFINITY,
                               .d = d};
  int code = mafat_costs_make(&s->costs, request, scope, d);
  if (code == MAFAT_OK) code = find_fetch_sizes(s);
  if (code) return code;
  for (int once = 0; once < N_ONCE; once++)
    s->once_candidates[once] = once_candidate(s->costs, (enum once)once);
  price_groups(s);
  code = mafat_spans_make(&s->spans, s->costs, s->request);
  return code ? code : allocate(s);
}

static const int all_rows[] = {1, 2, 3, 4, 6, 8, 16};

const struct mafat_cost_scope mafat_full_scope = {.max_blocks = MAFAT_MOST_BLOCKS,
                                                  .rows = all_rows,
                                                  .n_rows = sizeof all_rows / sizeof *all_rows,
                                                  .reads = true};

void mafat_proposer_end(struct mafat_proposer *s)
{
  mafat_heap_free(s->heap, s->states);
  mafat_heap_free(s->heap, s->algorithms);
  mafat_heap_free(s->heap, s->layers);
  s->states = NULL;
  s->algorithms = NULL;
  s->layers = NULL;
  mafat_spans_close(&s->spans);
  mafat_costs_close(&s->costs);
}

void mafat_proposer_close(struct mafat_proposer *s)
{
  for (int i = 0; i < s->n_proposals; i++) mafat_spec_close(&s->proposals[i].spec);
  mafat_heap_free(s->heap, s->proposals);
  mafat_proposer_end(s);
}
