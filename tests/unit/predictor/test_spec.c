/* Covers predictor/plan/spec.c: plans as text. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/plan/spec.h"
#include "tests/support/support.h"

Suite *spec_suite(void);

/* ---- reading and writing, without a network ---- */

struct row {
  const char *text, *written; /* written: expected text of the spec; NULL: the same */
};

static const struct row rows[] = {
    {"1x1/NoCut", NULL},
    {"1x1", "1x1/NoCut"},
    {"5x5/8/2x2", NULL},
    {"4x4/4/3x3/12/1x1", NULL},
    {"007x08/3/2x1", "7x8/3/2x1"},
    {"2x2:balanced/4/1x1", NULL},
    {"[2,5]x[4]/NoCut", NULL},
    {"[2]x2/NoCut", NULL}, /* boundaries along one axis only */
    {"[1,2,3]x[]/5/1x1", "[1,2,3]x1/5/1x1"},
    {"rows/NoCut", NULL}, /* the default number of rows */
    {"rows4/NoCut", NULL},
    {"rows2/12/panels", NULL},
    {"panels:apart/3/panels", NULL},
    {"rows4:loaded/2/panels:streamed", NULL},
    {"panels:streamed8/NoCut", NULL},
    {"panels:streamed4/NoCut", NULL},
    {"rows4:loaded300/2/1x1:loaded", NULL},
    {"panels:streamed:apart", "panels:apart:streamed/NoCut"}, /* words in any order */
    {"1x1:direct/NoCut", NULL},
    {"1x1:winograd:streamed:balanced", "1x1:balanced:streamed:winograd/NoCut"},
    {"1x1:winograd0,3", "1x1:winograd0,3/NoCut"},
    {"1x1:winograd2,4:direct22,26-28", "1x1:direct22,26-28:winograd2,4/NoCut"},
    {"1x1:direct3-3", "1x1:direct3/NoCut"},
    {"9999x1/4000/[5,1000000]x[7]", NULL}, /* too large for any network: not checked here */
    {"2x2/3/2x2/2/1x1", NULL},
    {"1x1/NoCut/order=best", NULL},
    {"split(h4:12-17,c8:3-5)/order=postorder", "split(h4:12-17,c8:3-5)/NoCut/order=postorder"},
    {"split(w[7,9]:3-3):streamed4:direct1", "split(w[7,9]:3):streamed4:direct1/NoCut"},
    {"rows4/12/split(c2:13,h3:12-14)/20/panels", NULL},
    {"1x1/order=postorder", "1x1/NoCut/order=postorder"},
    {"rows4/12/panels/order=sp", NULL},
    {"2x2/3/1x1:direct/order=forward", NULL},
    {"panels/3/1x1/order=file", "panels/3/1x1"}, /* the default */
    {"1x1/inplace", "1x1/NoCut/inplace"},
    {"rows4/12,40,44-45/1x1", NULL}, /* a group that is a set of layers */
    {"1x1:dw0/NoCut", NULL},         /* depthwise layers not fused */
    {"panels:dw004:apart:direct3", "panels:apart:direct3:dw4/NoCut"},
    {"1x1:dw(0:3,4:7-9)/12/rows2:dw(16:12-12):streamed",
     "1x1:dw(0:3,4:7-9)/12/rows2:streamed:dw(16:12)"},
    {"rows4/0,40,44-45/1x1/40,41-41/panels", "rows4/0,40,44-45/1x1/40,41/panels"},
    {"rows1:early:streamed/3/rows:early", "rows1:early:streamed/3/rows:early"},
    {"rows1:bricks:early:streamed/3/rows:bricks", "rows1:early:bricks:streamed/3/rows:bricks"},
    {"rows2/inplace", "rows2/NoCut/inplace"},
    {"1x1/NoCut/order=best/inplace", NULL},
    {"rows4/12/panels:streamed/inplace", NULL},
    {"2x2/3/1x1/order=file/inplace", "2x2/3/1x1/inplace"},
};

/* Each text is written back as expected, and reading that gives the same spec. */
START_TEST(specs_are_read_and_written)
{
  const struct row *r = &rows[_i];
  const char *expected = r->written ? r->written : r->text;
  struct mafat_diagnostic d = {""};
  struct mafat_spec *spec, *again;
  ck_assert_msg(mafat_spec_read(&spec, r->text, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_str_eq(test_spec_text(spec), expected);
  ck_assert_str_eq(spec->text, r->text);
  ck_assert_msg(mafat_spec_read(&again, expected, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_str_eq(test_spec_text(again), expected);
  ck_assert_int_eq(mafat_spec_compare(spec, again, true), 0);
  mafat_spec_close(&spec);
  mafat_spec_close(&again);
  ck_assert_ptr_null(spec);
}
END_TEST

/* All words of a text are in the struct's fields. */
START_TEST(words_are_in_the_struct)
{
  struct mafat_spec *s;
  const char *text =
      "[2,5]x3:loaded/4/rows2:loaded300/6/rows:streamed/9/panels:apart:streamed4:direct7-8";
  ck_assert_int_eq(mafat_spec_read(&s, text, NULL), MAFAT_OK);
  ck_assert_int_eq(s->n_groups, 4);
  const struct mafat_group_spec *g = s->groups;
  ck_assert(g[0].end == 4 && g[1].end == 6 && g[2].end == 9 && g[3].end == 0);
  ck_assert(g[0].cut.kind == MAFAT_CUT_GRID && g[0].cut.as.grid.n_rows == 3 &&
            g[0].cut.as.grid.n_cols == 3);
  ck_assert(g[0].cut.as.grid.rows[0] == 2 && g[0].cut.as.grid.rows[1] == 5 &&
            !g[0].cut.as.grid.cols);
  ck_assert(g[0].weights.placement == MAFAT_LOADED && !g[0].cut.as.grid.balanced &&
            mafat_cut_is_tiled(&g[0].cut));
  ck_assert(g[1].cut.kind == MAFAT_CUT_ROWS && g[1].cut.as.rows.least == 2);
  ck_assert(g[1].weights.placement == MAFAT_STREAMED && g[1].weights.loaded_kb == 300);
  ck_assert(g[2].cut.as.rows.least == 0 && g[2].weights.placement == MAFAT_STREAMED &&
            g[2].weights.ring == 0);
  ck_assert(g[3].cut.kind == MAFAT_CUT_PANELS && g[3].cut.as.panels.apart &&
            g[3].weights.ring == 4);
  ck_assert(g[3].algorithms[MAFAT_DIRECT].given && g[3].algorithms[MAFAT_DIRECT].n == 1 &&
            g[3].algorithms[MAFAT_DIRECT].layers[0].begin == 7 &&
            g[3].algorithms[MAFAT_DIRECT].layers[0].end == 9);
  ck_assert(!g[3].algorithms[MAFAT_WINOGRAD].given && !mafat_cut_is_tiled(&g[3].cut));
  mafat_spec_close(&s);
}
END_TEST

/* The text written for a random plan's spec is the same after reading it again, and for a copy. */
START_TEST(random_specs_are_read_and_written)
{
  for (int i = 0; i < 100; i++) {
    struct test_rng rng = test_rng((uint64_t)(_i * 100 + i));
    struct test_network_style style = test_network_style();
    char cfg[TEST_CFG_ROOM], text[TEST_PLAN_ROOM];
    struct mafat_spec *spec, *again, *copy;
    test_random_network(&rng, &style, cfg, sizeof cfg);
    struct mafat_network *n = test_network(cfg);
    test_random_plan(&rng, n, n->n_layers, text, sizeof text);
    ck_assert_int_eq(mafat_spec_read(&spec, text, NULL), MAFAT_OK);
    const char *written = test_spec_text(spec);
    ck_assert_int_eq(mafat_spec_read(&again, written, NULL), MAFAT_OK);
    ck_assert_str_eq(test_spec_text(again), written);
    ck_assert_int_eq(mafat_spec_copy(&copy, spec, NULL), MAFAT_OK);
    mafat_spec_close(&spec);
    ck_assert_str_eq(test_spec_text(copy), written);
    mafat_spec_close(&again);
    mafat_spec_close(&copy);
    mafat_network_close(&n);
  }
}
END_TEST

/* No more than `capacity` bytes are written, and the whole length is returned. */
START_TEST(written_text_fits_the_capacity)
{
  struct mafat_spec *spec;
  char text[64];
  size_t length = strlen("[2,5]x[4]/NoCut");
  ck_assert_int_eq(mafat_spec_read(&spec, "[2,5]x[4]", NULL), MAFAT_OK);
  for (size_t capacity = 0; capacity <= 20; capacity++) {
    memset(text, '#', sizeof text);
    ck_assert_uint_eq(mafat_spec_write(spec, text, capacity), length);
    ck_assert_msg(text[capacity] == '#', "with capacity %zu it wrote more", capacity);
    if (capacity) ck_assert_uint_eq(strlen(text), capacity - 1 < length ? capacity - 1 : length);
  }
  char *own = mafat_spec_text(spec);
  ck_assert_str_eq(own, "[2,5]x[4]/NoCut");
  free(own);
  mafat_spec_close(&spec);
}
END_TEST

/* Specs are ordered as their texts. With `length`, shorter texts come first. */
START_TEST(specs_are_ordered_by_their_texts)
{
  struct mafat_spec *a, *b;
  ck_assert_int_eq(mafat_spec_read(&a, "rows10", NULL), MAFAT_OK);
  ck_assert_int_eq(mafat_spec_read(&b, "rows9", NULL), MAFAT_OK);
  ck_assert_int_lt(mafat_spec_compare(a, b, false), 0);
  ck_assert_int_gt(mafat_spec_compare(a, b, true), 0);
  ck_assert_int_lt(mafat_spec_compare(b, a, true), 0);
  mafat_spec_close(&a);
  mafat_spec_close(&b);
}
END_TEST

/* ---- making specs ---- */

/* Depthwise words are in the struct's fields. */
START_TEST(depthwise_words_are_in_the_struct)
{
  struct mafat_spec *s;
  ck_assert_int_eq(mafat_spec_read(&s, "1x1:dw3/4/1x1:dw(0:5,7:8-9)/10/1x1", NULL), MAFAT_OK);
  const struct mafat_group_spec *g = s->groups;
  ck_assert(g[0].n_depthwise == 1 && g[1].n_depthwise == 2 && g[2].n_depthwise == 0);
  ck_assert(g[0].depthwise[0].rows == 3 && mafat_span_size(g[0].depthwise[0].layers) == 0);
  ck_assert(g[1].depthwise[0].rows == 0 && g[1].depthwise[0].layers.begin == 5 &&
            g[1].depthwise[0].layers.end == 6);
  ck_assert(g[1].depthwise[1].rows == 7 && g[1].depthwise[1].layers.begin == 8 &&
            g[1].depthwise[1].layers.end == 10);
  mafat_spec_close(&s);
}
END_TEST

/* A spec can be made group by group, without a text. */
START_TEST(a_spec_is_made_group_by_group)
{
  struct mafat_spec *spec = mafat_spec_new(NULL);
  struct mafat_group_spec rolling = {.end = 5, .cut = mafat_cut_rows(3)};
  ck_assert_int_eq(mafat_spec_append(spec, &rolling), MAFAT_OK);
  struct mafat_group_spec *g = mafat_spec_add(spec);
  ck_assert_str_eq(test_spec_text(spec), "rows3/5/1x1"); /* the new group has defaults */
  g->weights.placement = MAFAT_STREAMED;
  g->algorithms[MAFAT_WINOGRAD].given = true;
  ck_assert_int_eq(mafat_algorithm_word_add(NULL, &g->algorithms[MAFAT_WINOGRAD], mafat_span(6, 9)),
                   MAFAT_OK);
  ck_assert_int_eq(
      mafat_algorithm_word_add(NULL, &g->algorithms[MAFAT_WINOGRAD], mafat_span(11, 12)), MAFAT_OK);
  ck_assert_str_eq(test_spec_text(spec), "rows3/5/1x1:streamed:winograd6-8,11");
  mafat_spec_close(&spec);
  mafat_spec_close(&spec);
  mafat_spec_close(NULL);
}
END_TEST

Suite *spec_suite(void)
{
  Suite *s = suite_create("spec");
  TCase *t = tcase_create("text");
  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, specs_are_read_and_written, 0, (int)(sizeof rows / sizeof *rows));
  tcase_add_test(t, words_are_in_the_struct);
  tcase_add_test(t, depthwise_words_are_in_the_struct);
  tcase_add_loop_test(t, random_specs_are_read_and_written, 0, 5);
  tcase_add_test(t, written_text_fits_the_capacity);
  tcase_add_test(t, specs_are_ordered_by_their_texts);
  tcase_add_test(t, a_spec_is_made_group_by_group);
  suite_add_tcase(s, t);
  return s;
}
