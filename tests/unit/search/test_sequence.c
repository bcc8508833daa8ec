/* Covers search/least/{grouping, sequence}.c, predictor/kinds/pool.c: the order in which layers are
 * divided into groups, and the groupings. Tested on networks written by hand; groupings of random
 * networks are compared with simpler plans. */
#include <check.h>
#include <stdlib.h>

#include "predictor/planning/planning.h"
#include "search/least/least.h"
#include "search/least/grouping.h"
#include "search/least/sequence.h"
#include "tests/support/support.h"

Suite *sequence_suite(void);

#define NET "[net]\nheight=32\nwidth=32\nchannels=3\n\n"
#define CONV(filters, size) \
  "[convolutional]\nfilters=" #filters "\nsize=" #size "\npad=1\nactivation=leaky\n\n"
#define ROUTE(...) "[route]\nlayers=" #__VA_ARGS__ "\n\n"

/* Two cells. Layer 5 narrows the first cell's map (layer 0) for the second cell, but comes after
 * the other branch (layers 1 to 3) in the file. */
static const char cells[] =
    NET CONV(64, 3) CONV(8, 1) CONV(8, 3) CONV(16, 3) ROUTE(0) CONV(8, 1) ROUTE(-1, 3) CONV(64, 3);

static void check_order(const struct mafat_sequence *s, const struct mafat_network *n)
{
  bool *there = calloc((size_t)mafat_network_n_tensors(n), sizeof *there);
  for (int t = n->n_layers; t < mafat_network_n_operators(n); t++) there[t] = true;
  for (int i = 0; i < s->n_layers; i++) {
    int l = s->layers[i];
    for (struct mafat_reads r = mafat_layer_reads(&n->layers[l]);
         !mafat_layer_is_alias(&n->layers[l]) && mafat_reads_next(&r);)
      ck_assert_msg(there[r.source->tensor], "layer %d comes before %d, which it reads", l,
                    r.source->tensor);
    ck_assert(!there[l]);
    there[l] = true;
  }
  free(there);
}

START_TEST(what_frees_more_than_it_takes_comes_early)
{
  struct mafat_network *n = test_network(cells);
  struct mafat_sequence *s;
  ck_assert_int_eq(mafat_sequence_make(&s, n, n->n_layers, false, NULL), MAFAT_OK);
  check_order(s, n);
  ck_assert_int_eq(s->layers[1] + s->layers[2],
                   /* layers 1 and 5: both read layer 0's map, which is freed after them */
                   1 + 5);
  ck_assert(s->crossing[3] == 2 * 8 * 32 * 32 * sizeof(float));
  int places[8], count = mafat_sequence_places(s, places, 8);
  bool found = false;
  for (int i = 0; i < count; i++) found = found || s->crossing[places[i]] == s->crossing[3];
  ck_assert(found);
  mafat_sequence_close(&s);
  ck_assert_ptr_null(s);
  mafat_network_close(&n);
}
END_TEST

START_TEST(every_layer_comes_after_what_it_reads)
{
  for (int i = 0; i < 50; i++) {
    struct test_rng rng = test_rng((uint64_t)(_i * 50 + i));
    struct test_network_style style = test_network_style();
    char cfg[TEST_CFG_ROOM];
    test_random_network(&rng, &style, cfg, sizeof cfg);
    struct mafat_network *n = test_network(cfg);
    struct mafat_sequence *s, *same;
    ck_assert_int_eq(mafat_sequence_make(&s, n, n->n_layers, i % 2, NULL), MAFAT_OK);
    check_order(s, n);
    ck_assert_int_eq(mafat_sequence_of(&same, n, s->layers, n->n_layers, NULL), MAFAT_OK);
    for (int k = 0; k <= n->n_layers; k++) ck_assert(s->crossing[k] == same->crossing[k]);
    mafat_sequence_close(&s);
    mafat_sequence_close(&same);
    mafat_network_close(&n);
  }
}
END_TEST

/* ---- groupings ---- */

static size_t arena_of(const struct mafat_network *n, const char *text)
{
  struct mafat_plan *plan = test_plan(n, text);
  struct mafat_layout *layout = test_layout(n, plan);
  size_t bytes = layout->total_bytes;
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  return bytes;
}

static size_t grouping(struct mafat_network *n)
{
  static const struct mafat_footprint footprint = {.process_bytes = 3 << 20,
                                                   .program_bytes = 4 << 20};
  struct mafat_plan_options options;
  struct mafat_calibration calibration;
  struct mafat_front *front;
  struct mafat_sequence *s;
  struct mafat_diagnostic d = {""};
  mafat_plan_defaults(&options);
  mafat_calibration_defaults(&calibration, "avx2");
  struct mafat_search_request request = {.network = n,
                                         .n_layers = n->n_layers,
                                         .options = &options,
                                         .footprint = &footprint,
                                         .calibration = &calibration,
                                         .least = true};
  ck_assert_int_eq(mafat_front_open(&front), MAFAT_OK);
  ck_assert_int_eq(mafat_sequence_make(&s, n, n->n_layers, false, NULL), MAFAT_OK);
  ck_assert_msg(mafat_grouping_least(front, &request, s, 1000000, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(front->n, 1);
  size_t bytes = arena_of(n, test_spec_text(front->list[0].spec));
  mafat_sequence_close(&s);
  mafat_front_close(&front);
  return bytes;
}

START_TEST(a_grouping_needs_less_than_whole_maps)
{
  struct mafat_network *n = test_network(cells);
  ck_assert_uint_lt(grouping(n), arena_of(n, "1x1:direct/NoCut"));
  mafat_network_close(&n);
  n = test_network(NET CONV(64, 3) CONV(8, 1) CONV(64, 3) CONV(8, 1));
  ck_assert_uint_lt(3 * grouping(n), arena_of(n, "1x1:direct/NoCut"));
  mafat_network_close(&n);
}
END_TEST

/* One group of whole maps is a grouping, too, and so is one group of rows: the grouping found needs
 * no more than either. */
START_TEST(no_grouping_needs_more_than_one_group)
{
  for (int i = 0; i < 8; i++) {
    struct test_rng rng = test_rng((uint64_t)(7000 + _i * 8 + i));
    struct test_network_style style = test_network_style();
    char cfg[TEST_CFG_ROOM];
    test_random_network(&rng, &style, cfg, sizeof cfg);
    struct mafat_network *n = test_network(cfg);
    size_t bytes = grouping(n);
    if (bytes > arena_of(n, "1x1:direct/NoCut/inplace") ||
        bytes > arena_of(n, "rows1:direct/NoCut/inplace"))
      test_fail_case(cfg, "grouping", "needs %zu bytes", bytes);
    mafat_network_close(&n);
  }
}
END_TEST

Suite *sequence_suite(void)
{
  Suite *suite = suite_create("sequence");
  TCase *t = tcase_create("orders");
  tcase_set_timeout(t, 60);
  tcase_add_test(t, what_frees_more_than_it_takes_comes_early);
  tcase_add_loop_test(t, every_layer_comes_after_what_it_reads, 0, test_seeds(10));
  suite_add_tcase(suite, t);
  TCase *groupings = tcase_create("groupings");
  tcase_set_timeout(groupings, 60);
  tcase_add_test(groupings, a_grouping_needs_less_than_whole_maps);
  tcase_add_loop_test(groupings, no_grouping_needs_more_than_one_group, 0, test_seeds(10));
  suite_add_tcase(suite, groupings);
  return suite;
}
