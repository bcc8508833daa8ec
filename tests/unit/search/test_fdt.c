/* Fused depthwise tiling as published: which buffers are critical, which paths lead around one, and the flow. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "search/fdt/critical.h"
#include "tests/support/support.h"

Suite *fdt_suite(void);

/* ---- critical buffers ---- */

/* B1 to B9 of the thesis, in a layout of 100. */
static const struct mafat_extent example[] = {{40, 100, 0, 0}, {0, 10, 0, 0},  {10, 50, 0, 0}, {50, 70, 0, 0}, {70, 100, 0, 0},
                                              {30, 50, 0, 0},  {0, 30, 0, 0}, {80, 100, 0, 0}, {0, 80, 0, 0}};
enum { N_EXAMPLE = sizeof example / sizeof *example };

START_TEST(chains_of_the_thesis_example)
{
  static const int expected[] = {9, 3, 5, 7, 4, 6, 8, 2}; /* sizes 80, 40, 30, 30, 20, 20, 20, 10 */
  int critical[N_EXAMPLE], n;
  ck_assert_int_eq(mafat_critical_find(critical, &n, example, N_EXAMPLE, 100, MAFAT_CRITICAL_CHAIN, NULL), MAFAT_OK);
  ck_assert_int_eq(n, sizeof expected / sizeof *expected);
  for (int i = 0; i < n; i++) ck_assert_int_eq(critical[i] + 1, expected[i]);
}
END_TEST

/* Of its three chains none has a buffer that the others have, too. */
START_TEST(no_buffer_of_the_example_is_critical_alone)
{
  int critical[N_EXAMPLE], n;
  ck_assert_int_eq(mafat_critical_find(critical, &n, example, N_EXAMPLE, 100, MAFAT_CRITICAL_ALONE, NULL), MAFAT_OK);
  ck_assert_int_eq(n, 0);
}
END_TEST

START_TEST(what_all_chains_have_is_critical_alone)
{
  static const struct mafat_extent fork[] = {{60, 100, 0, 1}, {0, 60, 0, 0}, {0, 60, 1, 1}, {0, 59, 2, 2}};
  int critical[4], n;
  ck_assert_int_eq(mafat_critical_find(critical, &n, fork, 4, 100, MAFAT_CRITICAL_ALONE, NULL), MAFAT_OK);
  ck_assert_int_eq(n, 1);
  ck_assert_int_eq(critical[0], 0);
  ck_assert_int_eq(mafat_critical_find(critical, &n, fork, 4, 100, MAFAT_CRITICAL_CHAIN, NULL), MAFAT_OK);
  ck_assert_int_eq(n, 3);
}
END_TEST

/* One that floats breaks a chain; once it has fallen the chain is whole. */
START_TEST(buffers_fall_before_chains_are_sought)
{
  struct mafat_extent floating[] = {{70, 100, 1, 2}, {10, 50, 0, 1}, {0, 10, 5, 6}};
  int critical[3], n;
  ck_assert_uint_eq(mafat_extents_settle(floating, 3), 70);
  ck_assert_uint_eq(floating[0].begin, 40);
  ck_assert_uint_eq(floating[1].begin, 0);
  ck_assert_int_eq(mafat_critical_find(critical, &n, floating, 3, 70, MAFAT_CRITICAL_CHAIN, NULL), MAFAT_OK);
  ck_assert_int_eq(n, 2);
}
END_TEST

/* All chains, by walking: is one from the layout's end to its beginning through this buffer? */
static bool leads_down(const struct mafat_extent *e, int n, size_t at)
{
  if (at == 0) return true;
  for (int i = 0; i < n; i++)
    if (e[i].end == at && leads_down(e, n, e[i].begin)) return true;
  return false;
}

static bool leads_up(const struct mafat_extent *e, int n, size_t at, size_t total)
{
  if (at == total) return true;
  for (int i = 0; i < n; i++)
    if (e[i].begin == at && leads_up(e, n, e[i].end, total)) return true;
  return false;
}

START_TEST(chains_are_those_that_walking_finds)
{
  struct test_rng rng = test_rng((uint64_t)_i);
  struct mafat_extent e[10];
  int critical[10], n_critical, n = test_random_int(&rng, 1, 10);
  size_t total = 0;
  for (int i = 0; i < n; i++) {
    size_t begin = (size_t)test_random_int(&rng, 0, 6), size = (size_t)test_random_int(&rng, 1, 4);
    e[i] = (struct mafat_extent){begin, begin + size, 0, 0};
    if (e[i].end > total) total = e[i].end;
  }
  ck_assert_int_eq(mafat_critical_find(critical, &n_critical, e, n, total, MAFAT_CRITICAL_CHAIN, NULL), MAFAT_OK);
  for (int i = 0; i < n; i++) {
    bool found = false;
    for (int k = 0; k < n_critical; k++) found |= critical[k] == i;
    ck_assert_int_eq(found, leads_down(e, n, e[i].begin) && leads_up(e, n, e[i].end, total));
  }
}
END_TEST

Suite *fdt_suite(void)
{
  Suite *suite = suite_create("fdt");
  TCase *t = tcase_create("fdt");
  tcase_set_timeout(t, 120);
  tcase_add_test(t, chains_of_the_thesis_example);
  tcase_add_test(t, no_buffer_of_the_example_is_critical_alone);
  tcase_add_test(t, what_all_chains_have_is_critical_alone);
  tcase_add_test(t, buffers_fall_before_chains_are_sought);
  tcase_add_loop_test(t, chains_are_those_that_walking_finds, 0, test_seeds(500));
  suite_add_tcase(suite, t);
  return suite;
}
