/* Covers base/box.c: sizes, hulls, clipping, rounding to blocks, convolution windows and equal
 * shares of spans. */
#include <check.h>

#include "base/box.h"

Suite *box_suite(void);

static void check_span(struct mafat_span s, int begin, int end)
{
  ck_assert_msg(s.begin == begin && s.end == end, "expected %d..%d, found %d..%d", begin, end,
                s.begin, s.end);
}

START_TEST(sizes)
{
  ck_assert_int_eq(mafat_span_size(mafat_span(3, 8)), 5);
  ck_assert_int_eq(mafat_span_size(mafat_span(8, 3)), 0);
  ck_assert(mafat_span_is_empty(mafat_span(4, 4)) && !mafat_span_is_empty(mafat_span(4, 5)));
  ck_assert(mafat_box_area(mafat_box_full(1 << 20, 1 << 11)) == 1LL << 31);
  ck_assert(mafat_box_is_empty((struct mafat_box){{0, 5}, {2, 2}}));
  ck_assert(mafat_box_is_empty((struct mafat_box){{1, 1}, {0, 2}}));
  ck_assert(mafat_box_area((struct mafat_box){{0, 5}, {2, 2}}) == 0);
}
END_TEST

START_TEST(hull_holds_both_and_ignores_an_empty_span)
{
  check_span(mafat_span_hull(mafat_span(2, 4), mafat_span(7, 9)), 2, 9);
  check_span(mafat_span_hull(mafat_span(2, 9), mafat_span(3, 4)), 2, 9);
  check_span(mafat_span_hull(mafat_span(0, 0), mafat_span(7, 9)), 7, 9);
  check_span(mafat_span_hull(mafat_span(7, 9), mafat_span(5, 5)), 7, 9);
}
END_TEST

START_TEST(clip_keeps_the_part_inside_the_map)
{
  check_span(mafat_span_clip(mafat_span(-2, 4), 10), 0, 4);
  check_span(mafat_span_clip(mafat_span(6, 14), 10), 6, 10);
  check_span(mafat_span_clip(mafat_span(-5, 50), 10), 0, 10);
  check_span(mafat_span_clip(mafat_span(-5, -1), 10), 0, 0);
  check_span(mafat_span_clip(mafat_span(10, 12), 10), 0, 0);
}
END_TEST

/* A span is rounded to all blocks that it touches, and no others. */
START_TEST(rounding_out_takes_whole_blocks)
{
  for (int limit = 1; limit <= 20; limit++)
    for (int g = 1; g <= 7; g++)
      for (int begin = 0; begin < limit; begin++)
        for (int end = begin + 1; end <= limit; end++) {
          struct mafat_span s = mafat_span_round_out(mafat_span(begin, end), g, limit);
          for (int i = 0; i < limit; i++) {
            bool wanted = i / g >= begin / g && i / g <= (end - 1) / g;
            if (wanted != (i >= s.begin && i < s.end))
              ck_abort_msg("rounding %d..%d to blocks of %d, limit %d: got %d..%d", begin, end, g,
                           limit, s.begin, s.end);
          }
        }
}
END_TEST

START_TEST(rounding_out_does_not_overflow)
{
  int limit = 2147483647;
  check_span(mafat_span_round_out(mafat_span(5, limit - 2), 4, limit), 4, limit);
  ck_assert(mafat_span_is_empty(mafat_span_round_out(mafat_span(3, 3), 4, 10)));
}
END_TEST

START_TEST(window_holds_exactly_the_taps)
{
  for (int size = 1; size <= 7; size++)
    for (int stride = 1; stride <= 3; stride++)
      for (int pad = 0; pad <= 3; pad++)
        for (int begin = 0; begin < 6; begin++)
          for (int end = begin + 1; end <= 6; end++) {
            int least = 1 << 20, most = -(1 << 20);
            for (int out = begin; out < end; out++)
              for (int k = 0; k < size; k++) {
                int in = out * stride - pad + k;
                if (in < least) least = in;
                if (in > most) most = in;
              }
            struct mafat_span s = mafat_span_window(mafat_span(begin, end), size, stride, pad);
            if (s.begin != least || s.end != most + 1)
              ck_abort_msg("window of size %d, stride %d, pad %d for outputs %d..%d: got %d..%d",
                           size, stride, pad, begin, end, s.begin, s.end);
          }
  ck_assert(mafat_span_is_empty(mafat_span_window(mafat_span(2, 2), 3, 1, 1)));
}
END_TEST

START_TEST(shares_cover_the_extent_and_differ_by_at_most_one)
{
  for (int extent = 1; extent <= 40; extent++)
    for (int n = 1; n <= extent; n++) {
      int at = 0;
      for (int i = 0; i < n; i++) {
        struct mafat_span s = mafat_span_share(extent, n, i);
        int size = s.end - s.begin;
        if (s.begin != at || size < extent / n || size > extent / n + (extent % n > 0))
          ck_abort_msg("part %d of %d, extent %d: got %d..%d", i, n, extent, s.begin, s.end);
        at = s.end;
      }
      if (at != extent) ck_abort_msg("%d parts do not add up to the extent %d", n, extent);
    }
  check_span(mafat_span_share(1 << 30, 1 << 16, (1 << 16) - 1), (1 << 30) - (1 << 14), 1 << 30);
}
END_TEST

Suite *box_suite(void)
{
  Suite *suite = suite_create("box");
  TCase *spans = tcase_create("spans");
  tcase_add_test(spans, sizes);
  tcase_add_test(spans, hull_holds_both_and_ignores_an_empty_span);
  tcase_add_test(spans, clip_keeps_the_part_inside_the_map);
  tcase_add_test(spans, rounding_out_takes_whole_blocks);
  tcase_add_test(spans, rounding_out_does_not_overflow);
  tcase_add_test(spans, window_holds_exactly_the_taps);
  tcase_add_test(spans, shares_cover_the_extent_and_differ_by_at_most_one);
  suite_add_tcase(suite, spans);
  return suite;
}
