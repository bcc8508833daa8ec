/* Covers search/{searches, common/words, smallest/smallest}.c: finding a search by its name and
 * reading its words, and the searches compared with each other: "least" never needs a larger arena
 * than the plan of a published search that computes nothing twice. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/tflite/import.h"
#include "search/searches.h"
#include "tests/support/network_files.h"
#include "tests/support/imported.h"
#include "tests/support/integer_graph.h"
#include "tests/support/support.h"

Suite *searches_suite(void);

static const struct mafat_footprint footprint = {.process_bytes = 3 << 20,
                                                 .program_bytes = 4 << 20};

/* The published searches. Their tiles of feature maps may overlap, and the overlap is then computed
 * twice. Plans of "least" compute nothing twice, so they are not compared with such plans. */
static const struct {
  const char *search;
  const char *words;
} rivals[] = {
    {"motes", NULL}, {"fdt", "tiling=fdt"}, {"fdt", "tiling=ffmt"}, {"fdt", "tiling=both"}};

static struct mafat_candidate find(const char *name, const struct mafat_search_request *request,
                                   char *plan)
{
  const struct mafat_search *search;
  const char *words;
  struct mafat_front *front;
  struct mafat_diagnostic d = {""};
  ck_assert_int_eq(mafat_search_find(&search, &words, name, &d), MAFAT_OK);
  ck_assert_msg(search->find(&front, request, &d) == MAFAT_OK, "%s: %s", name, d.text);
  ck_assert_int_eq(front->n, 1);
  struct mafat_candidate found = front->list[0];
  snprintf(plan, TEST_PLAN_ROOM, "%s", test_spec_text(found.spec));
  mafat_front_close(&front);
  return found;
}

static void check_least(const struct mafat_network *n, const char *name,
                        enum mafat_algorithm algorithm, int threads)
{
  char plan[TEST_PLAN_ROOM], other[TEST_PLAN_ROOM];
  struct mafat_plan_options options;
  struct mafat_calibration calibration;
  mafat_plan_defaults(&options);
  mafat_calibration_defaults(&calibration, "avx2");
  options.algorithm = algorithm;
  options.n_threads = threads;
  struct mafat_search_request request = {.network = n,
                                         .n_layers = n->n_layers,
                                         .options = &options,
                                         .footprint = &footprint,
                                         .calibration = &calibration};
  const struct mafat_candidate least = find("least", &request, plan);
  if (least.redundant_macs) test_fail_case(name, plan, "computes something twice");
  for (size_t i = 0; i < sizeof rivals / sizeof *rivals; i++) {
    request.words = rivals[i].words;
    const struct mafat_candidate c = find(rivals[i].search, &request, other);
    if (!c.redundant_macs && c.arena_bytes < least.arena_bytes)
      test_fail_case(name, plan, "%zu bytes, %s needs %zu: %s", least.arena_bytes, rivals[i].search,
                     c.arena_bytes, other);
  }
}

START_TEST(the_least_is_no_more_than_any_other)
{
  struct test_rng rng = test_rng(500 + (uint64_t)_i);
  struct test_network_style style = test_small_style();
  char cfg[TEST_CFG_ROOM];
  test_random_network(&rng, &style, cfg, sizeof cfg);
  struct mafat_network *n = test_network(cfg);
  check_least(n, cfg, test_random_chance(&rng, 50) ? MAFAT_AUTO : MAFAT_DIRECT,
              test_random_int(&rng, 1, 2));
  mafat_network_close(&n);
}
END_TEST

START_TEST(nor_where_numbers_are_whole)
{
  static struct test_integer_graph g;
  struct mafat_diagnostic d = {""};
  char name[32];
  test_integer_graph_open(&g, (uint64_t)_i * 0x9e3779b97f4a7c15u + 11);
  struct test_imported m = test_import_tflite(&g.model, &d);
  snprintf(name, sizeof name, "integer graph %d", _i);
  if (m.code == MAFAT_OK) check_least(m.network, name, MAFAT_DIRECT, 1);
  test_imported_close(&m);
  test_integer_graph_close(&g);
}
END_TEST

static const char *const reals[] = {
    "kws_ref_model", "text_class", "magic_wand", "cifar10", "vww_96_int8", "micro_speech_quantized",
    "ad01_int8", "pretrainedResnet_quant", "mobilenet_v1_0.25_128_quant"};

START_TEST(nor_of_networks_that_are_small)
{
  const char *folder = getenv("MAFAT_MODELS");
  char path[1024];
  snprintf(path, sizeof path, "%s/tflite/%s.tflite", folder ? folder : "", reals[_i]);
  if (!folder || access(path, R_OK) != 0) {
    printf("test_searches: skipped %s: MAFAT_MODELS names no folder that has it\n", reals[_i]);
    return;
  }
  struct mafat_network *n;
  struct mafat_diagnostic d = {""};
  ck_assert_msg(test_tflite_network_read(&n, path, NULL, &d) == MAFAT_OK, "%s", d.text);
  check_least(n, reals[_i], MAFAT_DIRECT, 1);
  mafat_network_close(&n);
}
END_TEST

/* ---- words ---- */

static const struct {
  const char *text, *why; /* why: expected message; NULL: the text is valid */
} spelled[] = {
    {"best", NULL},
    {"motes:", NULL},
    {"motes:beam=4,delta=1.1", NULL},
    {"motes:measure,cells=2,43,92,beam=64", NULL},
    {"fdt:tiling=ffmt,layout=published", NULL},
    {"separable:objective=transfers,fast=64K", NULL},
    {"greedy:bias=0", NULL},
    {"greedy:bias=31MiB", NULL},
    {"mote", "expected a search (best, least, fdt, motes, separable, greedy), found mote"},
    {"motes:beem=4",
     "--search motes expects words of its own (delta, measure, beam, cells), found beem"},
    {"best:beam=4", "--search best expects no words, found beam"},
    {"motes:beam=65", "--search motes: beam expects a number from 1 to 64, found 65"},
    {"motes:beam=4.5", "beam expects a number from 1 to 64, found 4.5"},
    {"motes:beam", "beam expects a number from 1 to 64, found nothing"},
    {"motes:beam=4,", "beam expects a number from 1 to 64, found 4,"},
    {"motes:delta=.9", "delta expects a number from 1 to 1000, such as 1.05, found .9"},
    {"motes:delta=", "delta expects a number from 1 to 1000, such as 1.05, found "},
    {"motes:measure=1", "measure expects no value, found 1"},
    {"fdt:tiling=rows", "tiling expects fdt, ffmt or both, found rows"},
    {"separable:fast=0", "fast expects a size like 64K, found 0"},
    {"separable:fast=64X", "fast expects a size like 64K, found 64X"},
    {"greedy:bias=99999999999G", "bias expects 0 or a size like 31M, found 99999999999G"},
};

START_TEST(words_are_those_of_their_search)
{
  const struct mafat_search *search;
  const char *words;
  struct mafat_diagnostic d = {""};
  int code = mafat_search_find(&search, &words, spelled[_i].text, &d);
  if (!spelled[_i].why) ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  else
    ck_assert_msg(code == MAFAT_EINVAL && strstr(d.text, spelled[_i].why), "%s: %s",
                  spelled[_i].text, d.text);
}
END_TEST

/* All words of all searches have defaults. The text 1.05 is read as the nearest double; if a word
 * is given twice, its last value counts. */
START_TEST(words_have_values)
{
  struct mafat_search_value values[MAFAT_MOST_SEARCH_WORDS];
  const struct mafat_search *search, *motes;
  const char *words;
  for (int i = 0; (search = mafat_search_at(i)); i++) {
    ck_assert_int_le(search->n_words, MAFAT_MOST_SEARCH_WORDS);
    ck_assert_int_eq(mafat_search_words_read(values, search, NULL, NULL), MAFAT_OK);
    ck_assert(search->help && !search->find != !search->pick);
    for (int k = 0; k < search->n_words; k++) ck_assert(search->words[k].help && !values[k].given);
  }
  ck_assert_int_eq(mafat_search_find(&motes, &words, "motes:beam=4,cells=2,43,delta=1.05,beam=5",
                                     NULL),
                   MAFAT_OK);
  ck_assert_int_eq(mafat_search_words_read(values, motes, words, NULL), MAFAT_OK);
  ck_assert(values[0].given && values[0].number == 1.05 && !values[1].given);
  ck_assert(values[2].number == 5 && values[3].length == 4 &&
            memcmp(values[3].text, "2,43", 4) == 0);
  ck_assert(mafat_search_is_timed(motes, "beam=4,measure") && !mafat_search_is_timed(motes, words));
}
END_TEST

Suite *searches_suite(void)
{
  Suite *suite = suite_create("searches");
  TCase *t = tcase_create("searches");
  tcase_set_timeout(t, 300);
  tcase_add_loop_test(t, the_least_is_no_more_than_any_other, 0, test_seeds(100));
  tcase_add_loop_test(t, nor_where_numbers_are_whole, 0, test_seeds(100));
  tcase_add_loop_test(t, nor_of_networks_that_are_small, 0,
                      test_slow_rows((int)(sizeof reals / sizeof *reals)));
  tcase_add_loop_test(t, words_are_those_of_their_search, 0,
                      (int)(sizeof spelled / sizeof *spelled));
  tcase_add_test(t, words_have_values);
  suite_add_tcase(suite, t);
  return suite;
}
