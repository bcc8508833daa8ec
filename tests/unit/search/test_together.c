/* Covers search/separable/separable.c, predictor/transfers/{prices, units_spec}.c,
 * predictor/kinds/{activation, blend, normalize}.c: the search for the depthwise and 1x1 layers
 * that are computed together, as units. Its plan runs the chosen units, and no other choice is
 * better. */
#include "search/separable/separable.h"

#include "predictor/cost/latency.h"
#include "predictor/layout/layout.h"
#include "predictor/planning/planning.h"
#include "predictor/transfers/prices.h"
#include "predictor/transfers/units_spec.h"
#include "tests/support/support.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Suite *together_suite(void);

static const struct mafat_footprint footprint = {.process_bytes = 900 << 10,
                                                 .image_bytes = 200 << 10};
static char cfg[8192];

static void convolution(int filters, int size, int stride, int groups)
{
  size_t at = strlen(cfg);
  snprintf(cfg + at, sizeof cfg - at,
           "[convolutional]\nfilters=%d\nsize=%d\nstride=%d\npad=1\ngroups=%d\nactivation=relu\n",
           filters, size, stride, groups);
}

static void shortcut(int from)
{
  size_t at = strlen(cfg);
  snprintf(cfg + at, sizeof cfg - at, "[shortcut]\nfrom=%d\nactivation=linear\n", from);
}

/* Two pairs of layers and two bottlenecks, with a shortcut around the last bottleneck. */
static struct mafat_network *open_network(int side, int c)
{
  snprintf(cfg, sizeof cfg, "[net]\nheight=%d\nwidth=%d\nchannels=3\n", side, side);
  convolution(c, 3, 1, 1);
  for (int i = 0; i < 2; i++) {
    convolution(c, 3, 1, c);
    convolution(c, 1, 1, 1);
  }
  for (int i = 0; i < 2; i++) {
    convolution(4 * c, 1, 1, 1);
    convolution(4 * c, 3, i ? 1 : 2, 4 * c);
    convolution(c, 1, 1, 1);
  }
  shortcut(-4);
  return test_network(cfg);
}

static struct mafat_search_request request_of(const struct mafat_network *n,
                                              const struct mafat_plan_options *options,
                                              const struct mafat_calibration *c)
{
  return (struct mafat_search_request){.network = n,
                                       .n_layers = n->n_layers,
                                       .options = options,
                                       .footprint = &footprint,
                                       .calibration = c};
}

/* ---- transfers ---- */

/* The plan moves as many bytes as the choice predicts. */
START_TEST(the_plan_moves_the_fewest_bytes)
{
  static const size_t fast[] = {8 << 10, 36700, 64 << 10, 256 << 10, 4 << 20};
  struct mafat_network *n = open_network(24 + 8 * (_i / 5), 16);
  struct mafat_plan_options options = test_plain_options();
  struct mafat_calibration calibration;
  struct mafat_diagnostic d = {""};
  struct mafat_front *f;
  struct mafat_transfers chosen, made;
  struct mafat_transfers_options o = {.fast_bytes = fast[_i % 5]};
  options.keep_all = false;
  mafat_calibration_defaults(&calibration, "avx2");
  struct mafat_search_request request = request_of(n, &options, &calibration);
  char words[64];
  snprintf(words, sizeof words, "objective=transfers,fast=%zu", o.fast_bytes);
  request.words = words;
  ck_assert_msg(mafat_search_separable(&f, &request, &d) == MAFAT_OK, "%s", d.text);
  struct mafat_plan *plan = test_plan_with(n, test_spec_text(f->list[0].spec), &options);
  ck_assert_int_eq(mafat_transfers_choose(&chosen, n, n->n_layers, &o, NULL), MAFAT_OK);
  ck_assert_int_eq(mafat_transfers_of_plan(&made, n, plan, &o), MAFAT_OK);
  ck_assert_uint_eq(made.activation_bytes, chosen.activation_bytes);
  ck_assert_uint_eq(made.weight_bytes, chosen.weight_bytes);
  for (int i = 0; i < chosen.n; i++) ck_assert(mafat_transfers_runs(plan, &chosen.units[i]));
  mafat_transfers_close(&chosen);
  mafat_transfers_close(&made);
  mafat_plan_close(&plan);
  mafat_front_close(&f);
  mafat_network_close(&n);
}
END_TEST

/* ---- latency ---- */

struct trial {
  const struct mafat_search_request *request;
  const struct mafat_unit_latency *latency;
  struct mafat_unit units[32];
  double sum, ms; /* smallest sum of prices and smallest milliseconds of a plan so far */
  int n_plans;
};

static double ms_of(const struct mafat_search_request *r, const struct mafat_spec *spec)
{
  struct mafat_candidate c = {.threads = 1};
  struct mafat_diagnostic d = {""};
  ck_assert_msg(mafat_candidate_measure(&c, r, spec, &d) == MAFAT_OK, "%s", d.text);
  return c.ms;
}

static void measure(struct trial *t, int n, double sum)
{
  struct mafat_spec *spec;
  ck_assert_int_eq(mafat_units_spec(&spec, t->request->network, t->request->n_layers, t->units, n,
                                    NULL),
                   MAFAT_OK);
  t->ms = fmin(t->ms, ms_of(t->request, spec));
  t->sum = fmin(t->sum, sum);
  t->n_plans++;
  mafat_spec_close(&spec);
}

/* Tries all sequences of units from layer `l` on. Each unit is the one that was priced. */
static void try_all(struct trial *t, int l, int n, double sum)
{
  const struct mafat_network *network = t->request->network;
  if (l == network->n_layers) {
    measure(t, n, sum);
    return;
  }
  t->units[n] = (struct mafat_unit){.how = MAFAT_FUSED_NONE, .layers = {l}, .n = 1};
  try_all(t, l + 1, n + 1, sum + mafat_unit_ms(t->latency, &t->units[n]));
  for (int i = 0; i < t->latency->n; i++) {
    const struct mafat_priced_unit *u = &t->latency->list[i];
    if (u->unit.layers[0] != l || !isfinite(u->ms)) continue;
    t->units[n] = u->unit;
    try_all(t, l + u->unit.n, n + 1, sum + u->ms);
  }
}

/* The chosen units have the smallest sum of prices of all sequences, and the plan takes at most 1%
 * longer than the fastest plan of any sequence. */
START_TEST(no_sequence_of_units_is_faster)
{
  static const char *const levels[] = {"portable", "avx2", "avx512"};
  struct mafat_network *n = open_network(16 + 24 * (_i / 3), 8 + 8 * (_i / 3));
  struct mafat_plan_options options = test_plain_options();
  struct mafat_calibration calibration;
  struct mafat_diagnostic d = {""};
  struct mafat_unit_latency latency;
  struct mafat_transfers chosen;
  struct mafat_transfers_options o = {.fast_bytes = 64 << 10};
  struct mafat_front *f;
  options.keep_all = false;
  mafat_calibration_defaults(&calibration, levels[_i % 3]);
  struct mafat_search_request request = request_of(n, &options, &calibration);
  ck_assert_int_eq(mafat_unit_latency_open(&latency, n, n->n_layers, &options, &calibration, &d),
                   MAFAT_OK);
  struct trial t = {.request = &request, .latency = &latency, .sum = INFINITY, .ms = INFINITY};
  try_all(&t, 0, 0, 0);
  ck_assert_int_gt(t.n_plans, 100);
  double sum = 0;
  ck_assert_int_eq(mafat_transfers_choose(&chosen, n, n->n_layers, &o,
                                          &(struct mafat_unit_price){mafat_unit_ms, &latency}),
                   MAFAT_OK);
  for (int i = 0; i < chosen.n; i++) sum += mafat_unit_ms(&latency, &chosen.units[i]);
  ck_assert_double_eq_tol(sum, t.sum, 1e-9);
  ck_assert_msg(mafat_search_separable(&f, &request, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_msg(f->list[f->n - 1].ms <= 1.01 * t.ms,
                "%s: %g ms, prices %g, the fastest of %d plans %g", test_spec_text(f->list[0].spec),
                f->list[f->n - 1].ms, sum, t.n_plans, t.ms);
  mafat_front_close(&f);
  mafat_transfers_close(&chosen);
  mafat_unit_latency_close(&latency);
  mafat_network_close(&n);
}
END_TEST

/* ---- any network ---- */

START_TEST(any_network_has_a_plan)
{
  char text[TEST_CFG_ROOM];
  struct test_rng rng = test_rng(4200 + (uint64_t)_i);
  struct test_network_style style = test_network_style();
  struct mafat_plan_options options = test_plain_options();
  struct mafat_calibration calibration;
  struct mafat_diagnostic d = {""};
  struct mafat_front *f;
  options.keep_all = test_random_chance(&rng, 20);
  options.n_threads = test_random_int(&rng, 1, 3);
  test_random_network(&rng, &style, text, sizeof text);
  struct mafat_network *n = test_network(text);
  mafat_calibration_defaults(&calibration, "avx2");
  struct mafat_search_request request = request_of(n, &options, &calibration);
  for (int i = 0; i < 2; i++) {
    request.words = i ? "objective=transfers" : NULL;
    ck_assert_msg(mafat_search_separable(&f, &request, &d) == MAFAT_OK, "%s\n%s", d.text, text);
    ck_assert_int_ge(f->n, 1);
    mafat_front_close(&f);
  }
  mafat_network_close(&n);
}
END_TEST

/* Layers that only rename their input compute nothing; the plan still has a group for them. */
START_TEST(what_only_renames_has_a_plan)
{
  struct mafat_network *n = test_network("[net]\nheight=8\nwidth=8\nchannels=3\n[dropout]"
                                         "\nprobability=.5\n[dropout]\nprobability=.5\n");
  struct mafat_plan_options options;
  struct mafat_calibration calibration;
  struct mafat_diagnostic d = {""};
  struct mafat_front *f;
  mafat_plan_defaults(&options);
  mafat_calibration_defaults(&calibration, "avx2");
  struct mafat_search_request request = request_of(n, &options, &calibration);
  request.words = _i ? "objective=transfers" : NULL;
  ck_assert_msg(mafat_search_separable(&f, &request, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(f->list[0].spec->n_groups, 1);
  mafat_front_close(&f);
  mafat_network_close(&n);
}
END_TEST

Suite *together_suite(void)
{
  Suite *suite = suite_create("together");
  TCase *t = tcase_create("together");
  tcase_set_timeout(t, 120);
  tcase_add_loop_test(t, the_plan_moves_the_fewest_bytes, 0, 15);
  tcase_add_loop_test(t, no_sequence_of_units_is_faster, 0, 6);
  tcase_add_loop_test(t, any_network_has_a_plan, 0, test_seeds(60));
  tcase_add_loop_test(t, what_only_renames_has_a_plan, 0, 2);
  suite_add_tcase(suite, t);
  return suite;
}
