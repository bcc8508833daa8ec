/* Covers api/rank_choice.c, predictor/cost/rank_latency.c, search/ranks/rank_specs.c: the choice of
 * a plan for several ranks, each with its own budget. */
#include "predictor/cost/latency.h"
#include "predictor/planning/planning.h"
#include "api/rank_choice.h"
#include "tests/support/failing_malloc.h"
#include "tests/support/support.h"

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <math.h>
#include <string.h>
#include <time.h>

Suite *rank_choice_suite(void);

/* Four convolutions on maps with 64, 192, 384, 192 and 192 channels; 3.1 MB of weights. */
static const char chain[] = "[net]\nwidth=6\nheight=4\nchannels=64\n"
                            "[convolutional]\nfilters=192\nsize=1\nactivation=leaky\n"
                            "[convolutional]\nfilters=384\nsize=3\npad=1\nactivation=leaky\n"
                            "[convolutional]\nfilters=192\nsize=1\nactivation=leaky\n"
                            "[convolutional]\nfilters=192\nsize=1\nactivation=linear\n";

/* A request with everything that it points to. */
struct request {
  struct mafat_network *network;
  struct mafat_plan_options options;
  struct mafat_calibration calibration;
  struct mafat_rank_choice_request request;
};

static struct mafat_rank_choice_request *begin(struct request *q, const char *cfg,
                                               const char *search, int n_ranks)
{
  q->network = test_network(cfg);
  mafat_plan_defaults(&q->options);
  mafat_calibration_defaults(&q->calibration, "portable");
  q->request = (struct mafat_rank_choice_request){.network = q->network,
                                                  .n_layers = q->network->n_layers,
                                                  .n_ranks = n_ranks,
                                                  .options = &q->options,
                                                  .search = search,
                                                  .memory_bytes = SIZE_MAX,
                                                  .calibration = &q->calibration,
                                                  .wire = {1e9, 1e-4}};
  return &q->request;
}

static int choose_in_time(struct mafat_rank_choice *c, const char *search, int n_ranks,
                          const size_t *budgets, const double *speeds, double seconds,
                          struct mafat_diagnostic *d)
{
  struct request q;
  struct mafat_rank_choice_request *r = begin(&q, chain, search, n_ranks);
  q.options.algorithm = MAFAT_DIRECT;
  r->budgets = budgets;
  r->speeds = speeds;
  r->plan_seconds = seconds;
  int code = mafat_rank_choose(c, r, d);
  mafat_network_close(&q.network);
  return code;
}

static int choose_at(struct mafat_rank_choice *c, const char *search, int n_ranks,
                     const size_t *budgets, const double *speeds, struct mafat_diagnostic *d)
{
  return choose_in_time(c, search, n_ranks, budgets, speeds, 0, d);
}

static int choose(struct mafat_rank_choice *c, const char *search, int n_ranks,
                  const size_t *budgets, struct mafat_diagnostic *d)
{
  return choose_at(c, search, n_ranks, budgets, NULL, d);
}

enum { KB = 1 << 10 };

/* Ranks get equal shares if these fit their budgets, else shares that fit; weights are kept if
 * possible, else streamed. */
START_TEST(shares_by_budgets)
{
  static const struct {
    const char *search;
    size_t budgets[3];
    bool equal;
  } rows[] = {{"deeperthings", {1500 * KB, 1500 * KB, 1500 * KB}, true},
              {"deeperthings", {2400 * KB, 800 * KB, 800 * KB}, false},
              {"deeperthings", {800 * KB, 800 * KB, 2400 * KB}, false},
              {"fdto", {700 * KB, 1400 * KB, 1800 * KB}, false},
              {"fdto", {800 * KB, 2400 * KB, 800 * KB}, false}};
  struct mafat_rank_choice equal, c;
  struct mafat_diagnostic d = {""};
  ck_assert_int_eq(choose(&equal, rows[_i].search, 3, NULL, &d), MAFAT_OK);
  int code = choose(&c, rows[_i].search, 3, rows[_i].budgets, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  ck_assert_msg((strcmp(c.text, equal.text) == 0) == rows[_i].equal, "%s beside %s", c.text,
                equal.text);
  ck_assert_msg(!strstr(c.text, "streamed"), "%s", c.text);
  for (int i = 0; i < 3; i++)
    ck_assert_uint_le(c.costs[i].arena_bytes + c.costs[i].kept_bytes, rows[_i].budgets[i]);
  mafat_rank_choice_close(&equal);
  mafat_rank_choice_close(&c);
}
END_TEST

/* If ranks get whole layers, the one with most weights goes to the rank that has memory for it. */
START_TEST(layers_by_budgets)
{
  struct mafat_rank_choice c;
  struct mafat_diagnostic d = {""};
  for (int large = 0; large < 2; large++) {
    size_t budgets[2] = {large == 0 ? 3200 * KB : 700 * KB, large == 1 ? 3400 * KB : 700 * KB};
    int code = choose(&c, "layers", 2, budgets, &d);
    ck_assert_msg(code == MAFAT_OK, "%s", d.text);
    for (int i = 0; i < 2; i++)
      ck_assert_uint_le(c.costs[i].arena_bytes + c.costs[i].kept_bytes, budgets[i]);
    mafat_rank_choice_close(&c);
  }
}
END_TEST

/* On any number of ranks, the search "best" finds a plan that is no slower than DeeperThings',
 * sends no more and, without budgets, needs no more memory. */
START_TEST(best_is_never_worse)
{
  static const int numbers[] = {1, 2, 3, 4, 5, 6, 12, 16};
  int n_ranks = numbers[_i];
  size_t most = 0, most_of_best = 0;
  struct mafat_rank_choice first, best;
  struct mafat_diagnostic d = {""};
  ck_assert_int_eq(choose(&first, "deeperthings", n_ranks, NULL, &d), MAFAT_OK);
  int code = choose(&best, "best", n_ranks, NULL, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  ck_assert(best.total_ms <= first.total_ms);
  ck_assert_uint_le(best.exchanged_bytes, first.exchanged_bytes);
  for (int i = 0; i < n_ranks; i++) {
    size_t need = first.costs[i].arena_bytes + first.costs[i].kept_bytes,
           own = best.costs[i].arena_bytes + best.costs[i].kept_bytes;
    most = need > most ? need : most;
    most_of_best = own > most_of_best ? own : most_of_best;
  }
  ck_assert_uint_le(most_of_best, most);
  mafat_rank_choice_close(&first);
  mafat_rank_choice_close(&best);
}
END_TEST

/* The search "best" gives DeeperThings' plan if it has no time, and the plan of an unbounded search
 * if it has enough. */
START_TEST(best_keeps_to_its_time)
{
  const size_t capacity[] = {8192 * KB, 8192 * KB};
  struct mafat_rank_choice first, best, c;
  struct mafat_diagnostic d = {""};
  ck_assert_int_eq(choose(&first, "deeperthings", 2, capacity, &d), MAFAT_OK);
  ck_assert_int_eq(choose(&best, "best", 2, capacity, &d), MAFAT_OK);
  ck_assert(best.total_ms < first.total_ms);
  ck_assert_int_eq(choose_in_time(&c, "best", 2, capacity, NULL, 1e-9, &d), MAFAT_OK);
  ck_assert_str_eq(c.text, first.text);
  mafat_rank_choice_close(&c);
  ck_assert_int_eq(choose_in_time(&c, "best", 2, capacity, NULL, 600, &d), MAFAT_OK);
  ck_assert_str_eq(c.text, best.text);
  mafat_rank_choice_close(&c);
  mafat_rank_choice_close(&first);
  mafat_rank_choice_close(&best);
}
END_TEST

/* If equal shares exceed the budgets, the search "best" keeps to them: here by whole layers on one
 * of two ranks. */
START_TEST(best_keeps_to_budgets)
{
  static const size_t budgets[][3] = {{1200 * KB, 1200 * KB, 1200 * KB},
                                      {3600 * KB, 300 * KB, 300 * KB},
                                      {400 * KB, 3600 * KB, 400 * KB}};
  struct mafat_rank_choice c;
  struct mafat_diagnostic d = {""};
  int code = choose(&c, "best", 3, budgets[_i], &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  for (int i = 0; i < 3; i++)
    ck_assert_uint_le(c.costs[i].arena_bytes + c.costs[i].kept_bytes, budgets[_i][i]);
  mafat_rank_choice_close(&c);
}
END_TEST

/* If each rank has memory for all weights, the plan is by rows: ranks exchange only the
 * borders. */
START_TEST(best_is_by_rows_where_there_is_room)
{
  const size_t capacity[] = {8192 * KB, 8192 * KB};
  struct mafat_rank_choice bounded, c;
  struct mafat_diagnostic d = {""};
  ck_assert_int_eq(choose(&bounded, "best", 2, NULL, &d), MAFAT_OK);
  ck_assert_int_eq(choose(&c, "best", 2, capacity, &d), MAFAT_OK);
  ck_assert_msg(strstr(c.text, "h2:") && !strstr(c.text, "c2:"), "%s", c.text);
  ck_assert(c.total_ms <= bounded.total_ms);
  mafat_rank_choice_close(&bounded);
  mafat_rank_choice_close(&c);
}
END_TEST

/* Four ranks with memory for all weights have a quarter of the maps each: two crossing cuts
 * have shorter borders than three. */
START_TEST(best_is_a_grid_where_less_crosses)
{
  static const char square[] = "[net]\nwidth=64\nheight=64\nchannels=3\n"
                               "[convolutional]\nfilters=64\nsize=3\npad=1\nactivation=leaky\n"
                               "[convolutional]\nfilters=64\nsize=3\npad=1\nactivation=leaky\n"
                               "[convolutional]\nfilters=64\nsize=3\npad=1\nactivation=leaky\n";
  struct request q;
  struct mafat_rank_choice c;
  struct mafat_diagnostic d = {""};
  struct mafat_rank_choice_request *r = begin(&q, square, "best", 4);
  r->memory_bytes = 64 << 20;
  r->wire = (struct mafat_rank_wire){1e9, 1e-5};
  int code = mafat_rank_choose(&c, r, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  ck_assert_str_eq(c.text, "split(h2:0-2,w2:0-2)/NoCut/ranks=4");
  mafat_rank_choice_close(&c);
  mafat_network_close(&q.network);
}
END_TEST

/* More memory never gives this chain a slower plan, kept or streamed. */
START_TEST(best_takes_what_memory_there_is)
{
  static const size_t capacity[] = {300 * KB,  500 * KB,  800 * KB, 1200 * KB,
                                    1600 * KB, 2400 * KB, 4800 * KB};
  struct mafat_diagnostic d = {""};
  double before = INFINITY;
  for (size_t i = 0; i < sizeof capacity / sizeof *capacity; i++) {
    const size_t budgets[] = {capacity[i], capacity[i], capacity[i]};
    struct mafat_rank_choice c;
    int code = choose(&c, "best", 3, budgets, &d);
    ck_assert_msg(code == MAFAT_OK || (code == MAFAT_ELIMIT && isinf(before)), "%zu bytes: %s",
                  capacity[i], d.text);
    if (code == MAFAT_OK) ck_assert_msg(c.total_ms <= before, "%zu bytes: %s", capacity[i], c.text);
    if (code == MAFAT_OK) before = c.total_ms;
    mafat_rank_choice_close(&c);
  }
  ck_assert(isfinite(before));
}
END_TEST

/* The message names the rank that has too little memory. */
START_TEST(a_rank_without_room_is_named)
{
  static const size_t budgets[] = {4096 * KB, 4096 * KB, 1 * KB};
  struct mafat_rank_choice c;
  struct mafat_diagnostic d = {""};
  ck_assert_int_eq(choose(&c, NULL, 3, budgets, &d), MAFAT_ELIMIT);
  ck_assert_ptr_nonnull(strstr(d.text, "does not fit: rank 2 of 3 needs"));
  mafat_rank_choice_close(&c);
}
END_TEST

/* A rank that is three times as fast computes more than the others. The total work does not grow,
 * and the plan is faster than equal shares at these speeds. If all ranks are equally fast, the plan
 * has equal shares. */
START_TEST(shares_by_speeds)
{
  static const char *const searches[] = {"deeperthings", "fdto", "best"};
  static const double same[] = {2, 2, 2};
  double speeds[] = {1, 1, 1};
  struct mafat_rank_choice equal, c;
  struct mafat_diagnostic d = {""};
  const char *search = searches[_i / 3];
  int fast = _i % 3;
  ck_assert_int_eq(choose(&equal, search, 3, NULL, &d), MAFAT_OK);
  ck_assert_int_eq(choose_at(&c, search, 3, NULL, same, &d), MAFAT_OK);
  ck_assert_str_eq(c.text, equal.text);
  mafat_rank_choice_close(&c);
  speeds[fast] = 3;
  int code = choose_at(&c, search, 3, NULL, speeds, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  for (int i = 0; i < 3; i++) /* compute_ms is at the rank's own speed: work = speed * time */
    if (i != fast)
      ck_assert_msg(speeds[fast] * c.costs[fast].compute_ms > 1.5 * c.costs[i].compute_ms,
                    "rank %d of %s", i, c.text);
  ck_assert_msg(c.total_ms < equal.total_ms, "%g ms for %g: %s", c.total_ms, equal.total_ms,
                c.text);
  mafat_rank_choice_close(&equal);
  mafat_rank_choice_close(&c);
}
END_TEST

/* The search ends. Rank 0 has memory for both layers, and an idle rank needs nearly none. A search
 * that moved all layers to an idle rank, again and again, would not end. */
START_TEST(idle_ranks_do_not_get_all)
{
  static const char two[] =
      "[net]\nwidth=64\nheight=64\nchannels=3\n"
      "[convolutional]\nfilters=16\nsize=3\npad=1\nactivation=leaky\n"
      "[convolutional]\nfilters=32\nsize=3\nstride=2\npad=1\nactivation=leaky\n";
  static const size_t rooms[][4] = {{615 * KB, 323 * KB, 304 * KB, 267 * KB},
                                    {847 * KB, 183 * KB, 312 * KB, 166 * KB},
                                    {657 * KB, 279 * KB, 237 * KB, 158 * KB}};
  const size_t *budgets = rooms[_i];
  struct request q;
  struct mafat_rank_choice c;
  struct mafat_diagnostic d = {""};
  struct mafat_rank_choice_request *r = begin(&q, two, "layers", 4);
  r->budgets = budgets;
  int code = mafat_rank_choose(&c, r, &d);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  for (int i = 0; i < 4; i++)
    ck_assert_uint_le(c.costs[i].arena_bytes + c.costs[i].kept_bytes, budgets[i]);
  mafat_rank_choice_close(&c);
  mafat_network_close(&q.network);
}
END_TEST

/* Each allocation of a search fails in turn: the failure is reported and nothing leaks. Allocations
 * of caches may fail silently. */
START_TEST(a_search_that_is_refused_memory_leaves_nothing)
{
  static const char *const searches[] = {"deeperthings", "fdto", "layers", "best"};
  static const size_t budgets[] = {1200 * KB, 1200 * KB, 1200 * KB};
  bool failed = true;
  struct request q;
  struct mafat_rank_choice_request *r = begin(&q, chain, searches[_i], 3);
  r->budgets = budgets;
  for (long at = 0; failed; at += 1 + at / 16) {
    struct mafat_rank_choice c;
    struct mafat_diagnostic d = {""};
    long unfreed;
    failing_malloc_arm(at);
    int code = mafat_rank_choose(&c, r, &d);
    mafat_rank_choice_close(&c);
    long asked = failing_malloc_disarm(&unfreed);
    ck_assert_msg(unfreed == 0, "allocation %ld of %ld: %ld are left", at, asked, unfreed);
    failed = asked > at;
    ck_assert_msg(code == MAFAT_OK || d.text[0], "allocation %ld: no message", at);
    ck_assert_msg(code == MAFAT_OK || code == MAFAT_ENOMEM || !failed,
                  "allocation %ld of %ld: %s, %s", at, asked, mafat_error_name(code), d.text);
  }
  mafat_network_close(&q.network);
}
END_TEST

/* A search is fast for maps of one row, which cannot be cut along rows: it does not try all pairs
 * of layers as a run of rows. */
START_TEST(rows_are_not_tried_in_vain)
{
  enum { LAYERS = 80 };
  static char cfg[TEST_CFG_ROOM];
  size_t at = (size_t)snprintf(cfg, sizeof cfg, "[net]\nwidth=2000\nheight=1\nchannels=4\n");
  for (int l = 0; l < LAYERS; l++)
    at += (size_t)snprintf(cfg + at, sizeof cfg - at,
                           "[convolutional]\nfilters=4\nsize=3\npad=1\nactivation=leaky\n");
  struct request q;
  struct mafat_rank_choice c;
  struct mafat_diagnostic d = {""};
  const struct mafat_rank_choice_request *r = begin(&q, cfg, "best", 4);
  clock_t from = clock();
  int code = mafat_rank_choose(&c, r, &d);
  double seconds = (double)(clock() - from) / CLOCKS_PER_SEC;
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  ck_assert_msg(seconds < test_patience(1.5), "%g s", seconds);
  mafat_rank_choice_close(&c);
  mafat_network_close(&q.network);
}
END_TEST

START_TEST(speeds_are_above_0)
{
  static const double speeds[][2] = {{1, 0}, {1, -1}, {1, NAN}, {1, INFINITY}};
  struct mafat_rank_choice c;
  struct mafat_diagnostic d = {""};
  ck_assert_int_eq(choose_at(&c, NULL, 2, NULL, speeds[_i], &d), MAFAT_EINVAL);
  ck_assert_ptr_nonnull(strstr(d.text, "expected a speed above 0 of rank 1"));
  mafat_rank_choice_close(&c);
}
END_TEST

Suite *rank_choice_suite(void)
{
  Suite *s = suite_create("rank choice");
  TCase *c = tcase_create("rank choice");
  tcase_add_loop_test(c, shares_by_budgets, 0, 5);
  tcase_add_test(c, layers_by_budgets);
  tcase_add_loop_test(c, best_is_never_worse, 0, 8);
  tcase_add_test(c, best_keeps_to_its_time);
  tcase_add_loop_test(c, best_keeps_to_budgets, 0, 3);
  tcase_add_test(c, best_is_by_rows_where_there_is_room);
  tcase_add_test(c, best_is_a_grid_where_less_crosses);
  tcase_add_test(c, best_takes_what_memory_there_is);
  tcase_add_test(c, a_rank_without_room_is_named);
  tcase_add_loop_test(c, idle_ranks_do_not_get_all, 0, 3);
  tcase_add_loop_test(c, a_search_that_is_refused_memory_leaves_nothing, 0, 4);
  tcase_add_test(c, rows_are_not_tried_in_vain);
  tcase_add_loop_test(c, shares_by_speeds, 0, 9);
  tcase_add_loop_test(c, speeds_are_above_0, 0, 4);
  suite_add_tcase(s, c);
  return s;
}
