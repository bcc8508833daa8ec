/* MOTES: which axes can only be cut together, and what plans come of it. */
#include <check.h>

#include "search/motes/acg.h"
#include "tests/support/support.h"

Suite *motes_suite(void);

static struct mafat_acg *make(const struct mafat_network *n)
{
  struct mafat_acg *a;
  ck_assert_int_eq(mafat_acg_make(&a, n, n->n_layers, NULL, NULL), MAFAT_OK);
  return a;
}

#define INVERTED_BOTTLENECK \
  "[net]\nheight=8\nwidth=12\nchannels=4\n[convolutional]\nfilters=24\nsize=1\nactivation=linear\n" \
  "[convolutional]\nfilters=24\ngroups=24\nsize=3\npad=1\nactivation=linear\n" \
  "[convolutional]\nfilters=4\nsize=1\nactivation=linear\n"

static void check_map_axis(const struct mafat_acg *a, int input, enum mafat_acg_axis axis)
{
  for (int i = 0; i < 3; i++) ck_assert_int_eq(mafat_acg_part(a, i, axis), mafat_acg_part(a, input, axis));
}

/* Rows; columns; the channels of the input; those of the depthwise convolution. */
START_TEST(an_inverted_bottleneck_has_four_parts)
{
  struct mafat_network *n = test_network(INVERTED_BOTTLENECK);
  struct mafat_acg *a = make(n);
  int input = mafat_network_picture(n), wide = mafat_acg_part(a, 0, MAFAT_ACG_C);
  ck_assert_int_eq(mafat_acg_count(a), 4);
  check_map_axis(a, input, MAFAT_ACG_H);
  check_map_axis(a, input, MAFAT_ACG_W);
  ck_assert_int_eq(mafat_acg_part(a, input, MAFAT_ACG_C), mafat_acg_part(a, 0, MAFAT_ACG_REDUCED));
  ck_assert_int_eq(mafat_acg_part(a, 1, MAFAT_ACG_C), wide);
  ck_assert_int_eq(mafat_acg_part(a, 2, MAFAT_ACG_REDUCED), wide);
  ck_assert_int_ne(mafat_acg_part(a, 2, MAFAT_ACG_C), wide);
  ck_assert_int_eq(mafat_acg_part(a, 1, MAFAT_ACG_REDUCED), -1);
  mafat_acg_close(&a);
  mafat_network_close(&n);
}
END_TEST

Suite *motes_suite(void)
{
  Suite *suite = suite_create("motes");
  TCase *t = tcase_create("motes");
  tcase_add_test(t, an_inverted_bottleneck_has_four_parts);
  suite_add_tcase(suite, t);
  return suite;
}
