/* Covers search/greedy/greedy.c: the search of the MAFAT paper, the order in which it tries plans,
 * its choices for the budgets of the paper's Table 1, and its choices for other networks. */
#include "predictor/planning/planning.h"
#include "search/greedy/greedy.h"

#include "tests/support/support.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

Suite *greedy_suite(void);

#define MIB ((size_t)1 << 20)
#define MB ((size_t)1000000)
#define POOL "[maxpool]\nsize=2\nstride=2\n"
#define CONV3(filters) \
  "[convolutional]\nfilters=" #filters "\nsize=3\nstride=1\npad=1\nactivation=leaky\n"
#define CONV1(filters) \
  "[convolutional]\nfilters=" #filters "\nsize=1\nstride=1\npad=1\nactivation=leaky\n"
#define YOLOV2_16_FOR(side) \
  "[net]\nwidth=" #side "\nheight=" #side "\nchannels=3\n" CONV3(32) POOL CONV3(64) \
      POOL CONV3(128) CONV1(64) CONV3(128) POOL CONV3(256) CONV1(128) CONV3(256) POOL CONV3(512) \
          CONV1(256) CONV3(512) CONV1(256)
#define YOLOV2_16 YOLOV2_16_FOR(608)

/* The plan that the search chooses, as text. */
struct choice {
  char text[32];
  size_t bytes;
  bool fits;
};

static struct choice search(const struct mafat_network *n, int n_layers, size_t limit, size_t bias)
{
  struct mafat_greedy_choice c;
  struct mafat_diagnostic d = {""};
  ck_assert_msg(mafat_search_greedy(&c, n, n_layers, limit, bias, &d) == MAFAT_OK, "%s", d.text);
  struct choice choice = {.bytes = c.bytes, .fits = c.fits};
  struct mafat_spec spec = mafat_greedy_spec(&c);
  ck_assert_uint_lt(mafat_spec_write(&spec, choice.text, sizeof choice.text), sizeof choice.text);
  return choice;
}

static size_t bytes_of(const struct mafat_network *n, const char *text, size_t bias)
{
  struct mafat_plan *plan = test_plan(n, text);
  struct mafat_paper_prediction *p = NULL;
  ck_assert_int_eq(mafat_paper_predict(&p, n, plan, bias, NULL), MAFAT_OK);
  size_t bytes = p->bytes;
  mafat_paper_prediction_close(&p);
  mafat_plan_close(&plan);
  return bytes;
}

/* ---- Table 1 ---- */

struct table_row {
  int limit;
  const char *paper;  /* the table's "Algorithm 2" */
  const char *choice; /* what the printed algorithms give */
  double mib;         /* predicted for the choice */
};

/* In four rows the choice differs from the table's plan, and no reading of the printed formula
 * explains them: the choice comes first in the search's order, and Algorithm 1 predicts less than
 * the limit for it. The table's plan would be right if Algorithm 1 predicted more than 96 for
 * 2x2/NoCut (it predicts 82.5), more than 80 for 3x3/NoCut (71.8), more than 64 for 4x4/NoCut
 * (60.5) and more than 48 for 5x5/12/2x2 (43.4). */
static const struct table_row table[] = {
    {256, "1x1/NoCut", "1x1/NoCut", 177.7},
    {192, "1x1/NoCut", "1x1/NoCut", 177.7},
    {128, "2x2/NoCut", "2x2/NoCut", 82.5},
    {96, "2x2/12/2x2", "2x2/NoCut", 82.5},
    {80, "3x3/8/2x2", "3x3/NoCut", 71.8},
    {64, "5x5/8/2x2", "4x4/NoCut", 60.5},
    {48, "5x5/8/2x2", "5x5/12/2x2", 43.4},
    {32, "5x5/8/2x2", "5x5/8/2x2", 42.8},
    {16, "5x5/8/2x2", "5x5/8/2x2", 42.8},
};

static int cut_of(const char *text)
{
  int cut;
  return sscanf(text, "%*dx%*d/%d", &cut) == 1 ? cut : 16;
}

/* True if plan `a` comes before plan `b` in the search's order: cuts from layer 16 down, then the
 * number of tiles upwards. */
static bool comes_before(const char *a, const char *b)
{
  return cut_of(a) != cut_of(b) ? cut_of(a) > cut_of(b) : a[0] < b[0];
}

START_TEST(the_table_as_the_printed_algorithms_have_it)
{
  const struct table_row *r = &table[_i];
  const size_t units[] = {MB, MIB}; /* the choice is the same */
  struct mafat_network *n = test_network(YOLOV2_16);
  for (int u = 0; u < 2; u++) {
    size_t limit = (size_t)r->limit * units[u];
    struct choice c = search(n, 16, limit, MAFAT_DEFAULT_BIAS_BYTES);
    ck_assert_msg(strcmp(c.text, r->choice) == 0, "%d: %s, expected %s", r->limit, c.text,
                  r->choice);
    ck_assert_uint_eq(c.bytes, bytes_of(n, r->choice, MAFAT_DEFAULT_BIAS_BYTES));
    ck_assert_double_eq_tol((double)c.bytes / (double)MIB, r->mib, .05);
    ck_assert(c.fits == (r->limit > 32) && c.fits == (c.bytes < limit));
    if (strcmp(r->paper, r->choice) != 0) ck_assert(comes_before(r->choice, r->paper));
  }
  mafat_network_close(&n);
}
END_TEST

/* The search recognizes the paper's network by its layers, at any input size. Darknet's yolov2.cfg
 * begins with these layers. */
START_TEST(the_papers_network_is_known_by_its_front)
{
  struct mafat_network *n = test_darknet_network("yolov2.cfg");
  if (!n) return; /* Debian's darknet package is not installed */
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    ck_assert_str_eq(search(n, 16, (size_t)table[i].limit * MIB, MAFAT_DEFAULT_BIAS_BYTES).text,
                     table[i].choice);
  mafat_network_close(&n);
}
END_TEST

/* A plan fits if its bytes, bias included, are below the limit, not equal to it. */
START_TEST(the_limit_is_not_reached)
{
  struct mafat_network *n = test_network(YOLOV2_16);
  size_t bytes = bytes_of(n, "1x1/NoCut", 0);
  ck_assert_str_eq(search(n, 16, bytes + 1, 0).text, "1x1/NoCut");
  ck_assert_str_eq(search(n, 16, bytes, 0).text, "2x2/NoCut");
  ck_assert_str_eq(search(n, 16, bytes + 1, 1).text, "2x2/NoCut");
  ck_assert_str_eq(search(n, 16, 0, 0).text, "5x5/8/2x2");
  mafat_network_close(&n);
}
END_TEST

/* ---- any network ---- */

struct order_row {
  const char *what, *cfg;
  int cuts[6]; /* layers after maxpools where plans are cut, descending, 0-terminated */
  bool papers;
};

static const struct order_row order_rows[] = {
    {"the paper's", YOLOV2_16, {12, 8}, true},
    {"the paper's, small: no 5x5", YOLOV2_16_FOR(64), {12, 8}, true},
    {"one layer more", YOLOV2_16 CONV3(32), {12, 8, 4, 2}, false},
    {"a maxpool elsewhere",
     "[net]\nwidth=320\nheight=320\nchannels=3\n" CONV3(32) POOL CONV3(64) POOL CONV3(128)
         POOL CONV3(64) CONV3(128) CONV3(256) CONV1(128) CONV3(256) POOL CONV3(512) CONV1(256)
             CONV3(512) CONV1(256),
     {12, 6, 4, 2},
     false},
    {"no maxpool", "[net]\nwidth=64\nheight=64\nchannels=3\n" CONV3(8) CONV3(8), {0}, false},
    {"a maxpool at its end is no cut",
     "[net]\nwidth=64\nheight=64\nchannels=3\n" CONV3(8) POOL CONV3(16) POOL,
     {2},
     false},
    {"a graph",
     "[net]\nwidth=96\nheight=64\nchannels=3\n" CONV3(16)
         POOL CONV3(16) "[shortcut]\nfrom=-2\n" POOL CONV3(
             32) "[upsample]\nstride=2\n[route]\nlayers=-1,1\n" CONV1(8),
     {5, 2},
     false},
    {"layers that cannot be cut",
     "[net]\nwidth=64\nheight=64\nchannels=3\n" CONV3(16) POOL CONV3(16) POOL
     "[connected]\noutput=10\n[softmax]\n",
     {4, 2},
     false},
    {"maps too small for most grids",
     "[net]\nwidth=5\nheight=3\nchannels=3\n" CONV3(4) POOL CONV3(4), {2}, false},
};

/* Finds the expected choice by listing all plans in the search's order: the first that fits, else
 * the smallest (for the paper's network the last). */
static void find(struct choice *c, const struct mafat_network *n, const struct order_row *r,
                 size_t limit)
{
  memset(c, 0, sizeof *c);
  for (int i = -1; i < 0 || r->cuts[i]; i++)
    for (int tiles = 1; tiles <= 5; tiles++) {
      char text[32];
      struct mafat_plan *plan;
      if (i < 0) snprintf(text, sizeof text, "%dx%d/NoCut", tiles, tiles);
      else snprintf(text, sizeof text, "%dx%d/%d/2x2", tiles, tiles, r->cuts[i]);
      if (mafat_plan_read(&plan, text, n, n->n_layers, NULL, NULL)) continue;
      mafat_plan_close(&plan);
      size_t bytes = bytes_of(n, text, 1000);
      bool fits = bytes < limit;
      if (c->fits || (!fits && c->text[0] && !r->papers && bytes >= c->bytes)) continue;
      strcpy(c->text, text);
      c->bytes = bytes;
      c->fits = fits;
    }
}

START_TEST(the_first_that_fits_else_the_least)
{
  const struct order_row *r = &order_rows[_i];
  struct mafat_network *n = test_network(r->cfg);
  size_t largest = bytes_of(n, "1x1/NoCut", 1000);
  for (size_t limit = 0; limit <= largest + largest / 40; limit += largest / 40) {
    struct choice expected, c = search(n, n->n_layers, limit, 1000);
    find(&expected, n, r, limit);
    ck_assert_msg(strcmp(c.text, expected.text) == 0 && c.bytes == expected.bytes &&
                      c.fits == expected.fits,
                  "%s, %zu bytes: %s (%zu), expected %s (%zu)", r->what, limit, c.text, c.bytes,
                  expected.text, expected.bytes);
  }
  mafat_network_close(&n);
}
END_TEST

/* For any network the search returns a plan with its predicted bytes, and whether these are below
 * the limit. */
START_TEST(random_networks_have_a_choice)
{
  static char cfg[TEST_CFG_ROOM];
  struct test_network_style style = test_network_style();
  struct test_rng rng = test_rng(7000 + (uint64_t)_i);
  for (int repeat = 0; repeat < 20; repeat++) {
    test_random_network(&rng, &style, cfg, sizeof cfg);
    struct mafat_network *n = test_network(cfg);
    size_t largest = bytes_of(n, "1x1/NoCut", 0);
    for (size_t limit = 0; limit <= largest + 1; limit += largest / 5 + 1) {
      struct choice c = search(n, n->n_layers, limit, 0);
      if (c.bytes != bytes_of(n, c.text, 0) || c.fits != (c.bytes < limit) ||
          (!c.fits && c.bytes > largest))
        test_fail_case(cfg, c.text, "limit %zu: %zu bytes, %s", limit, c.bytes,
                       c.fits ? "fits" : "does not fit");
    }
    ck_assert_str_eq(search(n, n->n_layers, largest + 1, 0).text, "1x1/NoCut");
    mafat_network_close(&n);
  }
}
END_TEST

/* ---- refusals ---- */

START_TEST(a_bias_beyond_counting_is_refused)
{
  struct mafat_network *n = test_network(YOLOV2_16);
  struct mafat_greedy_choice c;
  struct mafat_diagnostic d = {""};
  ck_assert_int_eq(mafat_search_greedy(&c, n, 16, SIZE_MAX, SIZE_MAX, &d), MAFAT_ELIMIT);
  ck_assert_msg(strstr(d.text, "the memory of every plan is too large to compute") != NULL,
                "%s", d.text);
  mafat_network_close(&n);
}
END_TEST

#define COUNT(list) ((int)(sizeof list / sizeof *list))

Suite *greedy_suite(void)
{
  Suite *s = suite_create("greedy");
  TCase *paper = tcase_create("paper");
  tcase_add_loop_test(paper, the_table_as_the_printed_algorithms_have_it, 0, COUNT(table));
  tcase_add_test(paper, the_papers_network_is_known_by_its_front);
  tcase_add_test(paper, the_limit_is_not_reached);
  suite_add_tcase(s, paper);
  TCase *any = tcase_create("any");
  tcase_set_timeout(any, 60);
  tcase_add_loop_test(any, the_first_that_fits_else_the_least, 0, COUNT(order_rows));
  tcase_add_loop_test(any, random_networks_have_a_choice, 0, test_seeds(8));
  suite_add_tcase(s, any);
  TCase *refusals = tcase_create("refusals");
  tcase_add_test(refusals, a_bias_beyond_counting_is_refused);
  suite_add_tcase(s, refusals);
  return s;
}
