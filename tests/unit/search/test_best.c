/* Covers search/best/{best, costs, proposer, quick, spans}.c, search/common/front.c,
 * predictor/kinds/{conv, reorg}.c: what the search "best" promises of its front (a list of plans,
 * each with more bytes and fewer milliseconds than the one before), on random and real networks.
 * tests/search/check_search.py times plans to check that those of the front are the best. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/cost/latency.h"
#include "predictor/planning/planning.h"
#include "runner/calibrate/calibrate_networks.h"
#include "search/best/best.h"
#include "tests/support/failing_malloc.h"
#include "tests/support/support.h"
#include "tests/unit/search/failing_search.h"

Suite *best_suite(void);

static const struct mafat_footprint footprint = {.process_bytes = 900 << 10,
                                                 .image_bytes = 200 << 10};

struct search {
  struct mafat_network *network;
  struct mafat_plan_options options;
  struct mafat_calibration calibration;
  struct mafat_search_request request;
};

static void set_up(struct search *s, struct mafat_network *n)
{
  s->network = n;
  mafat_plan_defaults(&s->options);
  mafat_calibration_defaults(&s->calibration, "avx2");
  s->request = (struct mafat_search_request){.network = n,
                                             .n_layers = n->n_layers,
                                             .options = &s->options,
                                             .footprint = &footprint,
                                             .calibration = &s->calibration};
}

static void random_options(struct search *s, struct test_rng *rng)
{
  s->options.packed = test_random_chance(rng, 50);
  s->options.transposed = !s->options.packed && test_random_chance(rng, 30);
  s->options.n_threads = test_random_int(rng, 1, 4);
  if (test_random_chance(rng, 30)) s->request.most_threads = test_random_int(rng, 1, 3);
  s->options.algorithm = test_random_chance(rng, 60)   ? MAFAT_AUTO
                         : test_random_chance(rng, 50) ? MAFAT_DIRECT
                         : test_random_chance(rng, 50) ? MAFAT_WINOGRAD
                                                       : MAFAT_WINOGRAD_LARGE;
  s->request.n_layers = test_random_int(rng, 1, s->network->n_layers);
}

static struct mafat_front *find_front(const struct search *s)
{
  struct mafat_front *f;
  struct mafat_diagnostic d = {""};
  ck_assert_msg(mafat_search_front(&f, &s->request, &d) == MAFAT_OK, "%s", d.text);
  return f;
}

static const char *text_of(const struct mafat_candidate *c)
{
  return test_spec_text(c->spec);
}

/* Bytes and milliseconds that the predictor gives for a plan's text. */
static struct mafat_candidate predict(const struct search *s, const char *text, int threads)
{
  struct mafat_plan_options options = s->options;
  options.n_threads = threads;
  struct mafat_plan *plan;
  struct mafat_layout *layout;
  struct mafat_prediction p;
  struct mafat_latency latency;
  struct mafat_diagnostic d = {""};
  ck_assert_msg(mafat_plan_read(&plan, text, s->network, s->request.n_layers, &options, &d) ==
                    MAFAT_OK,
                "%s", d.text);
  ck_assert_msg(mafat_layout_make(&layout, s->network, plan, &d) == MAFAT_OK, "%s", d.text);
  mafat_predict(&p, layout, &footprint);
  ck_assert_int_eq(mafat_latency_predict(&latency, s->network, plan, layout, &s->calibration),
                   MAFAT_OK);
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  return (struct mafat_candidate){
      .threads = threads, .charge_bytes = p.charge_bytes, .ms = latency.total_ms};
}

/* Checks that each plan of the front has more bytes and fewer milliseconds than the one before, and
 * that both numbers are those of the predictor. */
static void check_front(const struct search *s, const struct mafat_front *f, const char *cfg)
{
  if (f->n < 1) test_fail_case(cfg, "", "the front is empty");
  for (int i = 0; i < f->n; i++) {
    const struct mafat_candidate *c = &f->list[i];
    struct mafat_candidate again = predict(s, text_of(c), c->threads);
    if (again.charge_bytes != c->charge_bytes)
      test_fail_case(cfg, text_of(c), "%zu bytes, predicted %zu", c->charge_bytes,
                     again.charge_bytes);
    if (s->request.most_threads ? c->threads > s->request.most_threads
                                : c->threads != s->options.n_threads)
      test_fail_case(cfg, text_of(c), "%d threads", c->threads);
    if (again.ms < c->ms || again.ms > c->ms)
      test_fail_case(cfg, text_of(c), "%g ms, predicted %g", c->ms, again.ms);
    if (i == 0) continue;
    if (c->charge_bytes <= c[-1].charge_bytes || c->ms >= c[-1].ms)
      test_fail_case(cfg, text_of(c), "%zu bytes and %g ms follow %zu and %g", c->charge_bytes,
                     c->ms, c[-1].charge_bytes, c[-1].ms);
  }
}

/* Checks that a larger budget never gets a slower plan, and that each plan fits its budget. */
static void check_budgets(const struct mafat_front *f, const char *cfg)
{
  const struct mafat_candidate *before = NULL;
  size_t least = f->list[0].charge_bytes, most = f->list[f->n - 1].charge_bytes;
  ck_assert_ptr_null(mafat_front_within(f, least - 1));
  ck_assert_ptr_eq(mafat_front_within(f, SIZE_MAX), &f->list[f->n - 1]);
  for (size_t budget = least; budget <= most + 4096; budget += (most - least) / 97 + 1) {
    const struct mafat_candidate *c = mafat_front_within(f, budget);
    if (!c || c->charge_bytes > budget)
      test_fail_case(cfg, c ? text_of(c) : "", "does not fit into %zu bytes", budget);
    if (before && c->ms > before->ms)
      test_fail_case(cfg, text_of(c), "slower with %zu bytes", budget);
    before = c;
  }
}

START_TEST(a_front_is_what_it_says)
{
  for (int i = 0; i < 6; i++) {
    struct test_rng rng = test_rng((uint64_t)(_i * 6 + i));
    struct test_network_style style = test_network_style();
    char cfg[TEST_CFG_ROOM];
    struct search s;
    test_random_network(&rng, &style, cfg, sizeof cfg);
    set_up(&s, test_network(cfg));
    random_options(&s, &rng);
    if (i % 2) s.network->format.any_order = true; /* the format lets layers run in any order */
    struct mafat_front *f = find_front(&s);
    check_front(&s, f, cfg);
    check_budgets(f, cfg);
    mafat_front_close(&f);
    mafat_network_close(&s.network);
  }
}
END_TEST

/* Two branches, wide in the middle. The file's order makes both wide maps before it narrows one.
 * Darknet's networks keep that order. If the format allows any order, the front has, for each plan
 * in the file's order, one that needs no more bytes and no more time. */
START_TEST(layers_of_graphs_run_in_the_best_order)
{
  struct search s;
  set_up(&s,
         test_network("[net]\nheight=32\nwidth=32\nchannels=4\n"
                      "[activation]\nactivation=relu\n"
                      "[upsample]\nstride=4\n[route]\nlayers=0\n[upsample]\nstride=4\n"
                      "[route]\nlayers=1\n[reorg]\nstride=2\n[route]\nlayers=3\n[reorg]\nstride=2\n"
                      "[route]\nlayers=5\n[maxpool]\nsize=32\nstride=32\n"
                      "[route]\nlayers=7\n[maxpool]\nsize=32\nstride=32\n[route]\nlayers=9,11\n"
                      "[avgpool]\n"));
  struct mafat_front *file = find_front(&s);
  s.network->format.any_order = true;
  struct mafat_front *best = find_front(&s);
  int sorted = 0, placed = 0;
  for (int i = 0; i < file->n; i++) {
    const struct mafat_candidate *c = mafat_front_within(best, file->list[i].charge_bytes);
    ck_assert(file->list[i].spec->op_order == MAFAT_OP_ORDER_FILE && !file->list[i].spec->in_place);
    ck_assert(c && c->ms <= file->list[i].ms);
  }
  for (int i = 0; i < best->n; i++) {
    sorted += best->list[i].spec->op_order == MAFAT_OP_ORDER_BEST;
    placed += best->list[i].spec->in_place;
  }
  ck_assert_int_gt(sorted, 0);
  ck_assert_int_eq(placed, 0); /* no layer's output has its input's shape */
  mafat_front_close(&file);
  mafat_front_close(&best);
  mafat_network_close(&s.network);
}
END_TEST

/* Formats that allow any order of layers also allow an output to reuse its input's buffer. The
 * smallest plan does so if that saves bytes. Groups by rows save nothing here, because maps have
 * only one row. */
START_TEST(outputs_are_in_place_where_they_need_less)
{
  struct search s;
  set_up(&s,
         test_network("[net]\nheight=1\nwidth=1\nchannels=65536\n[activation]\nactivation=tanh\n"
                      "[activation]\nactivation=relu\n[activation]\nactivation=tanh\n"));
  struct mafat_front *file = find_front(&s);
  s.network->format.any_order = true;
  struct mafat_front *best = find_front(&s);
  ck_assert(!file->list[0].spec->in_place && best->list[0].spec->in_place);
  ck_assert_uint_lt(best->list[0].charge_bytes, file->list[0].charge_bytes);
  mafat_front_close(&file);
  mafat_front_close(&best);
  mafat_network_close(&s.network);
}
END_TEST

/* A network of 1200 layers, and one with maps of 2^20 rows, too many for a plan by rows. */
START_TEST(deep_and_tall_networks_have_a_front)
{
  static const struct {
    int layers, h, w, size;
  } shapes[] = {{1200, 64, 64, 3}, {64, 1 << 20, 1, 1}};
  enum { ROOM = 128 << 10 };
  char *cfg = malloc(ROOM);
  struct search s;
  int n =
      snprintf(cfg, ROOM, "[net]\nheight=%d\nwidth=%d\nchannels=3\n", shapes[_i].h, shapes[_i].w);
  for (int l = 0; l < shapes[_i].layers; l++)
    n += snprintf(cfg + n, (size_t)(ROOM - n), "[convolutional]\nfilters=8\nsize=%d\npad=1\n",
                  shapes[_i].size);
  set_up(&s, test_network(cfg));
  struct mafat_front *f = find_front(&s);
  check_front(&s, f, "deep or tall");
  mafat_front_close(&f);
  mafat_network_close(&s.network);
  free(cfg);
}
END_TEST

/* Networks whose first layer cannot be cut, or that have nothing to compute. */
START_TEST(odd_networks_have_a_front)
{
  static const char *const layers[] = {"[connected]\noutput=16\n[softmax]\n", "[dropout]\n",
                                       "[softmax]\n", "[avgpool]\n"};
  char cfg[256];
  struct search s;
  snprintf(cfg, sizeof cfg, "[net]\nheight=4\nwidth=1\nchannels=3\n%s", layers[_i]);
  set_up(&s, test_network(cfg));
  struct mafat_front *f = find_front(&s);
  check_front(&s, f, cfg);
  mafat_front_close(&f);
  mafat_network_close(&s.network);
}
END_TEST

/* A video frame that stays in memory until its boxes are drawn adds the same bytes to all groups.
 * So a plan that is best without the frame is as good with it. These networks have maps about as
 * large as the frame, as networks for cameras do. */
START_TEST(a_frame_that_stays_makes_no_other_plans)
{
  static const char *const cfgs[] = {"wide maps to narrow ones", "residual", "depthwise and narrow",
                                     "small"};
  struct mafat_network *n;
  struct search s;
  ck_assert_int_eq(mafat_calibrate_network(&n, _i, (struct mafat_calibrate_scale){1, 2}, NULL),
                   MAFAT_OK);
  set_up(&s, n);
  s.options.packed = true;
  struct mafat_front *without = find_front(&s);
  s.options.frame_bytes = 640 * 480 * 3 / 2;
  s.options.frame_stays = true;
  struct mafat_front *f = find_front(&s);
  check_front(&s, f, cfgs[_i]);
  for (int i = 0; i < without->n; i++) {
    struct mafat_candidate c = predict(&s, text_of(&without->list[i]), without->list[i].threads);
    const struct mafat_candidate *found =
        mafat_front_within(f, c.charge_bytes + c.charge_bytes / 64);
    ck_assert_msg(found && found->ms <= c.ms * 1.01,
                  "%s: %s: %g ms in %zu bytes, the front has %g (%s)", cfgs[_i],
                  text_of(&without->list[i]), c.ms, c.charge_bytes, found ? found->ms : 0,
                  found ? text_of(found) : "none");
  }
  mafat_front_close(&f);
  mafat_front_close(&without);
  mafat_network_close(&n);
}
END_TEST

/* No usual plan is much smaller than the front's smallest plan, or much faster than the front's
 * plan for the same bytes. */
START_TEST(a_front_beats_the_usual_plans)
{
  static const char *const usual[] = {"1x1/NoCut", "rows/NoCut", "panels:streamed/NoCut",
                                      "2x2/NoCut", "rows1:loaded/NoCut"};
  struct test_rng rng = test_rng((uint64_t)_i);
  struct test_network_style style = test_network_style();
  char cfg[TEST_CFG_ROOM];
  struct search s;
  test_random_network(&rng, &style, cfg, sizeof cfg);
  set_up(&s, test_network(cfg));
  s.options.packed = true;
  struct mafat_front *f = find_front(&s);
  for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
    struct mafat_plan *plan;
    if (mafat_plan_read(&plan, usual[i], s.network, s.network->n_layers, &s.options, NULL))
      continue;
    mafat_plan_close(&plan);
    struct mafat_candidate c = predict(&s, usual[i], 1);
    const struct mafat_candidate *found = mafat_front_within(f, c.charge_bytes);
    /* The search adds up tables of costs, which are approximate. */
    if (f->list[0].charge_bytes > c.charge_bytes + c.charge_bytes / 16)
      test_fail_case(cfg, usual[i], "needs %zu bytes, the front's least is %zu", c.charge_bytes,
                     f->list[0].charge_bytes);
    if (found && found->ms > c.ms * 1.05)
      test_fail_case(cfg, usual[i], "%g ms, the front has %g (%s)", c.ms, found->ms,
                     text_of(found));
  }
  mafat_front_close(&f);
  mafat_network_close(&s.network);
}
END_TEST

START_TEST(the_same_request_gives_the_same_front)
{
  struct test_rng rng = test_rng((uint64_t)_i);
  struct test_network_style style = test_network_style();
  char cfg[TEST_CFG_ROOM];
  struct search s;
  test_random_network(&rng, &style, cfg, sizeof cfg);
  set_up(&s, test_network(cfg));
  random_options(&s, &rng);
  struct mafat_front *f = find_front(&s), *g = find_front(&s);
  ck_assert_int_eq(f->n, g->n);
  for (int i = 0; i < f->n; i++) {
    ck_assert_int_eq(mafat_spec_compare(f->list[i].spec, g->list[i].spec, false), 0);
    ck_assert_uint_eq(f->list[i].charge_bytes, g->list[i].charge_bytes);
  }
  mafat_front_close(&f);
  mafat_front_close(&g);
  mafat_network_close(&s.network);
}
END_TEST

/* ---- one budget ---- */

/* A random network with a random request; cfg: its text. */
static void set_up_random(struct search *s, int seed, char *cfg)
{
  struct test_rng rng = test_rng((uint64_t)seed);
  struct test_network_style style = test_network_style();
  test_random_network(&rng, &style, cfg, TEST_CFG_ROOM);
  set_up(s, test_network(cfg));
  random_options(s, &rng);
}

/* Number of budgets tried for a front: from the bytes of its smallest plan to more than its fastest
 * plan needs. */
enum { BUDGETS = 5 };

static size_t budget_at(const struct mafat_front *f, int i)
{
  size_t least = f->list[0].charge_bytes, most = f->list[f->n - 1].charge_bytes * 5 / 4;
  return least + (most - least) / (BUDGETS - 1) * (size_t)i;
}

/* With plan_seconds -1 a search takes the first plan that it finds for each number of threads.
 * These plans fit the budget and have the predicted bytes and time, and the fastest is at most 1.3
 * times as slow as the best plan. */
START_TEST(the_first_plan_is_within_its_budget)
{
  char cfg[TEST_CFG_ROOM];
  struct search s;
  set_up_random(&s, 1000 + _i, cfg);
  struct mafat_front *all = find_front(&s);
  s.request.plan_seconds = -1;
  for (int i = 0; i < BUDGETS; i++) {
    s.request.budget_bytes = budget_at(all, i);
    struct mafat_front *f = find_front(&s);
    const struct mafat_candidate *best = mafat_front_within(all, s.request.budget_bytes);
    /* a plan for each number of threads may be listed; the last is the fastest, which runs */
    for (int k = 0; k < f->n; k++)
      if (f->list[k].charge_bytes > s.request.budget_bytes ||
          (k == f->n - 1 && f->list[k].ms > 1.3 * best->ms))
        test_fail_case(cfg, text_of(&f->list[k]), "%zu bytes of %zu, %g ms, the best has %g",
                       f->list[k].charge_bytes, s.request.budget_bytes, f->list[k].ms, best->ms);
    if (f->n) check_front(&s, f, cfg);
    mafat_front_close(&f);
  }
  mafat_front_close(&all);
  mafat_network_close(&s.network);
}
END_TEST

/* Algorithms of the plan that a search of `seconds` takes. The caller frees them. NULL: the search
 * finds no plan. */
static enum mafat_algorithm *find_algorithms(struct search *s, double seconds)
{
  struct mafat_plan *plan;
  struct mafat_plan_options options = s->options;
  size_t bytes = (size_t)s->request.n_layers * sizeof *plan->algorithms;
  s->request.plan_seconds = seconds;
  struct mafat_front *f = find_front(s);
  const struct mafat_candidate *c =
      f->n ? mafat_front_within(f, s->request.budget_bytes) : NULL;
  enum mafat_algorithm *algorithms = NULL;
  if (c) {
    options.n_threads = c->threads;
    ck_assert_int_eq(mafat_plan_read(&plan, text_of(c), s->network, s->request.n_layers, &options,
                                     NULL),
                     MAFAT_OK);
    algorithms = memcpy(malloc(bytes), plan->algorithms, bytes);
    mafat_plan_close(&plan);
  }
  mafat_front_close(&f);
  return algorithms;
}

/* Searches of any length choose the same algorithms, because a network's outputs depend on them. */
START_TEST(algorithms_do_not_depend_on_the_time_of_the_search)
{
  static const double seconds[] = {0 /* no limit */, 1e-9, 0.003, 0.03};
  char cfg[TEST_CFG_ROOM];
  struct search s;
  set_up_random(&s, 2000 + _i, cfg);
  struct mafat_front *all = find_front(&s);
  for (int i = 0; i < BUDGETS; i++) {
    s.request.budget_bytes = budget_at(all, i);
    enum mafat_algorithm *first = find_algorithms(&s, -1);
    for (size_t k = 0; k < sizeof seconds / sizeof *seconds; k++) {
      enum mafat_algorithm *other = find_algorithms(&s, seconds[k]);
      if (!first != !other ||
          (first && memcmp(first, other, (size_t)s.request.n_layers * sizeof *first)))
        test_fail_case(cfg, "", "other algorithms in %zu bytes after %g s",
                       s.request.budget_bytes, seconds[k]);
      free(other);
    }
    free(first);
  }
  mafat_front_close(&all);
  mafat_network_close(&s.network);
}
END_TEST

/* ---- real networks ---- */

struct real {
  const char *cfg;
  bool packed;
  int layers;
  double least_mib, most_mib; /* upper bounds for the front's smallest and fastest plan, in MiB */
};

static const struct real reals[] = {
    {"yolov2", true, 0, 6, 215},     {"yolov2", true, 16, 6, 40},   {"yolov2", false, 0, 8, 215},
    {"yolov3-tiny", true, 0, 5, 50}, {"resnet50", true, 0, 8, 110}, {"densenet201", true, 0, 7, 90},
    {"yolov3", true, 0, 11, 280},
};

/* The smallest plan of a real network needs a few MiB, up to 11 (least_mib). */
START_TEST(real_networks_have_small_plans)
{
  const struct real *r = &reals[_i];
  struct mafat_network *n = test_darknet_network(r->cfg);
  if (!n) return; /* not installed */
  struct search s;
  set_up(&s, n);
  s.options.packed = r->packed;
  if (r->layers) s.request.n_layers = r->layers;
  struct mafat_front *f = find_front(&s);
  check_front(&s, f, r->cfg);
  check_budgets(f, r->cfg);
  double least = (double)f->list[0].charge_bytes / 1048576,
         most = (double)f->list[f->n - 1].charge_bytes / 1048576;
  ck_assert_msg(least <= r->least_mib, "%s: least %.2f MiB (%s)", r->cfg, least,
                text_of(&f->list[0]));
  ck_assert_msg(most <= r->most_mib, "%s: fastest in %.2f MiB (%s)", r->cfg, most,
                text_of(&f->list[f->n - 1]));
  mafat_front_close(&f);
  mafat_network_close(&n);
}
END_TEST

/* ---- candidates ---- */

static bool is_smaller(const struct mafat_candidate *c, const struct mafat_candidate *than)
{
  return c->arena_bytes < than->arena_bytes;
}

/* Offsets are assigned only to candidates that may be better than the best so far. The result is
 * the same as if all candidates got offsets. */
START_TEST(better_candidates_are_those_that_are_better)
{
  static const struct { int rows, least; } cuts[] = {{1, 0}, {2, 0}, {0, 1}, {0, 2}};
  struct test_rng rng = test_rng((uint64_t)_i);
  struct test_network_style style = test_network_style();
  char cfg[TEST_CFG_ROOM];
  struct search s;
  struct mafat_diagnostic d = {""};
  test_random_network(&rng, &style, cfg, sizeof cfg);
  set_up(&s, test_network(cfg));
  for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
    struct mafat_cut cut = cuts[i].rows ? mafat_cut_grid(cuts[i].rows, cuts[i].rows)
                                        : mafat_cut_rows_partitioned(cuts[i].least, false);
    struct mafat_group_spec group = {.cut = cut};
    struct mafat_spec spec = {.groups = &group, .n_groups = 1};
    struct mafat_candidate all = {.threads = 1}, found = {.threads = 1};
    bool better;
    if (mafat_candidate_measure(&all, &s.request, &spec, &d)) continue;
    for (int more = 0; more < 2; more++) {
      struct mafat_candidate than = {.arena_bytes = all.arena_bytes + (size_t)more};
      ck_assert_int_eq(mafat_candidate_measure_better(&found, &s.request, &spec, is_smaller, &than,
                                                      &better, &d),
                       MAFAT_OK);
      ck_assert_int_eq(better, more);
    }
    ck_assert_uint_eq(found.arena_bytes, all.arena_bytes);
    ck_assert_uint_eq(found.charge_bytes, all.charge_bytes);
    ck_assert_uint_eq(found.redundant_macs, all.redundant_macs);
    ck_assert(found.ms >= all.ms && found.ms <= all.ms);
  }
  mafat_network_close(&s.network);
}
END_TEST

/* ---- refusing ---- */

START_TEST(every_failed_allocation_is_reported)
{
  struct search s;
  set_up(&s,
         test_network("[net]\nheight=24\nwidth=32\nchannels=3\n"
                      "[convolutional]\nfilters=16\nsize=3\npad=1\n[maxpool]\nsize=2\nstride=2\n"
                      "[convolutional]\nfilters=16\nsize=3\npad=1\ngroups=16\n[convolutional]"
                      "\nfilters=16\nsize=1\n"));
  struct mafat_front *f = find_front(&s);
  mafat_front_close(&f);
  test_failing_search(&s.request);
  bool failed = true;
  for (long at = 0; failed; at++) {
    struct mafat_diagnostic d = {""};
    failing_mmap_arm(at);
    int code = mafat_search_front(&f, &s.request, &d);
    mafat_front_close(&f);
    failed = failing_mmap_disarm() > at;
    ck_assert_msg(code == (failed ? MAFAT_ENOMEM : MAFAT_OK), "mapping %ld: %s", at,
                  mafat_error_name(code));
    ck_assert_msg(!failed || d.text[0], "mapping %ld: no message", at);
  }
  mafat_network_close(&s.network);
}
END_TEST

Suite *best_suite(void)
{
  Suite *suite = suite_create("best");
  TCase *front = tcase_create("front");
  tcase_set_timeout(front, 120);
  tcase_add_loop_test(front, a_front_is_what_it_says, 0, test_seeds(20));
  tcase_add_test(front, layers_of_graphs_run_in_the_best_order);
  tcase_add_test(front, outputs_are_in_place_where_they_need_less);
  tcase_add_loop_test(front, deep_and_tall_networks_have_a_front, 0, 2);
  tcase_add_loop_test(front, odd_networks_have_a_front, 0, 4);
  tcase_add_loop_test(front, a_front_beats_the_usual_plans, 0, test_seeds(40));
  tcase_add_loop_test(front, a_frame_that_stays_makes_no_other_plans, 0, 4);
  tcase_add_loop_test(front, the_same_request_gives_the_same_front, 0, test_seeds(10));
  tcase_add_loop_test(front, the_first_plan_is_within_its_budget, 0, test_seeds(20));
  tcase_add_loop_test(front, algorithms_do_not_depend_on_the_time_of_the_search, 0, test_seeds(10));
  suite_add_tcase(suite, front);
  TCase *real = tcase_create("real");
  tcase_set_timeout(real, 120);
  tcase_add_loop_test(real, real_networks_have_small_plans, 0, sizeof reals / sizeof *reals);
  suite_add_tcase(suite, real);
  TCase *candidates = tcase_create("candidates");
  tcase_add_loop_test(candidates, better_candidates_are_those_that_are_better, 0, test_seeds(20));
  suite_add_tcase(suite, candidates);
  TCase *refusing = tcase_create("refusing");
  tcase_set_timeout(refusing, 120);
  tcase_add_test(refusing, every_failed_allocation_is_reported);
  suite_add_tcase(suite, refusing);
  return suite;
}
