/* Covers search/best/depthwise.c: it chooses a plan's words dw(ROWS:LAYER,...), how many rows of a
 * depthwise layer are computed at a time inside the 1x1 convolution that reads it. The words that
 * it chooses save time or bytes. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "predictor/planning/planning.h"
#include "search/best/best.h"
#include "search/best/depthwise.h"
#include "tests/support/support.h"

Suite *depthwise_suite(void);

static const struct mafat_footprint footprint = {.process_bytes = 900 << 10,
                                                 .image_bytes = 200 << 10};
static char cfg[TEST_CFG_ROOM];

struct search {
  struct mafat_network *network;
  struct mafat_plan_options options;
  struct mafat_calibration calibration;
  struct mafat_search_request request;
};

/* Makes the layers integer layers, as far as predictions depend on it. */
static void make_integers(struct mafat_network *n)
{
  for (int l = 0; l < mafat_network_n_tensors(n); l++) {
    n->layers[l].out_type = MAFAT_I8;
    n->layers[l].weights_type = MAFAT_I8;
  }
}

static void set_up(struct search *s, const char *level, bool integers, int threads)
{
  s->network = test_network(cfg);
  if (integers) make_integers(s->network);
  mafat_plan_defaults(&s->options);
  s->options.algorithm = MAFAT_DIRECT;
  s->options.n_threads = threads;
  mafat_calibration_defaults(&s->calibration, level);
  s->request = (struct mafat_search_request){.network = s->network,
                                             .n_layers = s->network->n_layers,
                                             .options = &s->options,
                                             .footprint = &footprint,
                                             .calibration = &s->calibration};
}

static struct mafat_candidate measure(const struct search *s, const struct mafat_spec *spec,
                                      int threads)
{
  struct mafat_candidate c = {.threads = threads};
  struct mafat_diagnostic d = {""};
  ck_assert_msg(mafat_candidate_measure(&c, &s->request, spec, &d) == MAFAT_OK, "%s", d.text);
  return c;
}

static bool take_words(struct mafat_spec *spec)
{
  bool any = false;
  for (int g = 0; g < spec->n_groups; g++) {
    any = any || spec->groups[g].n_depthwise > 0;
    spec->groups[g].n_depthwise = 0;
  }
  return any;
}

/* ---- the front ---- */

/* Checks that no plan of the front, without its depthwise words, is faster in no more bytes.
 * Returns the number of plans that have such words. */
static int check_words(const struct search *s, const struct mafat_front *f)
{
  int n = 0;
  for (int i = 0; i < f->n; i++) {
    const struct mafat_candidate *c = &f->list[i];
    struct mafat_spec *without;
    ck_assert_int_eq(mafat_spec_copy(&without, c->spec, NULL), MAFAT_OK);
    if (take_words(without)) {
      struct mafat_candidate usual = measure(s, without, c->threads);
      if (usual.charge_bytes <= c->charge_bytes && usual.ms < c->ms)
        test_fail_case(cfg, test_spec_text(c->spec),
                       "%zu bytes and %g ms, without words %zu and %g", c->charge_bytes, c->ms,
                       usual.charge_bytes, usual.ms);
      n++;
    }
    mafat_spec_close(&without);
  }
  return n;
}

static struct mafat_front *find_front(const struct search *s)
{
  struct mafat_front *f;
  struct mafat_diagnostic d = {""};
  ck_assert_msg(mafat_search_front(&f, &s->request, &d) == MAFAT_OK, "%s", d.text);
  return f;
}

START_TEST(no_plan_is_better_without_its_words)
{
  static const char *const levels[] = {"portable", "avx2", "avx512"};
  struct test_rng rng = test_rng(31000 + (uint64_t)_i);
  struct search s;
  test_random_blocks(&rng, 96, cfg, sizeof cfg);
  set_up(&s, levels[_i % 3], _i / 3 % 2, test_random_int(&rng, 1, 3));
  if (test_random_chance(&rng, 50)) s.network->format.any_order = true;
  struct mafat_front *f = find_front(&s);
  check_words(&s, f);
  mafat_front_close(&f);
  mafat_network_close(&s.network);
}
END_TEST

/* Writes a network with maps of 25x5 pixels. If the maps are bytes, the default number of rows is
 * below 25, but the search finds that all 25 rows are better. */
static void write_keywords(void)
{
  snprintf(cfg, sizeof cfg,
           "[net]\nheight=25\nwidth=5\nchannels=1\n[convolutional]\nfilters=64\nsize=3\npad=1\n");
  for (int i = 0; i < 2; i++)
    strcat(cfg, "[convolutional]\nfilters=64\nsize=3\npad=1\ngroups=64\n[convolutional]\nfilters="
                "64\nsize=1\n");
}

START_TEST(small_maps_of_bytes_are_inside_as_a_whole)
{
  struct search s;
  write_keywords();
  set_up(&s, "avx512", true, 1);
  struct mafat_front *f = find_front(&s);
  const struct mafat_candidate *fastest = &f->list[f->n - 1];
  ck_assert_str_eq(test_spec_text(fastest->spec), "1x1:dw(25:1,25:3)/NoCut");
  ck_assert_int_gt(check_words(&s, f), 0);
  mafat_front_close(&f);
  mafat_network_close(&s.network);
}
END_TEST

/* ---- beside all words ---- */

struct found {
  size_t arena; /* bytes of the arena of the plan without words */
  /* least milliseconds of all proposed plans, and of those whose arena is at most `arena` */
  double ms, in_arena_ms;
  size_t least; /* smallest arena of all proposed plans, in bytes */
};

static struct found found;

static int note(struct mafat_front *f, const struct mafat_search_request *r,
                const struct mafat_spec *spec, struct mafat_diagnostic *d)
{
  struct mafat_candidate c = {.threads = r->options->n_threads};
  (void)f;
  ck_assert_msg(mafat_candidate_measure(&c, r, spec, d) == MAFAT_OK, "%s", d->text);
  found.ms = fmin(found.ms, c.ms);
  if (c.arena_bytes <= found.arena) found.in_arena_ms = fmin(found.in_arena_ms, c.ms);
  if (c.arena_bytes < found.least) found.least = c.arena_bytes;
  return MAFAT_OK;
}

/* The proposed plans are as fast and as small as the best with any numbers of rows for the two
 * depthwise layers, both in an arena of any size and in that of the plan without words. */
START_TEST(no_other_words_are_better)
{
  static const char *const cuts[] = {"1x1", "rows8"};
  struct test_rng rng = test_rng(500 + (uint64_t)_i);
  struct search s;
  struct mafat_spec *usual;
  struct mafat_diagnostic d = {""};
  int side = test_random_int(&rng, 8, 64), c = 4 * test_random_int(&rng, 1, 16),
      k = 4 * test_random_int(&rng, 1, 16);
  snprintf(
      cfg, sizeof cfg,
      "[net]\nheight=%d\nwidth=%d\nchannels=%d\n"
      "[convolutional]\nfilters=%d\nsize=3\npad=1\ngroups=%d\n[convolutional]\nfilters=%d\nsize=1\n"
      "[convolutional]\nfilters=%d\nsize=3\npad=1\nstride=2\ngroups=%d\n[convolutional]\nfilters=%"
      "d\nsize=1\n",
      side, side, c, c, c, k, k, k, c);
  set_up(&s, "avx512", _i % 2, test_random_int(&rng, 1, 2));
  ck_assert_int_eq(mafat_spec_read(&usual, cuts[_i / 2 % 2], NULL), MAFAT_OK);
  struct mafat_candidate before = measure(&s, usual, s.options.n_threads);
  struct found best = found =
      (struct found){before.arena_bytes, before.ms, before.ms, before.arena_bytes};
  ck_assert_int_eq(mafat_depthwise_add(NULL, &s.request, usual, note, &d), MAFAT_OK);
  for (int a = 0; a <= side; a++)
    for (int b = 0; b <= (side + 1) / 2; b++) {
      char text[64];
      struct mafat_spec *spec;
      snprintf(text, sizeof text, "%s:dw(%d:0,%d:2)", cuts[_i / 2 % 2], a, b);
      ck_assert_int_eq(mafat_spec_read(&spec, text, NULL), MAFAT_OK);
      struct mafat_candidate any = measure(&s, spec, s.options.n_threads);
      best.ms = fmin(best.ms, any.ms);
      if (any.arena_bytes <= before.arena_bytes) best.in_arena_ms = fmin(best.in_arena_ms, any.ms);
      if (any.arena_bytes < best.least) best.least = any.arena_bytes;
      mafat_spec_close(&spec);
    }
  if (found.ms > 1.02 * best.ms)
    test_fail_case(cfg, cuts[_i / 2 % 2], "%g ms, could be %g", found.ms, best.ms);
  if (found.in_arena_ms > 1.02 * best.in_arena_ms)
    test_fail_case(cfg, cuts[_i / 2 % 2], "%g ms in the usual arena, could be %g",
                   found.in_arena_ms, best.in_arena_ms);
  if (found.least > best.least)
    test_fail_case(cfg, cuts[_i / 2 % 2], "an arena of %zu, could be %zu", found.least, best.least);
  mafat_spec_close(&usual);
  mafat_network_close(&s.network);
}
END_TEST

Suite *depthwise_suite(void)
{
  Suite *suite = suite_create("depthwise");
  TCase *t = tcase_create("depthwise");
  tcase_set_timeout(t, 120);
  tcase_add_loop_test(t, no_plan_is_better_without_its_words, 0, test_seeds(60));
  tcase_add_test(t, small_maps_of_bytes_are_inside_as_a_whole);
  tcase_add_loop_test(t, no_other_words_are_better, 0, test_seeds(24));
  suite_add_tcase(suite, t);
  return suite;
}
