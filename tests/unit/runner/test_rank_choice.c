/* Which plan several ranks run, where each has a budget of its own. */
#include "predictor/cost/latency.h"
#include "predictor/planning.h"
#include "runner/rank_choice.h"
#include "tests/support/support.h"

#include <check.h>
#include <stdint.h>
#include <string.h>

Suite *rank_choice_suite(void);

/* Four convolutions of one map: 64, 192, 384, 192, 192 channels; 3.1 MB of weights. */
static const char chain[] = "[net]\nwidth=6\nheight=4\nchannels=64\n"
                            "[convolutional]\nfilters=192\nsize=1\nactivation=leaky\n"
                            "[convolutional]\nfilters=384\nsize=3\npad=1\nactivation=leaky\n"
                            "[convolutional]\nfilters=192\nsize=1\nactivation=leaky\n"
                            "[convolutional]\nfilters=192\nsize=1\nactivation=linear\n";

static int choose(struct mafat_rank_choice *c, const char *search, int n_ranks, const size_t *budgets, struct mafat_diagnostic *d)
{
  struct mafat_network *n = test_network(chain);
  struct mafat_plan_options options;
  struct mafat_calibration calibration;
  mafat_plan_defaults(&options);
  options.algorithm = MAFAT_DIRECT;
  mafat_calibration_defaults(&calibration, "portable");
  const struct mafat_rank_choice_request r = {.network = n, .n_layers = n->n_layers, .n_ranks = n_ranks, .options = &options,
                                              .search = search, .memory_bytes = SIZE_MAX, .budgets = budgets,
                                              .calibration = &calibration, .wire = {1e9, 1e-4}};
  int code = mafat_rank_choose(c, &r, d);
  mafat_network_close(&n);
  return code;
}

enum { KB = 1 << 10 };

/* Shares are equal where these fit, and such that they fit where they do not, kept before streamed. */
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
  ck_assert_msg((strcmp(c.text, equal.text) == 0) == rows[_i].equal, "%s beside %s", c.text, equal.text);
  ck_assert_msg(!strstr(c.text, "streamed"), "%s", c.text);
  for (int i = 0; i < 3; i++) ck_assert_uint_le(c.costs[i].arena_bytes + c.costs[i].kept_bytes, rows[_i].budgets[i]);
  mafat_rank_choice_close(&equal);
  mafat_rank_choice_close(&c);
}
END_TEST

/* Whole layers, too: the one with most weights goes to the rank that has room for it. */
START_TEST(layers_by_budgets)
{
  struct mafat_rank_choice c;
  struct mafat_diagnostic d = {""};
  for (int large = 0; large < 2; large++) {
    size_t budgets[2] = {large == 0 ? 3200 * KB : 700 * KB, large == 1 ? 3400 * KB : 700 * KB};
    int code = choose(&c, "layers", 2, budgets, &d);
    ck_assert_msg(code == MAFAT_OK, "%s", d.text);
    for (int i = 0; i < 2; i++) ck_assert_uint_le(c.costs[i].arena_bytes + c.costs[i].kept_bytes, budgets[i]);
    mafat_rank_choice_close(&c);
  }
}
END_TEST

/* What does not fit names the rank. */
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

Suite *rank_choice_suite(void)
{
  Suite *s = suite_create("rank choice");
  TCase *c = tcase_create("rank choice");
  tcase_add_loop_test(c, shares_by_budgets, 0, 5);
  tcase_add_test(c, layers_by_budgets);
  tcase_add_test(c, a_rank_without_room_is_named);
  suite_add_tcase(s, c);
  return s;
}
