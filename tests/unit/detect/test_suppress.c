/* Covers runner/detect/suppress.c: keeping the best boxes, and suppression of overlapping boxes. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runner/detect/suppress.h"

#include "tests/support/random.h"
#include "tests/support/support.h"

Suite *suppress_suite(void);

enum { MOST = 3000 };

static char room[1 << 20], plain_room[1 << 20];

static struct mafat_best_boxes boxes_in(void *memory, size_t most)
{
  ck_assert_uint_le(mafat_boxes_room_bytes(most), sizeof room);
  return (struct mafat_best_boxes){.list = memory, .most = most};
}

/* ---- the best ---- */

static struct mafat_scored_box random_score(struct test_rng *rng, int n_classes, bool coarse,
                                            uint32_t number)
{
  int steps = coarse ? 7 : 1 << 20;
  return (struct mafat_scored_box){.confidence =
                                       (float)test_random_int(rng, 1, steps) / (float)steps,
                                   .class = test_random_int(rng, 0, n_classes - 1),
                                   .number = number};
}

static int compare_results(const void *a, const void *b)
{
  return mafat_box_order_results(a, b);
}

/* After boxes are added in any order, with ties or without, the kept ones are the first of the
 * sorted list. */
START_TEST(test_the_best_are_kept)
{
  static struct mafat_scored_box all[MOST];
  struct test_rng rng = test_rng((uint64_t)_i);
  size_t most = (size_t)test_random_int(&rng, 0, 200),
         n = (size_t)test_random_int(&rng, 0, _i % 2 ? 300 : MOST);
  struct mafat_best_boxes b = boxes_in(room, most);
  for (size_t i = 0; i < n; i++) all[i] = random_score(&rng, 5, _i % 3 == 0, (uint32_t)i / 2);
  for (size_t i = 1; i < n; i++) /* a box has each class once */
    if (all[i].number == all[i - 1].number) all[i].class = all[i - 1].class + 1;
  if (_i % 5 == 0) qsort(all, n, sizeof *all, compare_results);
  for (size_t i = 0; i < n; i++) mafat_best_boxes_add(&b, &all[_i % 10 == 0 ? n - 1 - i : i]);
  qsort(all, n, sizeof *all, compare_results);
  mafat_best_boxes_sort(&b, mafat_box_order_results);
  ck_assert_uint_eq(b.n, n < most ? n : most);
  ck_assert_uint_eq(b.n_left_out, n - b.n);
  for (size_t i = 0; i < b.n; i++)
    ck_assert_int_eq(mafat_box_order_results(&b.list[i], &all[i]), 0);
}
END_TEST

/* ---- suppression, compared with testing every pair ---- */

static void suppress_plainly(struct mafat_best_boxes *b, const struct mafat_suppression *s)
{
  size_t n = 0;
  mafat_best_boxes_sort(b, mafat_box_order_classes);
  for (size_t i = 0; i < b->n; i++) {
    bool keep = true;
    for (size_t j = 0; j < n && keep; j++)
      keep = b->list[j].class != b->list[i].class ||
             !mafat_suppression_overlaps(s, b->list[j].box, b->list[i].box);
    if (keep) b->list[n++] = b->list[i];
  }
  b->n = n;
}

static const float strange[] = {0,       -0.f,  1e-45f, FLT_MIN,  1e-20f,   .5f,     1,
                                1.f / 3, 1e6f,  1e30f,  FLT_MAX,  INFINITY, -1e-20f, -.25f,
                                -1,      -1e6f, -1e30f, -FLT_MAX, -INFINITY};

static float random_strange(struct test_rng *rng)
{
  return strange[test_random_int(rng, 0, (int)(sizeof strange / sizeof *strange) - 1)];
}

static float random_share(struct test_rng *rng)
{
  return (float)(test_random(rng) >> 8) / 16777216.f;
}

enum shapes { EVEN, SMALL, MANY_SIZES, COARSE, DISTANT, STRANGE, SAME, N_SHAPES };

static struct mafat_rectangle random_box(struct test_rng *rng, enum shapes shapes)
{
  float x = random_share(rng), y = random_share(rng), w = random_share(rng), h = random_share(rng);
  switch (shapes) {
  case EVEN: return (struct mafat_rectangle){x, y, w, h};
  case SMALL: return (struct mafat_rectangle){x, y, w / 20, h / 20};
  case MANY_SIZES:
    return (struct mafat_rectangle){2 * x - .5f, 2 * y - .5f, expf(-12 * w), expf(-12 * h) * 4};
  case COARSE: /* edges on edges of cells and of other boxes */
    return (struct mafat_rectangle){floorf(x * 32) / 32, floorf(y * 32) / 32, floorf(w * 5) / 16,
                                    floorf(h * 5) / 16};
  case DISTANT:
    return (struct mafat_rectangle){x + 1e5f, -y - 3e6f, w * 4,
                                    h}; /* floats there are multiples of 1/4 */
  case STRANGE: {
    float *const parts[] = {&x, &y, &w, &h};
    for (int i = 0; i < 4; i++)
      if (test_random_chance(rng, 20)) *parts[i] = random_strange(rng);
    return (struct mafat_rectangle){x, y, w, h};
  }
  case SAME: case N_SHAPES: break;
  }
  return (struct mafat_rectangle){.5f, .5f, .25f, test_random_chance(rng, 10) ? .125f : .25f};
}

static void check_suppression(struct test_rng *rng, enum shapes shapes, size_t n, int n_classes,
                              struct mafat_suppression s)
{
  size_t most = n + (size_t)test_random_int(rng, 0, 200);
  struct mafat_best_boxes b = boxes_in(room, most), plain = boxes_in(plain_room, most);
  for (size_t i = 0; i < n; i++) {
    struct mafat_scored_box box =
        random_score(rng, n_classes, test_random_chance(rng, 50), (uint32_t)i);
    box.box = random_box(rng, shapes);
    mafat_best_boxes_add(&b, &box);
    mafat_best_boxes_add(&plain, &box);
  }
  s.cells = (uint32_t *)(b.list + most);
  mafat_suppress(&b, &s);
  suppress_plainly(&plain, &s);
  ck_assert_uint_eq(b.n, plain.n);
  for (size_t i = 0; i < b.n; i++) {
    b.list[i].next = plain.list[i].next = 0;
    if (memcmp(&b.list[i], &plain.list[i], sizeof *b.list))
      ck_abort_msg("box %zu of %zu differs", i, b.n);
  }
}

START_TEST(test_as_every_pair_compared)
{
  static const float most[] = {.45f, .01f, .9f, 1, 1e-30f, .7f};
  struct test_rng rng = test_rng((uint64_t)_i);
  struct mafat_suppression s = {.most = most[_i % 6]};
  for (int shapes = 0; shapes < N_SHAPES; shapes++)
    for (int kind = MAFAT_NMS_IOU; kind <= MAFAT_NMS_DIOU; kind++) {
      s.kind = (enum mafat_nms)kind;
      s.power = kind == MAFAT_NMS_DIOU ? (double)random_share(&rng) * 2 : .6;
      check_suppression(&rng, (enum shapes)shapes, (size_t)test_random_int(&rng, 0, 700),
                        _i % 4 ? 1 + _i % 3 : 40, s);
    }
}
END_TEST

START_TEST(test_many_of_all_sizes)
{
  struct test_rng rng = test_rng((uint64_t)_i + 1000);
  check_suppression(&rng, MANY_SIZES, MOST, 1,
                    (struct mafat_suppression){.most = .45f, .kind = (enum mafat_nms)_i});
}
END_TEST

/* ---- size of the memory ---- */

START_TEST(test_room)
{
  ck_assert_uint_eq(mafat_boxes_room_bytes(0), 0);
  for (size_t most = 1; most < 1100000; most += 1 + most / 7) {
    int levels = mafat_boxes_levels(most);
    ck_assert(levels >= 1 && levels <= MAFAT_BOXES_LEVELS);
    ck_assert_uint_le(mafat_boxes_cells(levels), most);
    size_t bytes =
        most * sizeof(struct mafat_scored_box) + mafat_boxes_cells(levels) * sizeof(uint32_t);
    ck_assert(mafat_boxes_room_bytes(most) >= bytes && mafat_boxes_room_bytes(most) < bytes + 64);
  }
  ck_assert_uint_eq(mafat_boxes_cells(0), 0);
  ck_assert_uint_eq(mafat_boxes_cells(3), 1 + 4 + 16);
}
END_TEST

Suite *suppress_suite(void)
{
  Suite *s = suite_create("suppress");
  TCase *boxes = tcase_create("boxes");
  tcase_set_timeout(boxes, 60);
  tcase_add_loop_test(boxes, test_the_best_are_kept, 0, test_seeds(100));
  tcase_add_loop_test(boxes, test_as_every_pair_compared, 0, test_seeds(60));
  tcase_add_loop_test(boxes, test_many_of_all_sizes, 0, 3);
  tcase_add_test(boxes, test_room);
  suite_add_tcase(s, boxes);
  return s;
}
