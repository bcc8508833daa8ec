/* Covers runner/detect/{detect, best_boxes}.c, runner/engine/kinds/{detection, boxes_decode}.c:
 * compares boxes of Darknet's heads with ones computed by hand, and tests thresholds, invalid
 * numbers and invalid arguments. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "tests/support/cells.h"
#include "tests/unit/detect/detections.h"

Suite *detect_suite(void);

/* Layer 0, anchor 1 (4 x 1.5 cells), row 1 and column 2 of a grid of 4 x 4 cells in an input of 64
 * x 64 pixels. */
static const struct cell middle = {0, 1, 1, 2};

/* Fills box 1 of cell (1, 0) of a [detection] layer with 2 x 2 cells, 2 boxes and 3 classes: its
 * tensor has 12 probabilities, 8 confidences and 32 numbers of boxes. */
static void fill_flat(void)
{
  int cell = 2, box = 1, number = cell * 2 + box;
  memcpy(&cells_tensors[0][cell * 3], (float[]){0, .9f, .1f}, 3 * sizeof(float));
  cells_tensors[0][12 + number] = .8f;
  memcpy(&cells_tensors[0][20 + number * 4], (float[]){.5f, .25f, .5f, .25f}, 4 * sizeof(float));
}

static void detect_one(int picture_w, int picture_h, int class, double confidence, double x,
                       double y, double w, double h)
{
  struct mafat_detect_input in = cells_input(picture_w, picture_h);
  struct mafat_detections *found = cells_detect(&in, 1);
  test_check_box(&found->list[0], &(struct test_box){class, confidence, x, y, w, h}, 1e-3);
  mafat_detections_close(&found);
  ck_assert_ptr_null(found);
}

/* ---- Boxes, computed by hand. ---- */

START_TEST(test_region_stretched)
{
  cells_start(64, 64, false);
  cells_add(MAFAT_REGION, 4, 4, 2, 3);
  cells_set(middle, (float[]){.5f, .25f, logf(.5f), 0, .9f, .1f, .8f, .1f});
  /* The box in shares of the picture's sides: centre (2.5 / 4, 1.25 / 4), size (4 / 2 / 4, 1.5 /
   * 4). */
  detect_one(200, 100, 1, .72, 125 - 50, 31.25 - 18.75, 100, 37.5);
}
END_TEST

START_TEST(test_region_letterboxed)
{
  cells_start(64, 64, true);
  cells_add(MAFAT_REGION, 4, 4, 2, 3);
  cells_set(middle, (float[]){.5f, .25f, logf(.5f), 0, .9f, .1f, .8f, .1f});
  /* The picture of 200 x 100 fills rows 16 to 47 of the 64 x 64 input. So a quarter of the input's
   * height is above the picture, and heights double. */
  double y = (.3125 - .25) * 2 * 100, h = .375 * 2 * 100;
  detect_one(200, 100, 1, .72, 75, y - h / 2, 100, h);
}
END_TEST

START_TEST(test_letterbox_is_in_whole_pixels)
{
  cells_start(64, 64, true);
  cells_add(MAFAT_REGION, 4, 4, 2, 3);
  cells_set(middle, (float[]){.5f, .25f, logf(.5f), 0, .9f, .1f, .8f, .1f});
  /* The picture of 100 x 300 becomes 21 pixels wide (64 * 100 / 300, rounded down), with a margin
   * of 21.5 pixels at the left. */
  double x = (.625 - 21.5 / 64) * 64 / 21 * 100, w = .5 * 64 / 21 * 100;
  detect_one(100, 300, 1, .72, x - w / 2, .3125 * 300 - .1875 * 300, w, .375 * 300);
}
END_TEST

START_TEST(test_region_background)
{
  cells_start(64, 64, false);
  cells_add(MAFAT_REGION, 4, 4, 2, 3)->head.background = true;
  /* With a background class, the box's fifth number is not an objectness, and is ignored. */
  cells_set(middle, (float[]){.5f, .25f, logf(.5f), 0, -3, .1f, .1f, .8f});
  detect_one(200, 100, 2, .8, 75, 12.5, 100, 37.5);
}
END_TEST

START_TEST(test_yolo)
{
  cells_start(64, 32, false);
  cells_add(MAFAT_YOLO, 2, 4, 2, 2);
  cells_set((struct cell){0, 0, 1, 3}, (float[]){.25f, .5f, logf(4), logf(2), .8f, .75f, .1f});
  /* Anchor 0 is 2 x 3 pixels of the 64 x 32 input. */
  double w = 2. * 4 / 64 * 640, h = 3. * 2 / 32 * 480;
  detect_one(640, 480, 0, .6, 3.25 / 4 * 640 - w / 2, 1.5 / 2 * 480 - h / 2, w, h);
}
END_TEST

START_TEST(test_yolo_letterboxed)
{
  cells_start(64, 32, true);
  cells_add(MAFAT_YOLO, 2, 4, 2, 2);
  cells_set((struct cell){0, 0, 1, 3}, (float[]){.25f, .5f, logf(4), logf(2), .8f, .75f, .1f});
  /* The picture of 640 x 480 becomes 42 x 32 (640 * 32 / 480 = 42), with a margin of 11 at the left
   * and at the right. */
  double x = (3.25 / 4 - 11. / 64) * 64 / 42 * 640, w = 2. * 4 / 42 * 640;
  double h = 3. * 2 / 32 * 480;
  detect_one(640, 480, 0, .6, x - w / 2, .75 * 480 - h / 2, w, h);
}
END_TEST

/* The caller's placement of the picture decides, whatever the cfg's letterbox is. w, h, left, top:
 * the rectangle in the 64 x 32 input, in pixels, of a picture of 640 x 480. */
START_TEST(test_other_placements)
{
  static const struct {
    enum mafat_fit fit;
    double w, h, left, top;
  } wanted[] = {{MAFAT_FIT_STRETCH, 64, 32, 0, 0},
                {MAFAT_FIT_LETTERBOX, 42, 32, 11, 0},
                {MAFAT_FIT_CORNER, 42, 32, 0, 0},
                {MAFAT_FIT_CROP, 64, 48, 0, -8}};
  for (int letterbox = 0; letterbox < 2; letterbox++)
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
      double x = (3.25 / 4 * 64 - wanted[i].left) / wanted[i].w * 640;
      double y = (1.5 / 2 * 32 - wanted[i].top) / wanted[i].h * 480;
      double w = 2. * 4 / wanted[i].w * 640, h = 3. * 2 / wanted[i].h * 480;
      cells_start(64, 32, letterbox);
      cells_add(MAFAT_YOLO, 2, 4, 2, 2);
      cells_set((struct cell){0, 0, 1, 3}, (float[]){.25f, .5f, logf(4), logf(2), .8f, .75f, .1f});
      struct mafat_detect_input in = cells_input(640, 480);
      in.placement = mafat_placement_make(wanted[i].fit, 640, 480, 64, 32);
      struct mafat_detections *found = cells_detect(&in, 1);
      test_check_box(&found->list[0], &(struct test_box){0, .6, x - w / 2, y - h / 2, w, h}, 1e-3);
      mafat_detections_close(&found);
    }
}
END_TEST

START_TEST(test_yolo_new_coords)
{
  cells_start(64, 32, false);
  cells_add(MAFAT_YOLO, 2, 4, 2, 2)->head.new_coords = true;
  cells_set((struct cell){0, 1, 0, 1}, (float[]){.5f, .5f, .75f, .5f, .8f, .1f, .9f});
  /* Anchor 1 is 4 x 1.5 pixels. It is multiplied by (2 * 0.75)^2 = 2.25 and (2 * 0.5)^2 = 1. */
  double w = 2.25 * 4 / 64 * 640, h = 1.5 / 32 * 480;
  detect_one(640, 480, 1, .72, 1.5 / 4 * 640 - w / 2, .5 / 2 * 480 - h / 2, w, h);
}
END_TEST

START_TEST(test_gaussian_yolo)
{
  cells_start(64, 32, false);
  cells_add(MAFAT_GAUSSIAN_YOLO, 2, 4, 2, 2)->head.point = (enum mafat_point)_i;
  cells_set((struct cell){0, 0, 1, 3},
            (float[]){.25f, .1f, .5f, .2f, logf(4), .3f, logf(2), .4f, .8f, .1f, .75f});
  /* Anchor 0 is 2 x 3 pixels of the 64 x 32 input. The confidence is multiplied by 1 minus the mean
   * of the box's four uncertainties, which are 0.1 to 0.4. */
  double w = 2. * 4 / 64 * 640, h = 3. * 2 / 32 * 480, x = 3.25 / 4 * 640, y = 1.5 / 2 * 480;
  double left = _i == MAFAT_POINT_CENTER ? .5 : _i == MAFAT_POINT_LEFT_TOP ? 0 : 1;
  struct mafat_detect_input in = cells_input(640, 480);
  in.thresh = .44f; /* .8 * .75 * .75 is .45 */
  struct mafat_detections *found = cells_detect(&in, 1);
  test_check_box(&found->list[0], &(struct test_box){1, .45, x - left * w, y - left * h, w, h},
                 1e-3);
  mafat_detections_close(&found);
  in.thresh = .46f;
  found = cells_detect(&in, 0);
  mafat_detections_close(&found);
}
END_TEST

START_TEST(test_detection)
{
  static const struct mafat_shape shapes[] = {{1, 1, 52}, {13, 2, 2}, {2, 2, 13}};
  for (int letterbox = 0; letterbox < 2; letterbox++) {
    struct mafat_shape s = shapes[_i];
    cells_start(64, 64, letterbox);
    struct mafat_layer *l = cells_add_layer(MAFAT_DETECTION, s.h, s.w, s.c);
    l->head =
        (struct mafat_head){.classes = 3, .coords = 4, .n_anchors = 2, .side = 2, .sqrt = true};
    fill_flat();
    /* The box in shares of the picture's sides, letterboxed or not: centre (0.5 / 2, 1.25 / 2),
     * size (0.25, 0.0625). */
    detect_one(800, 160, 1, .72, 200 - 100, 100 - 5, 200, 10);
    l->head.sqrt = false;
    detect_one(800, 160, 1, .72, 200 - 200, 100 - 20, 400, 40);
  }
}
END_TEST

START_TEST(test_sizes_below_zero)
{
  cells_start(64, 64, false);
  struct mafat_layer *l = cells_add_layer(MAFAT_DETECTION, 1, 1, 52);
  l->head = (struct mafat_head){.classes = 3, .coords = 4, .n_anchors = 2, .side = 2};
  fill_flat();
  cells_tensors[0][20 + 5 * 4 + 2] = -.5f;
  detect_one(800, 160, 1, .72, 200, 80, 0, 40);
}
END_TEST

/* Boxes are finite for a picture so flat that its placement has no rows. */
START_TEST(test_vanishing_picture)
{
  cells_start(64, 64, true);
  cells_add(MAFAT_REGION, 4, 4, 2, 3);
  cells_set(middle, (float[]){.5f, .25f, 0, 0, .9f, .1f, .8f, .1f});
  struct mafat_detect_input in = cells_input(1000000, 1);
  struct mafat_detections *found = cells_detect(&in, 1);
  ck_assert(isfinite(found->list[0].y) && isfinite(found->list[0].h));
  mafat_detections_close(&found);
}
END_TEST

/* ---- Thresholds. ---- */

START_TEST(test_thresholds_are_exclusive)
{
  cells_start(64, 64, false);
  cells_add(MAFAT_YOLO, 4, 4, 2, 2);
  cells_set(middle, (float[]){0, 0, 0, 0, .5f, 1, 1});
  struct mafat_detect_input in = cells_input(100, 100);
  struct mafat_detections *found = cells_detect(&in, 0);
  mafat_detections_close(&found);

  /* confidences of the classes: 0.495 and 0.5025 */
  cells_set(middle, (float[]){0, 0, 0, 0, .75f, .66f, .67f});
  found = cells_detect(&in, 1);
  ck_assert_int_eq(found->list[0].class_id, 1);
  mafat_detections_close(&found);

  in.thresh = .49f;
  found = cells_detect(&in, 2);
  ck_assert_int_eq(found->list[0].class_id, 1);
  ck_assert_int_eq(found->list[1].class_id, 0);
  mafat_detections_close(&found);
}
END_TEST

/* All heads but [detection] also compare the objectness alone with the threshold. */
START_TEST(test_threshold_of_objectness)
{
  cells_start(64, 64, false);
  cells_add(MAFAT_REGION, 4, 4, 2, 2);
  cells_set(middle, (float[]){0, 0, 0, 0, .4f, 2, 0});
  struct mafat_detect_input in = cells_input(100, 100);
  struct mafat_detections *found = cells_detect(&in, 0);
  mafat_detections_close(&found);

  cells_start(64, 64, false);
  struct mafat_layer *l = cells_add_layer(MAFAT_DETECTION, 1, 1, 52);
  l->head = (struct mafat_head){.classes = 3, .coords = 4, .n_anchors = 2, .side = 2};
  fill_flat();
  cells_tensors[0][12 + 5] = .4f;
  cells_tensors[0][2 * 3 + 1] = 2;
  in = cells_input(100, 100);
  found = cells_detect(&in, 1);
  ck_assert_double_eq_tol((double)found->list[0].confidence, .8, 1e-6);
  mafat_detections_close(&found);
}
END_TEST

START_TEST(test_layers_not_run)
{
  cells_start(64, 64, false);
  cells_add_layer(MAFAT_CONVOLUTIONAL, 4, 4, 14);
  cells_add(MAFAT_YOLO, 4, 4, 2, 2);
  cells_add_layer(MAFAT_ROUTE, 4, 4, 14);
  cells_add(MAFAT_YOLO, 4, 4, 2, 2);
  cells_set((struct cell){1, 0, 0, 0}, (float[]){0, 0, 0, 0, .9f, .9f, 0});
  cells_set((struct cell){3, 0, 3, 3}, (float[]){0, 0, 0, 0, .9f, 0, .9f});
  static const size_t expected[] = {0, 0, 1, 1, 2};
  for (int n = 0; n <= 4; n++) {
    struct mafat_detect_input in = cells_input(100, 100);
    in.n_layers = n;
    struct mafat_detections *found = cells_detect(&in, expected[n]);
    mafat_detections_close(&found);
    ck_assert_int_eq(mafat_detect_has_head(&cells_network, n), n >= 2);
  }
}
END_TEST

/* ---- NaN and infinite numbers. ---- */

static const float strange[] = {NAN, -NAN, INFINITY, -INFINITY, FLT_MAX, -FLT_MAX, 1e30f, 0};

enum { N_STRANGE = sizeof strange / sizeof *strange };

START_TEST(test_strange_numbers)
{
  static const enum mafat_layer_type types[] = {MAFAT_YOLO, MAFAT_YOLO, MAFAT_REGION};
  for (int i = 0; i < N_STRANGE * N_STRANGE * 7 * 7; i++) {
    cells_start(64, 64, i % 2);
    cells_add(types[_i], 4, 4, 2, 2)->head.new_coords = _i == 1;
    float values[] = {.5f, .5f, 0, 0, .9f, .9f, .8f};
    values[i / N_STRANGE / N_STRANGE % 7] = strange[i % N_STRANGE];
    values[i / N_STRANGE / N_STRANGE / 7] = strange[i / N_STRANGE % N_STRANGE];
    cells_set(middle, values);
    cells_set((struct cell){0, 0, 1, 2}, values);
    struct mafat_detect_input in = cells_input(100, 70);
    struct mafat_detections *found;
    ck_assert_int_eq(mafat_detect(&found, &cells_network, &in, NULL), MAFAT_OK);
    for (size_t k = 0; k < found->n; k++) {
      const struct mafat_detection *d = &found->list[k];
      bool good = isfinite(d->confidence) && d->confidence > in.thresh; /* false for a NaN */
      good = good && fabsf(d->x) <= 1e9f && fabsf(d->y) <= 1e9f;
      good = good && d->w >= 0 && d->w <= 1e9f && d->h >= 0 && d->h <= 1e9f;
      ck_assert_msg(good, "round %d: %g at %g, %g, %g x %g", i, (double)d->confidence, (double)d->x,
                    (double)d->y, (double)d->w, (double)d->h);
    }
    mafat_detections_close(&found);
  }
}
END_TEST

/* ---- Arguments. ---- */

static void must_refuse(const struct mafat_detect_input *in)
{
  struct mafat_detections *found = (struct mafat_detections *)1;
  struct mafat_diagnostic d = {.text = ""};
  ck_assert_int_eq(mafat_detect(&found, &cells_network, in, &d), MAFAT_EINVAL);
  ck_assert_ptr_null(found);
  ck_assert_str_ne(d.text, "");
}

START_TEST(test_arguments)
{
  static const float bad[] = {-.1f, NAN, -INFINITY};
  static const int bad_sizes[] = {0, -1};
  cells_start(64, 64, false);
  cells_add(MAFAT_YOLO, 4, 4, 2, 2);
  struct mafat_detect_input in;
  for (int i = 0; i < 3; i++) {
    in = cells_input(9, 9);
    in.thresh = bad[i];
    must_refuse(&in);
    in = cells_input(9, 9);
    in.nms = bad[i];
    must_refuse(&in);
  }
  for (int i = 0; i < 2; i++) {
    in = cells_input(bad_sizes[i], 9);
    must_refuse(&in);
    in = cells_input(9, bad_sizes[i]);
    must_refuse(&in);
  }
  in = cells_input(9, 9);
  in.n_layers = 2;
  must_refuse(&in);
  in.n_layers = -1;
  must_refuse(&in);
}
END_TEST

START_TEST(test_defaults)
{
  struct mafat_detect_input in;
  mafat_detect_defaults(&in);
  ck_assert(in.thresh == .5f && in.nms == .45f);
  struct mafat_detections *none = NULL;
  mafat_detections_close(&none);
}
END_TEST

Suite *detect_suite(void)
{
  Suite *suite = suite_create("detect");

  TCase *boxes = tcase_create("boxes");
  tcase_add_test(boxes, test_region_stretched);
  tcase_add_test(boxes, test_region_letterboxed);
  tcase_add_test(boxes, test_letterbox_is_in_whole_pixels);
  tcase_add_test(boxes, test_region_background);
  tcase_add_test(boxes, test_yolo);
  tcase_add_test(boxes, test_yolo_letterboxed);
  tcase_add_test(boxes, test_other_placements);
  tcase_add_test(boxes, test_yolo_new_coords);
  tcase_add_loop_test(boxes, test_gaussian_yolo, 0, 3);
  tcase_add_loop_test(boxes, test_detection, 0, 3);
  tcase_add_test(boxes, test_sizes_below_zero);
  tcase_add_test(boxes, test_vanishing_picture);
  suite_add_tcase(suite, boxes);

  TCase *thresholds = tcase_create("thresholds");
  tcase_add_test(thresholds, test_thresholds_are_exclusive);
  tcase_add_test(thresholds, test_threshold_of_objectness);
  tcase_add_test(thresholds, test_layers_not_run);
  suite_add_tcase(suite, thresholds);

  TCase *numbers = tcase_create("numbers");
  tcase_set_timeout(numbers, 60);
  tcase_add_loop_test(numbers, test_strange_numbers, 0, 3);
  suite_add_tcase(suite, numbers);

  TCase *arguments = tcase_create("arguments");
  tcase_add_test(arguments, test_arguments);
  tcase_add_test(arguments, test_defaults);
  suite_add_tcase(suite, arguments);
  return suite;
}
