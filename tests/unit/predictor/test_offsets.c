/* Covers predictor/layout/{offsets, offsets_exact, offsets_skyline}.c: offset assignment to blocks
 * with lifetimes. */
#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/layout/offsets.h"
#include "predictor/layout/offsets_skyline.h"
#include "tests/support/support.h"

Suite *offsets_suite(void);

enum { MOST = 64 };

static bool live_together(const struct mafat_block *a, const struct mafat_block *b)
{
  return a->first <= b->last && b->first <= a->last;
}

/* Checks that blocks that live at the same time do not overlap, and that the arena ends with the
 * highest block. */
static void check_offsets(const struct mafat_block *blocks, int n, size_t total)
{
  size_t end = 0;
  for (int i = 0; i < n; i++) {
    const struct mafat_block *a = &blocks[i];
    if (a->offset + a->bytes > end) end = a->offset + a->bytes;
    for (int j = i + 1; j < n; j++) {
      const struct mafat_block *b = &blocks[j];
      if (live_together(a, b) && a->offset + a->bytes > b->offset &&
          b->offset + b->bytes > a->offset)
        ck_abort_msg("blocks %d and %d overlap", i, j);
    }
  }
  ck_assert_uint_eq(total, end);
  ck_assert_uint_ge(total, mafat_offsets_lower_bound(blocks, n));
}

static int random_blocks(struct test_rng *rng, struct mafat_block *blocks, int most, int times,
                         int most_units)
{
  int n = test_random_int(rng, 1, most);
  for (int i = 0; i < n; i++) {
    int first = test_random_int(rng, 0, times - 1), last = test_random_int(rng, first, times - 1);
    blocks[i] = (struct mafat_block){.bytes = 64 * (size_t)test_random_int(rng, 1, most_units),
                                     .first = first,
                                     .last = last,
                                     .end_hint = test_random_int(rng, 0, 2)};
  }
  return n;
}

/* ---- the optimum of tiny cases, by trying every order ----
 *
 * At least one order of the blocks gives an optimum if each block in turn is placed as low as
 * possible: take any optimum and sort its blocks by offset. */

struct search {
  struct mafat_block blocks[8];
  bool placed[8];
  int n, n_placed;
  size_t best;
};

/* Lowest offset where b overlaps no placed block. */
static size_t lowest(const struct search *s, const struct mafat_block *b)
{
  size_t at = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (int i = 0; i < s->n; i++) {
      const struct mafat_block *p = &s->blocks[i];
      if (!s->placed[i] || !live_together(p, b) || p->offset >= at + b->bytes ||
          p->offset + p->bytes <= at)
        continue;
      at = p->offset + p->bytes;
      moved = true;
    }
  }
  return at;
}

static void try_orders(struct search *s, size_t height)
{
  if (height >= s->best) return;
  if (s->n_placed == s->n) {
    s->best = height;
    return;
  }
  for (int i = 0; i < s->n; i++) {
    if (s->placed[i]) continue;
    struct mafat_block *b = &s->blocks[i];
    b->offset = lowest(s, b);
    s->placed[i] = true;
    s->n_placed++;
    try_orders(s, b->offset + b->bytes > height ? b->offset + b->bytes : height);
    s->placed[i] = false;
    s->n_placed--;
  }
}

/* Any six or fewer blocks get the smallest possible arena. */
START_TEST(tiny_cases_are_the_optimum)
{
  struct test_rng rng = test_rng((uint64_t)_i);
  for (int trial = 0; trial < 400; trial++) {
    struct search s = {.best = SIZE_MAX};
    s.n = random_blocks(&rng, s.blocks, 6, 5, 9);
    struct mafat_block blocks[8];
    memcpy(blocks, s.blocks, sizeof blocks);
    size_t total = mafat_offsets_assign(blocks, s.n, NULL);
    check_offsets(blocks, s.n, total);
    try_orders(&s, 0);
    ck_assert_msg(total == s.best, "%zu bytes, the optimum is %zu", total, s.best);
  }
}
END_TEST

/* A chain of blocks of 5, 3, 2 and 4 bytes gets an arena of 8; placed in
 * order of their sizes, they would need 10. */
START_TEST(a_chain_that_sizes_do_not_order)
{
  static const size_t bytes[] = {5, 3, 2, 4};
  struct mafat_block blocks[4];
  for (int i = 0; i < 4; i++)
    blocks[i] = (struct mafat_block){.bytes = bytes[i], .first = i, .last = i + 1};
  ck_assert_uint_eq(mafat_offsets_assign(blocks, 4, NULL), 8);
  check_offsets(blocks, 4, 8);
}
END_TEST

/* Random blocks do not overlap. */
START_TEST(blocks_do_not_overlap)
{
  struct test_rng rng = test_rng((uint64_t)_i);
  for (int trial = 0; trial < 300; trial++) {
    struct mafat_block blocks[MOST];
    int n = random_blocks(&rng, blocks, MOST, 40, 1000);
    check_offsets(blocks, n, mafat_offsets_assign(blocks, n, NULL));
  }
}
END_TEST

/* The lower bound equals the largest sum of the bytes that are alive at one time. */
START_TEST(lower_bound_is_the_most_alive_at_one_time)
{
  struct test_rng rng = test_rng(1);
  for (int trial = 0; trial < 500; trial++) {
    struct mafat_block blocks[MOST];
    int n = random_blocks(&rng, blocks, MOST, 30, 100);
    size_t most = 0;
    for (int time = 0; time < 30; time++) {
      size_t sum = 0;
      for (int i = 0; i < n; i++)
        if (blocks[i].first <= time && time <= blocks[i].last) sum += blocks[i].bytes;
      if (sum > most) most = sum;
    }
    ck_assert_uint_eq(mafat_offsets_lower_bound(blocks, n), most);
  }
}
END_TEST

/* A chain, in which each block lives until the next one is written, gets the lower bound. */
START_TEST(chains_reach_the_lower_bound)
{
  struct test_rng rng = test_rng(2);
  for (int trial = 0; trial < 2000; trial++) {
    struct mafat_block blocks[MOST];
    int n = test_random_int(&rng, 1, MOST);
    for (int i = 0; i < n; i++)
      blocks[i] = (struct mafat_block){.bytes = 64 * (size_t)test_random_int(&rng, 1, 1000),
                                       .first = i,
                                       .last = i + 1,
                                       .end_hint = 1 + i % 2};
    size_t total = mafat_offsets_assign(blocks, n, NULL);
    check_offsets(blocks, n, total);
    ck_assert_uint_eq(total, mafat_offsets_lower_bound(blocks, n));
  }
}
END_TEST

/* Cuts an arena that is full at all times into n blocks, so that the optimum is known. */
static int cut_arena(struct test_rng *rng, struct mafat_block *blocks, int n, int times,
                     size_t height)
{
  blocks[0] = (struct mafat_block){.bytes = height, .first = 0, .last = times - 1};
  for (int k = 1; k < n; k++) {
    struct mafat_block *b = &blocks[test_random_int(rng, 0, k - 1)], *rest = &blocks[k];
    *rest = *b;
    rest->end_hint = 0;
    if (test_random_int(rng, 0, 1) && b->last > b->first) {
      b->last = test_random_int(rng, b->first, b->last - 1);
      rest->first = b->last + 1;
    } else {
      b->bytes = 64 * (b->bytes / 64 * (size_t)test_random_int(rng, 1, 9) / 10);
      rest->bytes -= b->bytes;
    }
  }
  return n;
}

/* For 600 to 1500 blocks the arena is at most 25 % above the optimum. */
START_TEST(many_blocks_need_at_most_a_quarter_more)
{
  enum { MANY = 1500 };
  struct test_rng rng = test_rng((uint64_t)_i);
  struct mafat_block *blocks = calloc(MANY, sizeof *blocks);
  int n = cut_arena(&rng, blocks, test_random_int(&rng, 600, MANY), 2000, 64 * 10000);
  size_t total = mafat_offsets_assign(blocks, n, NULL);
  check_offsets(blocks, n, total);
  ck_assert_msg(total <= 64 * 12500, "%zu bytes", total);
  free(blocks);
}
END_TEST

/* mafat_offsets_assign_skyline sets *total to the arena that its offsets need. If it finds no arena
 * smaller than *total, it changes nothing. */
START_TEST(skylines_report_their_arena)
{
  struct test_rng rng = test_rng((uint64_t)_i);
  for (int trial = 0; trial < 50; trial++) {
    struct mafat_block blocks[MOST];
    int n = random_blocks(&rng, blocks, MOST, 40, 1000);
    size_t bound = mafat_offsets_lower_bound(blocks, n), total = SIZE_MAX, less = bound;
    ck_assert_int_eq(mafat_offsets_assign_skyline(blocks, n, bound, &total, 1000, NULL), 0);
    check_offsets(blocks, n, total);
    ck_assert_int_eq(mafat_offsets_assign_skyline(blocks, n, bound, &less, 1000, NULL),
                     0); /* no arena is smaller than the bound */
    ck_assert_uint_eq(less, bound);
    check_offsets(blocks, n, total);
  }
}
END_TEST

/* The result is deterministic. */
START_TEST(the_same_blocks_get_the_same_offsets)
{
  struct test_rng rng = test_rng(3);
  struct mafat_block a[MOST], b[MOST];
  int n = random_blocks(&rng, a, MOST, 20, 1000);
  memcpy(b, a, sizeof b);
  ck_assert_uint_eq(mafat_offsets_assign(a, n, NULL), mafat_offsets_assign(b, n, NULL));
  for (int i = 0; i < n; i++) ck_assert_uint_eq(a[i].offset, b[i].offset);
}
END_TEST

/* Without blocks the arena is empty. */
START_TEST(no_blocks_need_no_arena)
{
  ck_assert_uint_eq(mafat_offsets_assign(NULL, 0, NULL), 0);
  ck_assert_uint_eq(mafat_offsets_lower_bound(NULL, 0), 0);
}
END_TEST

Suite *offsets_suite(void)
{
  Suite *suite = suite_create("offsets");
  TCase *blocks = tcase_create("blocks");
  tcase_set_timeout(blocks, 60);
  tcase_add_loop_test(blocks, tiny_cases_are_the_optimum, 0, test_seeds(10));
  tcase_add_test(blocks, a_chain_that_sizes_do_not_order);
  tcase_add_loop_test(blocks, blocks_do_not_overlap, 0, test_seeds(5));
  tcase_add_test(blocks, lower_bound_is_the_most_alive_at_one_time);
  tcase_add_test(blocks, chains_reach_the_lower_bound);
  tcase_add_loop_test(blocks, many_blocks_need_at_most_a_quarter_more, 0, test_seeds(10));
  tcase_add_loop_test(blocks, skylines_report_their_arena, 0, test_seeds(5));
  tcase_add_test(blocks, the_same_blocks_get_the_same_offsets);
  tcase_add_test(blocks, no_blocks_need_no_arena);
  suite_add_tcase(suite, blocks);
  return suite;
}
