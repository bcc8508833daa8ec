/* Fused depthwise tiling: the published examples of its steps, exactly. */
#include <check.h>

#include "include/mafat.h"
#include "search/fdt/critical.h"
#include "search/fdt/paths.h"

Suite *fdt_suite(void);

static int find_critical(const struct mafat_fdt_place *places, int n, uint64_t total, enum mafat_fdt_reading reading, int *critical)
{
  struct mafat_heap *heap;
  int found;
  ck_assert_int_eq(mafat_heap_open(&heap), MAFAT_OK);
  ck_assert_int_eq(mafat_fdt_critical(places, n, total, reading, heap, critical, &found), MAFAT_OK);
  mafat_heap_close(&heap);
  return found;
}

/* The thesis' nine buffers, B1 to B9. */
static const struct mafat_fdt_place nine[] = {{40, 100}, {0, 10}, {10, 50}, {50, 70}, {70, 100}, {30, 50}, {0, 30}, {80, 100}, {0, 80}};

START_TEST(chains_make_all_but_the_first_critical)
{
  static const int expected[] = {9, 3, 5, 7, 4, 6, 8, 2};
  int critical[9];
  ck_assert_int_eq(find_critical(nine, 9, 100, MAFAT_FDT_CHAINS, critical), 8);
  for (int i = 0; i < 8; i++) ck_assert_int_eq(critical[i] + 1, expected[i]);
}
END_TEST

START_TEST(alone_critical_is_what_every_chain_has)
{
  static const struct mafat_fdt_place forked[] = {{0, 60}, {60, 100}, {60, 80}, {80, 100}, {0, 50}};
  int critical[9];
  ck_assert_int_eq(find_critical(nine, 9, 100, MAFAT_FDT_ALONE, critical), 0);
  ck_assert_int_eq(find_critical(forked, 5, 100, MAFAT_FDT_ALONE, critical), 1);
  ck_assert_int_eq(critical[0], 0);
}
END_TEST

START_TEST(a_buffer_without_bytes_is_not_critical)
{
  static const struct mafat_fdt_place places[] = {{0, 0}, {0, 10}, {10, 10}};
  int critical[3];
  ck_assert_int_eq(find_critical(places, 3, 10, MAFAT_FDT_CHAINS, critical), 1);
  ck_assert_int_eq(critical[0], 1);
}
END_TEST

/* 16x4x64: depth in 2..25, rows in 2..16, columns in 2..4, both in 2x2..4x4. */
START_TEST(tilings_are_those_listed)
{
  struct mafat_fdt_tiling list[MAFAT_FDT_MOST_TILINGS];
  ck_assert_int_eq(mafat_fdt_tilings(16, 4, 64, list), 24 + 15 + 3 + 3);
  ck_assert(list[0].c == 2 && list[23].c == 25);
  ck_assert(list[24].h == 2 && list[38].h == 16);
  ck_assert(list[39].w == 2 && list[41].w == 4);
  ck_assert(list[42].h == 2 && list[44].h == 4 && list[44].w == 4);
  ck_assert_int_eq(mafat_fdt_tilings(1, 1, 1, list), 0);
  ck_assert_int_eq(mafat_fdt_tilings(1000, 1000, 1000, list), MAFAT_FDT_MOST_TILINGS);
}
END_TEST

START_TEST(the_first_parts_take_one_more)
{
  static const int sizes[] = {22, 21, 21};
  for (int i = 0, at = 0; i < 3; i++) {
    struct mafat_span part = mafat_fdt_part(64, 3, i);
    ck_assert_int_eq(part.begin, at);
    ck_assert_int_eq(part.end - part.begin, sizes[i]);
    at = part.end;
  }
}
END_TEST

/* The running example in two tiles of columns: 1x1, depthwise 3x3, 6x2 of stride 2; columns 1-6 and 3-8, from 1. */
START_TEST(tiles_reach_back_to_the_columns_listed)
{
  static const struct mafat_span expected[] = {{0, 6}, {2, 8}};
  for (int i = 0; i < 2; i++) {
    struct mafat_span s = mafat_fdt_input(mafat_fdt_part(4, 2, i), 1, 1, 0, 4);
    s = mafat_fdt_input(s, 3, 1, 1, 4);
    s = mafat_fdt_input(s, 2, 2, 0, 8);
    ck_assert_int_eq(s.begin, expected[i].begin);
    ck_assert_int_eq(s.end, expected[i].end);
  }
  ck_assert(mafat_fdt_overlaps(6, 2) && !mafat_fdt_overlaps(2, 2));
}
END_TEST

/* The running example: 6x2 of stride 2, depthwise 3x3, 1x1, the pool of all, what flattens it, and the dense layer. Bytes of floats. */
enum { DENSE_ROLES = MAFAT_FDT_FAN_OUT | MAFAT_FDT_FAN_IN, CONV_ROLES = DENSE_ROLES | MAFAT_FDT_MAPS };
static const struct mafat_fdt_operator example[] = {
    {CONV_ROLES, 6, 2, 2, 2, 16, 4, 32, 1024, 8192},
    {MAFAT_FDT_PART | MAFAT_FDT_MAPS, 3, 3, 1, 1, 16, 4, 32, 8192, 8192},
    {CONV_ROLES, 1, 1, 1, 1, 16, 4, 64, 8192, 16384},
    {MAFAT_FDT_PART | MAFAT_FDT_MAPS, 16, 4, 16, 4, 1, 1, 64, 16384, 256},
    {MAFAT_FDT_PART, 1, 1, 1, 1, 1, 1, 64, 256, 256},
    {DENSE_ROLES, 1, 1, 1, 1, 1, 1, 6, 256, 24},
};

/* Fan-out and pool, and the same up to fan-in. */
START_TEST(depth_paths_are_the_two_listed)
{
  for (int parts = 2; parts <= 25; parts++) {
    struct mafat_fdt_path paths[8];
    ck_assert_int_eq(mafat_fdt_paths(example, 6, 2, (struct mafat_fdt_tiling){1, 1, parts}, paths, 8), 2);
    ck_assert(paths[0].first == 2 && paths[0].last == 3 && paths[0].fans_out && !paths[0].fans_in);
    ck_assert(paths[1].first == 2 && paths[1].last == 5 && paths[1].fans_out && paths[1].fans_in);
  }
}
END_TEST

START_TEST(paths_of_maps_die_at_a_pool_of_one_pixel)
{
  static const struct mafat_fdt_tiling tilings[] = {{2, 1, 1}, {1, 2, 1}, {2, 2, 1}};
  struct mafat_fdt_path paths[8];
  for (int i = 0; i < 3; i++) ck_assert_int_eq(mafat_fdt_paths(example, 6, 2, tilings[i], paths, 8), 0);
}
END_TEST

/* One, two or three convolutions before the pool; along columns the first one does not overlap, and there is no version of two. */
START_TEST(versions_stop_before_overlap)
{
  int reaches[3];
  static const struct mafat_fdt_tiling of_rows[] = {{2, 1, 1}, {2, 2, 1}};
  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(mafat_fdt_reach_up(example, 2, of_rows[i], reaches), 3);
    for (int k = 0; k < 3; k++) ck_assert_int_eq(reaches[k], 2 - k);
  }
  ck_assert_int_eq(mafat_fdt_reach_up(example, 2, (struct mafat_fdt_tiling){1, 2, 1}, reaches), 2);
  ck_assert(reaches[0] == 2 && reaches[1] == 0);
}
END_TEST

Suite *fdt_suite(void)
{
  Suite *suite = suite_create("fdt");
  TCase *t = tcase_create("examples");
  tcase_add_test(t, chains_make_all_but_the_first_critical);
  tcase_add_test(t, alone_critical_is_what_every_chain_has);
  tcase_add_test(t, a_buffer_without_bytes_is_not_critical);
  tcase_add_test(t, tilings_are_those_listed);
  tcase_add_test(t, the_first_parts_take_one_more);
  tcase_add_test(t, tiles_reach_back_to_the_columns_listed);
  tcase_add_test(t, depth_paths_are_the_two_listed);
  tcase_add_test(t, paths_of_maps_die_at_a_pool_of_one_pixel);
  tcase_add_test(t, versions_stop_before_overlap);
  suite_add_tcase(suite, t);
  return suite;
}
