/* Covers runner/detect/{best_boxes, suppress}.c: compares suppression with its definition, and
 * tests the order of detections and the choice of the best when there is not enough memory for
 * all. */
#include <check.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "tests/support/cells.h"
#include "tests/support/support.h"

Suite *detect_choice_suite(void);

static uint32_t random_state;

static float random_share(void)
{
  random_state = random_state * 1664525u + 1013904223u;
  return (float)(random_state >> 8) / 16777216.f;
}

/* Fills a layer with random numbers; if coarse, of few distinct values, so that many boxes tie. */
static void fill_randomly(int layer, bool coarse)
{
  struct mafat_shape out = cells_layers[layer].out;
  int per_anchor = 5 + cells_layers[layer].head.classes;
  for (int c = 0; c < out.c; c++)
    for (int y = 0; y < out.h; y++)
      for (int x = 0; x < out.w; x++) {
        float value = random_share();
        if (coarse) value = ceilf(value * 4) / 4;
        if (c % per_anchor == 2 || c % per_anchor == 3) value = value * 4 - 1;
        *cells_element(layer, c, y, x) = value;
      }
}

static double naive_iou(const struct mafat_detection *a, const struct mafat_detection *b)
{
  double left = fmax((double)a->x, (double)b->x), top = fmax((double)a->y, (double)b->y);
  double right = fmin((double)a->x + (double)a->w, (double)b->x + (double)b->w);
  double bottom = fmin((double)a->y + (double)a->h, (double)b->y + (double)b->h);
  if (right <= left || bottom <= top) return 0;
  double both = (right - left) * (bottom - top);
  return both / ((double)a->w * (double)a->h + (double)b->w * (double)b->h - both);
}

/* The squared distance of the two centres, divided by the squared diagonal of the rectangle around
 * both boxes, raised to `power`. Lengths are shares of the picture's sides. */
static double naive_distance(const struct mafat_detection *a, const struct mafat_detection *b,
                             double w, double h, double power)
{
  double x = ((double)a->x + (double)a->w / 2 - (double)b->x - (double)b->w / 2) / w;
  double y = ((double)a->y + (double)a->h / 2 - (double)b->y - (double)b->h / 2) / h;
  double right = fmax((double)a->x + (double)a->w, (double)b->x + (double)b->w) -
                 fmin((double)a->x, (double)b->x);
  double bottom = fmax((double)a->y + (double)a->h, (double)b->y + (double)b->h) -
                  fmin((double)a->y, (double)b->y);
  return pow((x * x + y * y) / (right * right / (w * w) + bottom * bottom / (h * h)), power);
}

static void check_order(const struct mafat_detections *found)
{
  for (size_t i = 1; i < found->n; i++) {
    const struct mafat_detection *a = &found->list[i - 1], *b = &found->list[i];
    ck_assert(a->confidence > b->confidence ||
              (a->confidence == b->confidence && a->class_id <= b->class_id));
  }
}

enum { PICTURE_W = 160, PICTURE_H = 120 };

/* The definition of suppression: in the list's order, removes each box if a better one of its class
 * overlaps it by more than `nms`. If power is above 0, naive_distance with that power is first
 * subtracted from the overlap. */
static void suppress_naively(struct mafat_detections *all, double nms, double power)
{
  size_t n = 0;
  for (size_t i = 0; i < all->n; i++) {
    bool keep = true;
    for (size_t j = 0; j < n; j++) {
      const struct mafat_detection *a = &all->list[j], *b = &all->list[i];
      double away = power > 0 ? naive_distance(a, b, PICTURE_W, PICTURE_H, power) : 0;
      if (a->class_id == b->class_id && naive_iou(a, b) - away > nms) keep = false;
    }
    if (keep) all->list[n++] = all->list[i];
  }
  all->n = n;
}

static void check_suppression(int round, enum mafat_nms kind, float beta, double power)
{
  random_state = (uint32_t)round * 7919 + 1;
  cells_start(16, 16, true);
  cells_add(MAFAT_YOLO, 4, 4, 2, 3)->head.nms = MAFAT_NMS_IOU;
  struct mafat_head *last = &cells_add(MAFAT_YOLO, 8, 8, 2, 3)->head;
  last->nms = kind;
  last->beta_nms = beta;
  fill_randomly(0, round % 2);
  fill_randomly(1, round % 2);
  struct mafat_detect_input in = cells_input(PICTURE_W, PICTURE_H);
  in.thresh = round % 3 ? .2f : 0;
  in.nms = 0;
  struct mafat_detections *all, *found;
  ck_assert_int_eq(mafat_detect(&all, &cells_network, &in, NULL), MAFAT_OK);
  ck_assert_uint_gt(all->n, 50);
  check_order(all);
  /* No overlap of coarse boxes is close to this value, so floats and doubles decide alike. */
  in.nms = .4321f;
  ck_assert_int_eq(mafat_detect(&found, &cells_network, &in, NULL), MAFAT_OK);
  suppress_naively(all, (double)in.nms, power);
  ck_assert_uint_eq(found->n, all->n);
  ck_assert_mem_eq(found->list, all->list, all->n * sizeof *all->list);
  mafat_detections_close(&all);
  mafat_detections_close(&found);
}

START_TEST(test_suppression)
{
  check_suppression(_i, MAFAT_NMS_IOU, .6f, 0);
}
END_TEST

/* Suppression that subtracts a distance matches its definition. MAFAT_NMS_GREEDY ignores beta_nms
 * and uses power 0.6. */
START_TEST(test_suppression_by_distance_too)
{
  check_suppression(_i, MAFAT_NMS_GREEDY, .1f, .6);
  check_suppression(_i, MAFAT_NMS_DIOU, .25f, .25);
  check_suppression(_i, MAFAT_NMS_DIOU, 1.5f, 1.5);
}
END_TEST

START_TEST(test_ties)
{
  cells_start(64, 64, false);
  cells_add(MAFAT_YOLO, 4, 4, 2, 2);
  cells_add(MAFAT_YOLO, 4, 4, 2, 2);
  /* Expected order of equal boxes: head, row, column, anchor. */
  static const struct cell cells[] = {{0, 0, 0, 3}, {0, 1, 0, 3}, {0, 0, 2, 1}, {1, 0, 0, 0}};
  float values[] = {.5f, .5f, 0, 0, .75f, .75f, .75f};
  for (int i = 3; i >= 0; i--) cells_set(cells[i], values);
  struct mafat_detect_input in = cells_input(64, 64);
  in.nms = 0;
  struct mafat_detections *found = cells_detect(&in, 8);
  for (int i = 0; i < 8; i++) {
    const struct mafat_detection *d = &found->list[i];
    const struct cell *at = &cells[i % 4];
    ck_assert_int_eq(d->class_id, i / 4);
    ck_assert_double_eq_tol((double)(d->x + d->w / 2), (at->x + .5) * 16, 1e-4);
    ck_assert_double_eq_tol((double)(d->y + d->h / 2), (at->y + .5) * 16, 1e-4);
    ck_assert_double_eq_tol((double)d->w, (double)cells_anchors[2 * at->anchor], 1e-5);
  }
  mafat_detections_close(&found);

  /* The boxes of anchors 0 and 1 of a cell overlap by 3 / 9, so the second one is removed. */
  in.nms = .3f;
  found = cells_detect(&in, 6);
  ck_assert_double_eq_tol((double)found->list[0].w, 2, 1e-5);
  mafat_detections_close(&found);
}
END_TEST

START_TEST(test_classes_do_not_suppress_each_other)
{
  cells_start(64, 64, false);
  cells_add(MAFAT_YOLO, 4, 4, 2, 2);
  cells_set((struct cell){0, 0, 1, 1}, (float[]){.5f, .5f, 2, 2, 1, .9f, .6f});
  cells_set((struct cell){0, 0, 1, 2}, (float[]){-.5f, .5f, 2, 2, 1, .8f, .7f}); /* the same box */
  struct mafat_detect_input in = cells_input(64, 64);
  struct mafat_detections *found = cells_detect(&in, 2);
  ck_assert_int_eq(found->list[0].class_id, 0);
  ck_assert_double_eq_tol((double)found->list[0].confidence, .9, 1e-6);
  ck_assert_int_eq(found->list[1].class_id, 1);
  ck_assert_double_eq_tol((double)found->list[1].confidence, .7, 1e-6);
  mafat_detections_close(&found);
}
END_TEST

static float read_list(const void *list, int layer, int c, int y, int x)
{
  if (layer != 0 || y != 0 || x != 0) ck_abort_msg("no such element");
  return ((const float *)list)[c];
}

/* 128000 equal boxes are all found; with less room, the first of them are. */
START_TEST(test_more_boxes_than_room)
{
  enum { SIDE = 8, CLASSES = 1000, ALL = SIDE * SIDE * 2 * CLASSES };
  static const size_t most[] = {ALL - 1, 1000, 1, 0};
  cells_start(64, 64, false);
  struct mafat_layer *l = cells_add_layer(MAFAT_DETECTION, 1, 1, SIDE);
  l->out = (struct mafat_shape){1, 1, SIDE * SIDE * (CLASSES + 2 * 5)};
  l->head = (struct mafat_head){.classes = CLASSES, .coords = 4, .n_anchors = 2, .side = SIDE};
  float *floats = malloc((size_t)l->out.c * sizeof *floats);
  ck_assert_ptr_nonnull(floats);
  for (int i = 0; i < l->out.c; i++) floats[i] = .125f;
  struct mafat_detect_input in = cells_input(64, 64);
  ck_assert_uint_eq(in.most_boxes, ALL);
  in.thresh = 0;
  in.nms = 0;
  in.at = read_list;
  in.context = floats;
  struct mafat_detections *all = cells_detect(&in, ALL);
  ck_assert_uint_eq(all->left_out, 0);
  for (int i = 0; i < 4; i++) {
    in.most_boxes = most[i];
    struct mafat_detections *some = cells_detect(&in, most[i]);
    ck_assert_uint_eq(some->left_out, ALL - most[i]);
    if (most[i]) ck_assert_mem_eq(some->list, all->list, most[i] * sizeof *all->list);
    mafat_detections_close(&some);
  }
  mafat_detections_close(&all);
  free(floats);
}
END_TEST

/* With less room for boxes, the list only becomes shorter, with suppression and without. */
START_TEST(test_less_room_is_a_shorter_list)
{
  random_state = (uint32_t)_i * 104729 + 1;
  cells_start(16, 16, true);
  cells_add(MAFAT_YOLO, 4, 4, 2, 3);
  cells_add(MAFAT_YOLO, 8, 8, 2, 3)->head.nms = (enum mafat_nms)(_i % 3);
  fill_randomly(0, _i % 2);
  fill_randomly(1, _i % 2);
  struct mafat_detect_input in = cells_input(PICTURE_W, PICTURE_H);
  struct mafat_detections *all, *some;
  in.thresh = 0;
  in.nms = _i % 5 ? .3f : 0;
  ck_assert_int_eq(mafat_detect(&all, &cells_network, &in, NULL), MAFAT_OK);
  for (in.most_boxes = 0; in.most_boxes < 300; in.most_boxes += 37) {
    ck_assert_int_eq(mafat_detect(&some, &cells_network, &in, NULL), MAFAT_OK);
    ck_assert_uint_le(some->n, all->n);
    if (some->n) ck_assert_mem_eq(some->list, all->list, some->n * sizeof *some->list);
    if (in.most_boxes) ck_assert_uint_gt(some->n, 0);
    mafat_detections_close(&some);
  }
  mafat_detections_close(&all);
}
END_TEST

Suite *detect_choice_suite(void)
{
  Suite *suite = suite_create("detect_choice");

  TCase *choice = tcase_create("choice");
  tcase_set_timeout(choice, 60);
  tcase_add_loop_test(choice, test_suppression, 0, test_seeds(40));
  tcase_add_loop_test(choice, test_suppression_by_distance_too, 0, test_seeds(40));
  tcase_add_test(choice, test_ties);
  tcase_add_test(choice, test_classes_do_not_suppress_each_other);
  tcase_add_test(choice, test_more_boxes_than_room);
  tcase_add_loop_test(choice, test_less_room_is_a_shorter_list, 0, test_seeds(30));
  suite_add_tcase(suite, choice);
  return suite;
}
