/* Chooses a plan for several ranks. Called by api/model.c, api/rank_dry_run.c and, through
 * include/mafat_ranks.h, by programs/run_inference. Makes plans and layouts of all ranks, and frees
 * them. Allocates the choice's text and sharing, which mafat_rank_choice_close frees. */
#include "api/rank_choice.h"

#include "base/mebibytes.h"

#include "include/mafat_ranks.h"
#include "base/blocks.h"
#include "predictor/planning/planning.h"
#include "runner/os/process.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Plans and layouts of all ranks. */
struct ranks {
  struct mafat_plan *plans[MAFAT_MOST_RANKS];
  struct mafat_layout *layouts[MAFAT_MOST_RANKS];
};

static void close_ranks(struct ranks *r)
{
  for (int i = 0; i < MAFAT_MOST_RANKS; i++) {
    mafat_layout_close(&r->layouts[i]);
    mafat_plan_close(&r->plans[i]);
  }
}

static int open_ranks(struct ranks *r, const struct mafat_spec *spec,
                      const struct mafat_rank_choice_request *request, struct mafat_diagnostic *d)
{
  int code = MAFAT_OK;
  *r = (struct ranks){{NULL}, {NULL}};
  for (int i = 0; i < request->n_ranks && code == MAFAT_OK; i++) {
    struct mafat_plan_options options = *request->options;
    options.only_rank = i + 1;
    code = mafat_plan_make(&r->plans[i], spec, request->network, request->n_layers, &options, d);
    if (code == MAFAT_OK)
      code = mafat_layout_make(&r->layouts[i], request->network, r->plans[i], d);
  }
  return code;
}

/* For --pipeline, in which rank 0 begins the next pictures ahead (rank_choice.h): checks that rank
 * 0 computes no layer after its first receive, and no output of the network. */
static int check_ahead(const struct mafat_rank_choice_request *r, const struct mafat_plan *plan,
                       struct mafat_diagnostic *d)
{
  bool received = false, other = r->n_ranks < 2;
  for (int i = 0; i < plan->parts->n; i++) {
    const struct mafat_layer_part *p = &plan->parts->list[i];
    bool computes = p->act == MAFAT_PART_COMPUTE;
    if (p->act == MAFAT_PART_RECEIVE) received = true;
    else other = other || received;
    if (computes && p->layer < r->n_layers &&
        mafat_network_is_output(r->network, r->n_layers, p->layer))
      other = true;
  }
  return !other && received
             ? MAFAT_OK
             : mafat_fail(
                   d, MAFAT_EINVAL,
                   "--pipeline expects a plan in which rank 0 has the first layers, and other "
                   "ranks have all later ones");
}

/* Computes a spec's cost for all ranks. */
static int take(struct mafat_rank_choice *c, const struct mafat_spec *spec,
                const struct mafat_rank_choice_request *r, struct mafat_diagnostic *d)
{
  struct ranks ranks;
  if (spec->ranks.n != r->n_ranks)
    return mafat_fail(d, MAFAT_EINVAL, "expected a plan for %d ranks, found one for %d", r->n_ranks,
                      spec->ranks.n);
  int code = open_ranks(&ranks, spec, r, d);
  if (code == MAFAT_OK && r->ahead) code = check_ahead(r, ranks.plans[0], d);
  if (code == MAFAT_OK) {
    code = mafat_rank_latency(c->costs, ranks.plans, ranks.layouts, r->n_ranks, r->network,
                              r->calibration, &r->wire, r->speeds);
    if (code) mafat_fail(d, code, "%s: out of memory", r->network->path);
  }
  close_ranks(&ranks);
  free(c->text);
  c->text = mafat_spec_text(spec);
  if (code == MAFAT_OK && !c->text)
    code = mafat_fail(d, MAFAT_ENOMEM, "%s: out of memory", r->network->path);
  c->total_ms = c->costs[0].total_ms;
  c->exchanged_bytes = 0;
  for (int i = 0; i < r->n_ranks; i++) c->exchanged_bytes += c->costs[i].sent_bytes;
  return code;
}

static size_t budget_of(const struct mafat_rank_choice_request *r, int rank)
{
  return r->budgets ? r->budgets[rank] : r->memory_bytes;
}

static size_t need_of(const struct mafat_rank_choice *c, int rank)
{
  return c->costs[rank].arena_bytes + c->costs[rank].kept_bytes;
}

static int check_memory(const struct mafat_rank_choice *c,
                        const struct mafat_rank_choice_request *r, struct mafat_diagnostic *d)
{
  for (int i = 0; i < r->n_ranks; i++)
    if (need_of(c, i) > budget_of(r, i))
      return mafat_fail(d, MAFAT_ELIMIT,
                        "does not fit: rank %d of %d needs %.1f MiB, its budget (--memory) is %.1f "
                        "MiB; %zuK would do",
                        i, r->n_ranks, mafat_mebibytes_up(need_of(c, i)),
                        mafat_mebibytes_down(budget_of(r, i)), (need_of(c, i) + 1023) >> 10);
  return MAFAT_OK;
}

const char *mafat_ranks_search(int index)
{
  return index >= 0 && index < MAFAT_N_RANK_STRATEGIES
             ? mafat_rank_strategy_name((enum mafat_rank_strategy)index)
             : NULL;
}

static int find_strategy(struct mafat_rank_choice *c, const char *name, bool ahead,
                         struct mafat_diagnostic *d)
{
  for (int strategy = 0; strategy < MAFAT_N_RANK_STRATEGIES; strategy++) {
    c->strategy = (enum mafat_rank_strategy)strategy;
    if (!name && ahead && c->strategy != MAFAT_RANKS_LAYERS) continue;
    if (!name || strcmp(name, mafat_rank_strategy_name(c->strategy)) == 0) return MAFAT_OK;
  }
  char names[128] = "";
  for (int strategy = 0, n = 0; strategy < MAFAT_N_RANK_STRATEGIES && n < (int)sizeof names;
       strategy++)
    n += snprintf(names + n, sizeof names - (size_t)n, "%s%s", strategy ? ", " : "",
                  mafat_ranks_search(strategy));
  return mafat_fail(d, MAFAT_EINVAL, "expected a search for ranks (%s), found %.60s", names, name);
}

/* Sets each rank's share of a layer in proportion to the rank's speed; the shares' mean is 1.
 * False: all shares are equal. */
static bool share_by_speed(double *shares, const struct mafat_rank_choice_request *r)
{
  double sum = 0;
  bool differ = false;
  for (int i = 0; i < r->n_ranks; i++) {
    shares[i] = r->speeds ? r->speeds[i] : 1;
    sum += shares[i];
    differ = differ || shares[i] != shares[0];
  }
  for (int i = 0; i < r->n_ranks; i++) shares[i] *= r->n_ranks / sum;
  return differ;
}

/* Makes a plan with these shares (NULL: equal) and computes its cost. by_work: whole layers are
 * distributed so that the ranks' computation is balanced, else their memory. MAFAT_ELIMIT: the plan
 * exceeds a rank's memory. */
static int take_shares(struct mafat_rank_choice *c, const struct mafat_rank_choice_request *r,
                       struct mafat_group_weights weights, const double *shares, bool by_work,
                       struct mafat_diagnostic *d)
{
  struct mafat_spec *spec;
  struct mafat_rank_request request = {.network = r->network,
                                       .n_layers = r->n_layers,
                                       .n_ranks = r->n_ranks,
                                       .options = r->options,
                                       .strategy = c->strategy,
                                       .weights = weights,
                                       .shares = shares,
                                       .by_work = by_work};
  mafat_rank_sharing_close(&c->sharing);
  int code = mafat_rank_spec(&spec, &c->sharing, &request, d);
  if (code) return code;
  code = take(c, spec, r, d);
  mafat_spec_close(&spec);
  return code ? code : check_memory(c, r, d);
}

/* Multiplies each rank's share by its budget divided by its need. The share of a rank without work
 * stays, because its need does not depend on the share. */
static void move_shares(double *shares, const struct mafat_rank_choice *c,
                        const struct mafat_rank_choice_request *r)
{
  const double least = .05;
  double sum = 0;
  for (int i = 0; i < r->n_ranks; i++) {
    if (c->costs[i].compute_ms > 0)
      shares[i] = fmax(shares[i] * (double)budget_of(r, i) / (double)need_of(c, i), least);
    sum += shares[i];
  }
  for (int i = 0; i < r->n_ranks; i++) shares[i] *= r->n_ranks / sum;
}

enum { N_PLACEMENTS = 2 };
static const struct mafat_group_weights placements[N_PLACEMENTS] = {{.placement = MAFAT_KEPT},
                                                                    {.placement = MAFAT_STREAMED}};

/* Finds a plan with the first weight placement that fits, or else the last; *placement: its
 * index. */
static int take_found(struct mafat_rank_choice *c, const struct mafat_rank_choice_request *r,
                      int *placement, struct mafat_diagnostic *d)
{
  enum { TRIES = 8 };
  int code = find_strategy(c, r->search, r->ahead, d);
  if (code) return code;
  for (int i = 0; i < N_PLACEMENTS; i++) {
    double shares[MAFAT_MOST_RANKS];
    bool differ = share_by_speed(shares, r);
    code = take_shares(c, r, placements[i], differ ? shares : NULL, r->ahead || differ, d);
    for (int k = 0; k < TRIES && code == MAFAT_ELIMIT && r->n_ranks > 1; k++) {
      move_shares(shares, c, r);
      code = take_shares(c, r, placements[i], shares, false, d);
    }
    *placement = i;
    if (code != MAFAT_ELIMIT) return code;
  }
  return code;
}

/* ---- best ---- */

/* A plan that was evaluated. In small networks with many ranks, nearly all mixes (rank_specs.h)
 * give a plan that was evaluated before. */
struct seen_spec {
  char *text;
  bool fit;
};

/* Best plan so far: its mix (how the layers are distributed, rank_specs.h) and cost. */
struct best_mix {
  struct mafat_rank_mix mix;
  int placement;
  double total_ms;
  uint64_t exchanged_bytes; /* traffic of the best plan so far */
  /* limits for a better plan: traffic, memory of a rank */
  uint64_t most_exchanged_bytes, most_bytes;
  bool found;
  struct seen_spec *seen; /* (n_seen), capacity for `capacity` */
  int n_seen, capacity;
  double ends_ms; /* time at which the search ends (mafat_process_now_ms); INFINITY: no time
                     limit */
};

static const struct seen_spec *find_seen(const struct best_mix *b, const char *text)
{
  for (int i = b->n_seen - 1; i >= 0; i--)
    if (strcmp(b->seen[i].text, text) == 0) return &b->seen[i];
  return NULL;
}

/* Records an evaluated plan; takes ownership of the text. If memory runs out, frees the text, and
 * the plan may be evaluated again. */
static void note_seen(struct best_mix *b, char *text, bool fit)
{
  enum { MORE = 64 };
  if (b->n_seen == b->capacity) {
    struct seen_spec *grown = realloc(b->seen, (size_t)(b->capacity + MORE) * sizeof *grown);
    if (!grown) {
      free(text);
      return;
    }
    b->seen = grown;
    b->capacity += MORE;
  }
  b->seen[b->n_seen++] = (struct seen_spec){text, fit};
}

static void forget_seen(struct best_mix *b)
{
  for (int i = 0; i < b->n_seen; i++) free(b->seen[i].text);
  free(b->seen);
}

static int find_mix(struct mafat_spec **spec, struct mafat_rank_choice *c,
                    const struct mafat_rank_choice_request *r, const struct mafat_rank_mix *mix,
                    struct mafat_group_weights weights, struct mafat_diagnostic *d)
{
  double shares[MAFAT_MOST_RANKS];
  const struct mafat_rank_request request = {.network = r->network,
                                             .n_layers = r->n_layers,
                                             .n_ranks = r->n_ranks,
                                             .options = r->options,
                                             .strategy = MAFAT_RANKS_BEST,
                                             .mix = mix,
                                             .weights = weights,
                                             .shares = share_by_speed(shares, r) ? shares : NULL};
  mafat_rank_sharing_close(&c->sharing);
  return mafat_rank_spec(spec, &c->sharing, &request, d);
}

static int take_mix(struct mafat_rank_choice *c, const struct mafat_rank_choice_request *r,
                    const struct mafat_rank_mix *mix, struct mafat_group_weights weights,
                    struct mafat_diagnostic *d)
{
  struct mafat_spec *spec;
  int code = find_mix(&spec, c, r, mix, weights, d);
  if (code == MAFAT_OK) code = take(c, spec, r, d);
  mafat_spec_close(&spec);
  return code;
}

static size_t most_needed(const struct mafat_rank_choice *c, int n_ranks)
{
  size_t most = 0;
  for (int i = 0; i < n_ranks; i++) most = need_of(c, i) > most ? need_of(c, i) : most;
  return most;
}

static bool is_bounded(const struct mafat_rank_choice_request *r)
{
  return r->budgets || r->memory_bytes < SIZE_MAX;
}

static bool fits(const struct mafat_rank_choice *c, const struct mafat_rank_choice_request *r,
                 const struct best_mix *b)
{
  struct mafat_diagnostic none;
  return is_bounded(r) ? check_memory(c, r, &none) == MAFAT_OK
                       : most_needed(c, r->n_ranks) <= b->most_bytes;
}

static bool is_over(const struct best_mix *b)
{
  return b->ends_ms < INFINITY && mafat_process_now_ms() > b->ends_ms;
}

/* Evaluates a plan, and records it in *b if it is the best so far. *fit false: the plan is invalid,
 * or exceeds the memory. */
static int try_spec(struct best_mix *b, struct mafat_rank_choice *c,
                    const struct mafat_rank_choice_request *r, const struct mafat_rank_mix *mix,
                    int placement, const struct mafat_spec *spec, bool *fit)
{
  struct mafat_diagnostic d;
  int code = take(c, spec, r, &d);
  if (code) return code == MAFAT_ENOMEM ? code : MAFAT_OK;
  *fit = fits(c, r, b);
  bool faster = c->total_ms < b->total_ms ||
                (c->total_ms == b->total_ms && c->exchanged_bytes < b->exchanged_bytes);
  if (!*fit || !faster || c->exchanged_bytes > b->most_exchanged_bytes) return MAFAT_OK;
  b->mix = *mix;
  b->placement = placement;
  b->total_ms = c->total_ms;
  b->exchanged_bytes = c->exchanged_bytes;
  b->found = true;
  return MAFAT_OK;
}

/* Evaluates a mix, unless its plan was evaluated before. *fit false: it is invalid or exceeds the
 * memory; a similar mix may need less. */
static int try_mix(struct best_mix *b, struct mafat_rank_choice *c,
                   const struct mafat_rank_choice_request *r, const struct mafat_rank_mix *mix,
                   int placement, bool *fit)
{
  struct mafat_spec *spec;
  struct mafat_diagnostic d;
  *fit = false;
  if (is_over(b)) return MAFAT_OK;
  int code = find_mix(&spec, c, r, mix, placements[placement], &d);
  if (code) return code == MAFAT_ENOMEM ? code : MAFAT_OK;
  char *text = mafat_spec_text(spec);
  const struct seen_spec *seen = text ? find_seen(b, text) : NULL;
  if (!text) code = MAFAT_ENOMEM;
  else if (seen) *fit = seen->fit;
  else code = try_spec(b, c, r, mix, placement, spec, fit);
  mafat_spec_close(&spec);
  if (seen || code) free(text);
  else note_seen(b, text, *fit);
  return code;
}

/* Tries mixes in which the first `rows` layers are divided by rows, and later layers run whole on
 * one rank each. Assumes 10/10, 9/10, ... 6/10 of the memory, until a mix fits. Layers whose
 * weights need more than 1 / `large` of the smallest rank's assumed memory are divided into
 * n_parts. */
static int try_runs(struct best_mix *b, struct mafat_rank_choice *c,
                    const struct mafat_rank_choice_request *r, int rows, int n_parts, int large,
                    int placement)
{
  enum { STEPS = 10 };
  const uint64_t value_bytes =
      (uint64_t)mafat_dtype_bytes(mafat_network_tensor_type(r->network, 0), 1);
  struct mafat_rank_mix mix = {.rows = rows, .runs = true, .n_parts = n_parts};
  int code = MAFAT_OK;
  bool fit = false;
  for (int step = STEPS; step > STEPS / 2 && !fit && code == MAFAT_OK; step--) {
    mix.large = UINT64_MAX;
    for (int i = 0; i < r->n_ranks; i++) {
      mix.capacity[i] =
          (is_bounded(r) ? budget_of(r, i) : b->most_bytes) / value_bytes / STEPS * (uint64_t)step;
      if (mix.capacity[i] / (uint64_t)large < mix.large)
        mix.large = mix.capacity[i] / (uint64_t)large;
    }
    code = try_mix(b, c, r, &mix, placement, &fit);
  }
  return code;
}

/* Returns how many of the first layers are divided by rows. Quarter 0 to 8: that many quarters of
 * the number that DeeperThings divides by maps (switch_layer). Quarter 9 to 12: twice that number,
 * and quarter - 8 quarters of the layers that are left. */
static int rows_of_quarter(int quarter, int switch_layer, int n_layers)
{
  const int twice = mafat_min(2 * switch_layer, n_layers);
  return quarter <= 8 ? mafat_min(switch_layer * quarter / 4, n_layers)
                      : twice + (n_layers - twice) * (quarter - 8) / 4;
}

/* Tries mixes in which the first `rows` layers are divided into grids, with as many tiles as ranks
 * and at least two columns, and later layers are divided by weights. Does nothing unless all ranks
 * have equal shares. */
static int try_grids(struct best_mix *b, struct mafat_rank_choice *c,
                     const struct mafat_rank_choice_request *r, int rows, int placement)
{
  double shares[MAFAT_MOST_RANKS];
  int code = MAFAT_OK;
  if (share_by_speed(shares, r)) return code;
  for (int columns = 2; columns <= r->n_ranks / 2 && code == MAFAT_OK; columns++) {
    const struct mafat_rank_mix mix = {.rows = rows, .columns = columns};
    bool fit;
    if (r->n_ranks % columns == 0) code = try_mix(b, c, r, &mix, placement, &fit);
  }
  return code;
}

/* Numbers of parts to try for large layers: small numbers, divisors of the number of ranks, and
 * powers of two, which divide channels evenly. */
static bool is_tried(int n_parts, int n_ranks)
{
  enum { FEW = 6 };
  return n_parts <= FEW || n_ranks % n_parts == 0 || (n_parts & (n_parts - 1)) == 0;
}

/* Tries rows or grids, followed by weights or whole layers. */
static int try_mixes(struct best_mix *b, struct mafat_rank_choice *c,
                     const struct mafat_rank_choice_request *r, int switch_layer, int n_layers,
                     int placement)
{
  int code = MAFAT_OK;
  for (int quarter = 0, before = -1; quarter <= 12 && code == MAFAT_OK; quarter++) {
    const struct mafat_rank_mix mix = {.rows = rows_of_quarter(quarter, switch_layer, n_layers)};
    bool fit;
    if (mix.rows == before) continue;
    before = mix.rows;
    code = try_mix(b, c, r, &mix, placement, &fit);
    if (code == MAFAT_OK) code = try_grids(b, c, r, mix.rows, placement);
    for (int n_parts = 1; n_parts <= r->n_ranks && code == MAFAT_OK && !is_over(b); n_parts++)
      for (int large = 1;
           large <= (n_parts > 1 ? 16 : 1) && code == MAFAT_OK && is_tried(n_parts, r->n_ranks);
           large *= 2)
        code = try_runs(b, c, r, mix.rows, n_parts, large, placement);
  }
  return code;
}

/* Searches for a plan no slower than DeeperThings', with no more traffic and, if no budget is
 * given, no more memory. */
static int take_best(struct mafat_rank_choice *c, const struct mafat_rank_choice_request *r,
                     struct mafat_diagnostic *d)
{
  struct mafat_rank_choice_request first = *r;
  const double began = mafat_process_now_ms();
  first.search = mafat_rank_strategy_name(MAFAT_RANKS_DEEPERTHINGS);
  int placement, code = take_found(c, &first, &placement, d);
  if (code && code != MAFAT_ELIMIT) return code;
  struct best_mix b = {.total_ms = code ? INFINITY : c->total_ms,
                       .exchanged_bytes = code ? UINT64_MAX : c->exchanged_bytes,
                       .most_exchanged_bytes = code ? UINT64_MAX : c->exchanged_bytes,
                       .most_bytes = most_needed(c, r->n_ranks),
                       .ends_ms = r->plan_seconds > 0 ? began + 1e3 * r->plan_seconds : INFINITY};
  struct mafat_rank_choice tried = {.text = NULL};
  int failed = MAFAT_OK;
  /* Placements that need less memory are tried, too, so that more memory seldom gives a slower
   * plan. (It can, because the limit of traffic depends on the budget.) Without a budget, only the
   * first placement is tried, because others read weights for each picture. */
  const int last = is_bounded(r) ? N_PLACEMENTS - 1 : placement;
  for (int i = 0; i <= last && failed == MAFAT_OK; i++)
    failed = try_mixes(&b, &tried, r, c->sharing.from, c->sharing.layers.n, i);
  /* only running out of memory ends the search; a mix with another error is skipped */
  if (failed) mafat_fail(d, failed, "%s: out of memory", r->network->path);
  if (failed == MAFAT_OK && b.found) {
    mafat_rank_choice_close(c);
    failed = take_mix(&tried, r, &b.mix, placements[b.placement], d);
    *c = tried;
    tried = (struct mafat_rank_choice){.text = NULL};
    code = MAFAT_OK;
  }
  mafat_rank_choice_close(&tried);
  forget_seen(&b);
  c->strategy = MAFAT_RANKS_BEST;
  return failed ? failed : code;
}

int mafat_rank_choose(struct mafat_rank_choice *c, const struct mafat_rank_choice_request *r,
                      struct mafat_diagnostic *d)
{
  *c = (struct mafat_rank_choice){.given = r->plan != NULL};
  if (r->n_ranks < 1 || r->n_ranks > MAFAT_MOST_RANKS)
    return mafat_fail(d, MAFAT_EINVAL, "expected 1 to %d ranks, found %d", MAFAT_MOST_RANKS,
                      r->n_ranks);
  for (int i = 0; r->speeds && i < r->n_ranks; i++)
    if (!(r->speeds[i] > 0) || !isfinite(r->speeds[i]))
      return mafat_fail(d, MAFAT_EINVAL, "expected a speed above 0 of rank %d, found %g", i,
                        r->speeds[i]);
  if (!r->plan && r->search && strcmp(r->search, mafat_rank_strategy_name(MAFAT_RANKS_BEST)) == 0)
    return take_best(c, r, d);
  int placement;
  if (!r->plan) return take_found(c, r, &placement, d);
  struct mafat_spec *spec;
  int code = mafat_spec_read(&spec, r->plan, d);
  if (code == MAFAT_OK) code = take(c, spec, r, d);
  mafat_spec_close(&spec);
  return code ? code : check_memory(c, r, d);
}

void mafat_rank_choice_close(struct mafat_rank_choice *c)
{
  free(c->text);
  c->text = NULL;
  mafat_rank_sharing_close(&c->sharing);
}
