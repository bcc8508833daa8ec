/* Covers search/least/least.c, search/common/{fullest, known_arenas}.c: the search for the smallest
 * arena. On random networks its plan keeps weights, computes nothing twice and is no larger than
 * usual plans; on real ones it needs no more than a given number of bytes. test_integer_graphs.c
 * checks that its plans compute the same outputs. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "formats/tflite/import.h"
#include "predictor/cost/latency.h"
#include "predictor/planning/planning.h"
#include "search/best/best.h"
#include "search/common/known_arenas.h"
#include "search/least/least.h"
#include "tests/support/network_files.h"
#include "tests/support/support.h"
#include "tests/unit/search/failing_search.h"

Suite *least_suite(void);

static const struct mafat_footprint footprint = {.process_bytes = 3 << 20,
                                                 .program_bytes = 4 << 20};

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
                                             .calibration = &s->calibration,
                                             .least = true};
}

static struct mafat_front *find(const struct search *s)
{
  struct mafat_front *f;
  struct mafat_diagnostic d = {""};
  ck_assert_msg(mafat_search_front(&f, &s->request, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(f->n, 1);
  return f;
}

/* Layout of a plan by its text; NULL: invalid for the network. */
static struct mafat_layout *lay_out(const struct search *s, const char *text,
                                    struct mafat_plan **plan)
{
  struct mafat_layout *layout;
  struct mafat_diagnostic d = {""};
  if (mafat_plan_read(plan, text, s->network, s->request.n_layers, &s->options, &d)) return NULL;
  ck_assert_msg(mafat_layout_make(&layout, s->network, *plan, &d) == MAFAT_OK, "%s", d.text);
  return layout;
}

static void check_plan(const struct search *s, const struct mafat_candidate *c, const char *cfg)
{
  const char *text = test_spec_text(c->spec);
  struct mafat_plan *plan;
  struct mafat_latency latency;
  struct mafat_layout *l = lay_out(s, text, &plan);
  ck_assert_ptr_nonnull(l);
  ck_assert_int_eq(mafat_latency_predict(&latency, s->network, plan, l, &s->calibration), MAFAT_OK);
  if (l->total_bytes != c->arena_bytes || latency.total_ms > c->ms || latency.total_ms < c->ms)
    test_fail_case(cfg, text, "%zu bytes in %g ms instead of %zu in %g", c->arena_bytes, c->ms,
                   l->total_bytes, latency.total_ms);
  if (l->bytes_read || l->tag_bytes[MAFAT_TAG_WEIGHTS])
    test_fail_case(cfg, text, "weights are not kept");
  if (l->redundant_macs)
    test_fail_case(cfg, text, "%llu products are computed again",
                   (unsigned long long)l->redundant_macs);
  mafat_layout_close(&l);
  mafat_plan_close(&plan);
}

/* Checks that none of the usual plans has a smaller arena. */
static void check_usual(struct search *s, const struct mafat_candidate *c, const char *cfg)
{
  static const char *const usual[] = {"1x1",          "panels",       "panels:apart", "rows1",
                                      "rows2",        "rows3",        "rows4",        "1x1:direct",
                                      "rows1:direct", "rows4:direct", "panels:direct"};
  for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
    char text[32];
    struct mafat_plan *plan;
    snprintf(text, sizeof text, "%s/NoCut", usual[i]);
    struct mafat_layout *l = lay_out(s, text, &plan);
    if (!l) continue;
    if (l->total_bytes < c->arena_bytes)
      test_fail_case(cfg, text, "needs %zu bytes, the least is %zu (%s)", l->total_bytes,
                     c->arena_bytes, test_spec_text(c->spec));
    mafat_layout_close(&l);
    mafat_plan_close(&plan);
  }
}

START_TEST(the_least_keeps_weights_and_computes_nothing_twice)
{
  struct test_rng rng = test_rng((uint64_t)_i);
  struct test_network_style style = test_network_style();
  char cfg[TEST_CFG_ROOM];
  struct search s;
  test_random_network(&rng, &style, cfg, sizeof cfg);
  set_up(&s, test_network(cfg));
  s.options.n_threads = test_random_int(&rng, 1, 3);
  s.options.algorithm = test_random_chance(&rng, 60) ? MAFAT_AUTO : MAFAT_DIRECT;
  struct mafat_front *f = find(&s), *again = find(&s);
  check_plan(&s, &f->list[0], cfg);
  check_usual(&s, &f->list[0], cfg);
  ck_assert_int_eq(mafat_spec_compare(f->list[0].spec, again->list[0].spec, false), 0);
  mafat_front_close(&f);
  mafat_front_close(&again);
  mafat_network_close(&s.network);
}
END_TEST

START_TEST(a_thread_more_is_never_the_least)
{
  struct search s;
  set_up(
      &s,
      test_network(
          "[net]\nheight=24\nwidth=32\nchannels=3\n[convolutional]\nfilters=16\nsize=3\npad=1\n"));
  s.request.most_threads = 4;
  struct mafat_front *f = find(&s);
  ck_assert_int_eq(f->list[0].threads, 1);
  mafat_front_close(&f);
  mafat_network_close(&s.network);
}
END_TEST

/* A map of one row and many columns cannot be divided into rows; tiles of columns compute
 * nothing twice. */
START_TEST(columns_are_cut_where_there_are_no_rows)
{
  static const char cfg[] =
      "[net]\nheight=1\nwidth=512\nchannels=16\n[convolutional]\nfilters=512\nsize=1\n"
      "[activation]\nactivation=leaky\n[convolutional]\nfilters=16\nsize=1\n";
  struct search s;
  struct mafat_plan *plan;
  set_up(&s, test_network(cfg));
  struct mafat_front *f = find(&s);
  check_plan(&s, &f->list[0], cfg);
  struct mafat_layout *whole = lay_out(&s, "1x1/NoCut", &plan);
  ck_assert_ptr_nonnull(whole);
  ck_assert_uint_lt(f->list[0].arena_bytes, whole->total_bytes / 8);
  mafat_layout_close(&whole);
  mafat_plan_close(&plan);
  mafat_front_close(&f);
  mafat_network_close(&s.network);
}
END_TEST

/* Three equal stages have the same peak. Changing one alone makes no smaller arena, so the search
 * must change all of them. */
START_TEST(peaks_that_are_alike_all_go)
{
  static const char stage[] =
      "[convolutional]\nfilters=64\nsize=3\npad=1\n[activation]\nactivation=leaky\n"
      "[convolutional]\nfilters=4\nsize=3\npad=1\n";
  char cfg[1024];
  struct search s;
  struct mafat_plan *plan;
  snprintf(cfg, sizeof cfg, "[net]\nheight=64\nwidth=64\nchannels=4\n%s%s%s", stage, stage, stage);
  set_up(&s, test_network(cfg));
  s.options.algorithm = MAFAT_DIRECT;
  struct mafat_front *f;
  struct mafat_diagnostic d = {""};
  struct mafat_group_spec group = {.cut = mafat_cut_grid(1, 1)};
  struct mafat_spec spec = {.groups = &group, .n_groups = 1};
  ck_assert_int_eq(mafat_front_open(&f), MAFAT_OK);
  ck_assert_int_eq(mafat_least_take(f, &s.request, &spec, &d), MAFAT_OK);
  ck_assert_int_eq(mafat_least_refine(f, &s.request, &d), MAFAT_OK);
  struct mafat_layout *whole = lay_out(&s, "1x1/NoCut", &plan);
  ck_assert_ptr_nonnull(whole);
  ck_assert_uint_lt(f->list[0].arena_bytes, whole->total_bytes / 4);
  mafat_layout_close(&whole);
  mafat_plan_close(&plan);
  mafat_front_close(&f);
  mafat_network_close(&s.network);
}
END_TEST

/* ---- arenas that are known ---- */

/* Hash of a layout with n_steps steps and two buffers: one of `bytes` bytes that lives from step 0
 * to `first_last`, and one of 64 bytes from step `second_first` to the last. */
static uint64_t hash_of(int n_steps, size_t bytes, int first_last, int second_first)
{
  struct mafat_buffer buffers[] = {
      {.bytes = bytes, .first = 0, .last = 2 * first_last},
      {.bytes = 64, .first = 2 * second_first, .last = 2 * n_steps - 1}};
  struct mafat_layout layout = {.buffers = buffers, .n_buffers = 2};
  struct mafat_plan plan = {.n_positions = n_steps};
  return mafat_known_arenas_hash(&layout, &plan);
}

START_TEST(arenas_are_known_by_what_lives_beside_what)
{
  static struct mafat_known_arenas known;
  uint64_t meet = hash_of(10, 128, 5, 4), apart = hash_of(10, 128, 3, 4),
           larger = hash_of(10, 256, 5, 4);
  ck_assert_uint_eq(mafat_known_arenas_find(&known, meet), 0);
  mafat_known_arenas_note(&known, meet, 192);
  mafat_known_arenas_note(&known, apart, 128);
  ck_assert_uint_eq(mafat_known_arenas_find(&known, hash_of(100, 128, 70, 20)),
                    192); /* other steps, but both buffers live at the same time again */
  ck_assert_uint_eq(mafat_known_arenas_find(&known, apart), 128);
  ck_assert_uint_eq(mafat_known_arenas_find(&known, larger), 0);
  mafat_known_arenas_note(&known, meet, 0);
  ck_assert_uint_eq(mafat_known_arenas_find(&known, meet), 0);
}
END_TEST

/* ---- real networks ---- */

static const struct {
  const char *name;
  int kib; /* most KiB that maps, input and scratch may need together */
} reals[] = {{"kws_ref_model", 14},          {"vww_96_int8", 24},
             {"pretrainedResnet_quant", 24}, {"mobilenet_v1_0.25_128_quant", 40},
             {"mcunet-320kb-1mb_imagenet", 112}, {"mobilenet_v2_1.0_224_quant", 220},
             {"mcunetv2_large", 330}};

START_TEST(networks_of_integers_run_in_kilobytes)
{
  const char *folder = getenv("MAFAT_MODELS");
  char path[1024];
  struct mafat_network *n;
  struct mafat_diagnostic d = {""};
  snprintf(path, sizeof path, "%s/tflite/%s.tflite", folder ? folder : "", reals[_i].name);
  if (!folder || access(path, R_OK) != 0) {
    printf("test_least: skipped %s: MAFAT_MODELS names no folder that has it\n", reals[_i].name);
    return;
  }
  ck_assert_msg(test_tflite_network_read(&n, path, NULL, &d) == MAFAT_OK, "%s", d.text);
  struct search s;
  struct mafat_plan *plan;
  set_up(&s, n);
  struct mafat_front *f = find(&s);
  check_plan(&s, &f->list[0], reals[_i].name);
  check_usual(&s, &f->list[0], reals[_i].name);
  struct mafat_layout *l = lay_out(&s, test_spec_text(f->list[0].spec), &plan);
  size_t bytes = l->tag_bytes[MAFAT_TAG_INPUT] + l->tag_bytes[MAFAT_TAG_ACTIVATIONS] +
                 l->tag_bytes[MAFAT_TAG_SCRATCH];
  ck_assert_msg(bytes <= (size_t)reals[_i].kib << 10, "%s: %zu bytes, at most %d KiB: %s",
                reals[_i].name, bytes, reals[_i].kib, test_spec_text(f->list[0].spec));
  mafat_layout_close(&l);
  mafat_plan_close(&plan);
  mafat_front_close(&f);
  mafat_network_close(&n);
}
END_TEST

/* ---- refusing ---- */

START_TEST(every_failed_allocation_is_reported)
{
  struct search s;
  set_up(&s,
         test_network(
             "[net]\nheight=24\nwidth=32\nchannels=3\n[convolutional]\nfilters=16\nsize=3\npad=1\n"
             "[maxpool]\nsize=2\nstride=2\n[convolutional]\nfilters=16\nsize=3\npad=1\n"));
  test_failing_search(&s.request);
  mafat_network_close(&s.network);
}
END_TEST

Suite *least_suite(void)
{
  Suite *suite = suite_create("least");
  TCase *t = tcase_create("least");
  tcase_set_timeout(t, 120);
  tcase_add_loop_test(t, the_least_keeps_weights_and_computes_nothing_twice, 0, test_seeds(60));
  tcase_add_test(t, a_thread_more_is_never_the_least);
  tcase_add_test(t, columns_are_cut_where_there_are_no_rows);
  tcase_add_test(t, peaks_that_are_alike_all_go);
  tcase_add_test(t, arenas_are_known_by_what_lives_beside_what);
  tcase_add_loop_test(t, networks_of_integers_run_in_kilobytes, 0,
                      test_slow_rows((int)(sizeof reals / sizeof *reals)));
  tcase_add_test(t, every_failed_allocation_is_reported);
  suite_add_tcase(suite, t);
  return suite;
}
