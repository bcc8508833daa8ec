#include <check.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/boxes_room.h"
#include "runner/detect.h"

#include "tests/support/support.h"

Suite *detect_suite(void);

/* ---- A network of heads only, and their tensors. ---- */

enum { MAX_LAYERS = 4, MAX_FLOATS = 1024 };

static struct mafat_layer layers[MAX_LAYERS + 1];
static struct mafat_network network;
static float tensors[MAX_LAYERS][MAX_FLOATS]; /* (c, h, w) each */
static struct mafat_diagnostic diagnostic;
static float anchors[] = {2, 3, 4, 1.5f}; /* of every head; (2, 2) */
static const int context = 7;             /* its address must reach the callback */

static float *element(int layer, int c, int y, int x)
{
  struct mafat_shape out = layers[layer].out;
  /* ck_assert reports every success, too: too slow for every element. */
  if (layer < 0 || layer >= network.n_layers || c < 0 || c >= out.c || y < 0 || y >= out.h ||
      x < 0 || x >= out.w)
    ck_abort_msg("layer %d has no element (%d, %d, %d)", layer, c, y, x);
  return &tensors[layer][(c * out.h + y) * out.w + x];
}

static float read_element(const void *given, int layer, int c, int y, int x)
{
  if (given != &context) ck_abort_msg("the context is not the caller's");
  return *element(layer, c, y, x);
}

static void start_network(int w, int h, bool letterbox)
{
  memset(layers, 0, sizeof layers);
  memset(tensors, 0, sizeof tensors);
  network = (struct mafat_network){.letterbox = letterbox, .layers = layers, .n_layers = 0, .n_inputs = 1};
  layers[0] = (struct mafat_layer){.type = MAFAT_INPUT_LAYER, .out = {h, w, 3}};
}

static struct mafat_layer *add_layer(enum mafat_layer_type type, int h, int w, int c)
{
  ck_assert_int_lt(network.n_layers, MAX_LAYERS);
  ck_assert_int_le(h * w * c, MAX_FLOATS);
  struct mafat_layer *l = &layers[network.n_layers++];
  l[1] = l[0]; /* the input stays behind all layers */
  *l = (struct mafat_layer){.type = type, .in = {h, w, c}, .out = {h, w, c}};
  return l;
}

/* [region] or [yolo], Gaussian or not, of h x w cells. */
static struct mafat_layer *add_cells(enum mafat_layer_type type, int h, int w, int n_anchors,
                                     int classes)
{
  int coords = type == MAFAT_GAUSSIAN_YOLO ? 8 : 4;
  struct mafat_layer *l = add_layer(type, h, w, n_anchors * (coords + 1 + classes));
  l->head = (struct mafat_head){.classes = classes, .coords = coords, .n_anchors = n_anchors,
                                .anchors = anchors, .scale_xy = 1, .softmax = true};
  return l;
}

struct cell {
  int layer, anchor, y, x;
};

/* Of one anchor of one cell: x, y, w, h (Gaussian: each with its sigma), objectness, class probabilities. */
static void set_cell(struct cell at, const float *values)
{
  int n = layers[at.layer].head.coords + 1 + layers[at.layer].head.classes;
  for (int i = 0; i < n; i++) *element(at.layer, at.anchor * n + i, at.y, at.x) = values[i];
}

/* Room for all that there can be. */
static struct mafat_detect_input input_of(int picture_w, int picture_h)
{
  static char room[8 << 20];
  struct mafat_detect_input in;
  mafat_detect_defaults(&in);
  in.room = room;
  in.most_boxes = mafat_boxes_most(&network, network.n_layers, 1000000);
  ck_assert_uint_le(mafat_boxes_room_bytes(in.most_boxes), sizeof room);
  in.at = read_element;
  in.context = &context;
  in.placement = mafat_placement_make(network.letterbox ? MAFAT_FIT_LETTERBOX : MAFAT_FIT_STRETCH, picture_w, picture_h,
                                      mafat_network_picture_shape(&network).w, mafat_network_picture_shape(&network).h);
  in.n_layers = network.n_layers;
  return in;
}

static struct mafat_detections *must_detect(const struct mafat_detect_input *in, size_t n)
{
  struct mafat_detections *found = NULL;
  int code = mafat_detect(&found, &network, in, &diagnostic);
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  ck_assert_uint_eq(found->n, n);
  return found;
}

static void check_detection(const struct mafat_detection *d, int class, double confidence, double x,
                            double y, double w, double h)
{
  ck_assert_int_eq(d->class_id, class);
  ck_assert_double_eq_tol((double)d->confidence, confidence, 1e-6);
  ck_assert_double_eq_tol((double)d->x, x, 1e-3);
  ck_assert_double_eq_tol((double)d->y, y, 1e-3);
  ck_assert_double_eq_tol((double)d->w, w, 1e-3);
  ck_assert_double_eq_tol((double)d->h, h, 1e-3);
}

static void detect_one(int picture_w, int picture_h, int class, double confidence, double x,
                       double y, double w, double h)
{
  struct mafat_detect_input in = input_of(picture_w, picture_h);
  struct mafat_detections *found = must_detect(&in, 1);
  check_detection(&found->list[0], class, confidence, x, y, w, h);
  mafat_detections_close(&found);
  ck_assert_ptr_null(found);
}

/* ---- Boxes, computed by hand. ---- */

/* Cell (1, 2) of 4 x 4 in a 64 x 64 input, anchor 1 (4 x 1.5). */
static const struct cell middle = {0, 1, 1, 2};

START_TEST(test_region_stretched)
{
  start_network(64, 64, false);
  add_cells(MAFAT_REGION, 4, 4, 2, 3);
  set_cell(middle, (float[]){.5f, .25f, logf(.5f), 0, .9f, .1f, .8f, .1f});
  /* Centre (2.5 / 4, 1.25 / 4), size (4 / 2 / 4, 1.5 / 4), of 200 x 100. */
  detect_one(200, 100, 1, .72, 125 - 50, 31.25 - 18.75, 100, 37.5);
}
END_TEST

START_TEST(test_region_letterboxed)
{
  start_network(64, 64, true);
  add_cells(MAFAT_REGION, 4, 4, 2, 3);
  set_cell(middle, (float[]){.5f, .25f, logf(.5f), 0, .9f, .1f, .8f, .1f});
  /* 200 x 100 became 64 x 32 between rows 16 and 48: a quarter of the height is
   * taken off the top, and heights double. */
  double y = (.3125 - .25) * 2 * 100, h = .375 * 2 * 100;
  detect_one(200, 100, 1, .72, 75, y - h / 2, 100, h);
}
END_TEST

START_TEST(test_letterbox_is_in_whole_pixels)
{
  start_network(64, 64, true);
  add_cells(MAFAT_REGION, 4, 4, 2, 3);
  set_cell(middle, (float[]){.5f, .25f, logf(.5f), 0, .9f, .1f, .8f, .1f});
  /* 100 x 300: 64 * 100 / 300 is 21 pixels wide, 21.5 from the left. */
  double x = (.625 - 21.5 / 64) * 64 / 21 * 100, w = .5 * 64 / 21 * 100;
  detect_one(100, 300, 1, .72, x - w / 2, .3125 * 300 - .1875 * 300, w, .375 * 300);
}
END_TEST

START_TEST(test_region_background)
{
  start_network(64, 64, false);
  add_cells(MAFAT_REGION, 4, 4, 2, 3)->head.background = true;
  /* With a background class the fifth number is no objectness. */
  set_cell(middle, (float[]){.5f, .25f, logf(.5f), 0, -3, .1f, .1f, .8f});
  detect_one(200, 100, 2, .8, 75, 12.5, 100, 37.5);
}
END_TEST

START_TEST(test_yolo)
{
  start_network(64, 32, false);
  add_cells(MAFAT_YOLO, 2, 4, 2, 2);
  set_cell((struct cell){0, 0, 1, 3}, (float[]){.25f, .5f, logf(4), logf(2), .8f, .75f, .1f});
  /* Anchor 0 is 2 x 3 pixels of the 64 x 32 input. */
  double w = 2. * 4 / 64 * 640, h = 3. * 2 / 32 * 480;
  detect_one(640, 480, 0, .6, 3.25 / 4 * 640 - w / 2, 1.5 / 2 * 480 - h / 2, w, h);
}
END_TEST

START_TEST(test_yolo_letterboxed)
{
  start_network(64, 32, true);
  add_cells(MAFAT_YOLO, 2, 4, 2, 2);
  set_cell((struct cell){0, 0, 1, 3}, (float[]){.25f, .5f, logf(4), logf(2), .8f, .75f, .1f});
  /* 640 x 480 in 64 x 32: 640 * 32 / 480 = 42 wide, 11 to the left and right. */
  double x = (3.25 / 4 - 11. / 64) * 64 / 42 * 640, w = 2. * 4 / 42 * 640;
  double h = 3. * 2 / 32 * 480;
  detect_one(640, 480, 0, .6, x - w / 2, .75 * 480 - h / 2, w, h);
}
END_TEST

/* 640 x 480 in 64 x 32, whatever the cfg has: at the left and top 42 wide; cropped 48 high, 8 rows of it above the input. */
START_TEST(test_other_placements)
{
  static const struct {
    enum mafat_fit fit;
    double w, h, left, top;
  } wanted[] = {{MAFAT_FIT_STRETCH, 64, 32, 0, 0}, {MAFAT_FIT_LETTERBOX, 42, 32, 11, 0}, {MAFAT_FIT_CORNER, 42, 32, 0, 0}, {MAFAT_FIT_CROP, 64, 48, 0, -8}};
  for (int letterbox = 0; letterbox < 2; letterbox++)
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
      double x = (3.25 / 4 * 64 - wanted[i].left) / wanted[i].w * 640, y = (1.5 / 2 * 32 - wanted[i].top) / wanted[i].h * 480;
      double w = 2. * 4 / wanted[i].w * 640, h = 3. * 2 / wanted[i].h * 480;
      start_network(64, 32, letterbox);
      add_cells(MAFAT_YOLO, 2, 4, 2, 2);
      set_cell((struct cell){0, 0, 1, 3}, (float[]){.25f, .5f, logf(4), logf(2), .8f, .75f, .1f});
      struct mafat_detect_input in = input_of(640, 480);
      in.placement = mafat_placement_make(wanted[i].fit, 640, 480, 64, 32);
      struct mafat_detections *found = must_detect(&in, 1);
      check_detection(&found->list[0], 0, .6, x - w / 2, y - h / 2, w, h);
      mafat_detections_close(&found);
    }
}
END_TEST

START_TEST(test_yolo_new_coords)
{
  start_network(64, 32, false);
  add_cells(MAFAT_YOLO, 2, 4, 2, 2)->head.new_coords = true;
  set_cell((struct cell){0, 1, 0, 1}, (float[]){.5f, .5f, .75f, .5f, .8f, .1f, .9f});
  /* Anchor 1 is 4 x 1.5; (2 * 0.75)^2 = 2.25, (2 * 0.5)^2 = 1. */
  double w = 2.25 * 4 / 64 * 640, h = 1.5 / 32 * 480;
  detect_one(640, 480, 1, .72, 1.5 / 4 * 640 - w / 2, .5 / 2 * 480 - h / 2, w, h);
}
END_TEST

START_TEST(test_gaussian_yolo)
{
  start_network(64, 32, false);
  add_cells(MAFAT_GAUSSIAN_YOLO, 2, 4, 2, 2)->head.point = (enum mafat_point)_i;
  set_cell((struct cell){0, 0, 1, 3}, (float[]){.25f, .1f, .5f, .2f, logf(4), .3f, logf(2), .4f, .8f, .1f, .75f});
  /* Anchor 0 is 2 x 3 pixels of the 64 x 32 input; a box less sure by the mean of its sigmas, a quarter. */
  double w = 2. * 4 / 64 * 640, h = 3. * 2 / 32 * 480, x = 3.25 / 4 * 640, y = 1.5 / 2 * 480;
  double left = _i == MAFAT_POINT_CENTER ? .5 : _i == MAFAT_POINT_LEFT_TOP ? 0 : 1;
  struct mafat_detect_input in = input_of(640, 480);
  in.thresh = .44f; /* .8 * .75 * .75 is .45 */
  struct mafat_detections *found = must_detect(&in, 1);
  check_detection(&found->list[0], 1, .45, x - left * w, y - left * h, w, h);
  mafat_detections_close(&found);
  in.thresh = .46f;
  found = must_detect(&in, 0);
  mafat_detections_close(&found);
}
END_TEST

/* 2 x 2 cells, 2 boxes, 3 classes: 12 probabilities, 8 confidences, 32 numbers
 * of boxes. Cell (1, 0), box 1. */
static void fill_flat(void)
{
  int cell = 2, box = 1, number = cell * 2 + box;
  memcpy(&tensors[0][cell * 3], (float[]){0, .9f, .1f}, 3 * sizeof(float));
  tensors[0][12 + number] = .8f;
  memcpy(&tensors[0][20 + number * 4], (float[]){.5f, .25f, .5f, .25f}, 4 * sizeof(float));
}

START_TEST(test_detection)
{
  static const struct mafat_shape shapes[] = {{1, 1, 52}, {13, 2, 2}, {2, 2, 13}};
  for (int letterbox = 0; letterbox < 2; letterbox++) {
    struct mafat_shape s = shapes[_i];
    start_network(64, 64, letterbox);
    struct mafat_layer *l = add_layer(MAFAT_DETECTION, s.h, s.w, s.c);
    l->head = (struct mafat_head){.classes = 3, .coords = 4, .n_anchors = 2, .side = 2, .sqrt = true};
    fill_flat();
    /* Centre (0.5 / 2, 1.25 / 2), size (0.25, 0.0625), letterbox or not. */
    detect_one(800, 160, 1, .72, 200 - 100, 100 - 5, 200, 10);
    l->head.sqrt = false;
    detect_one(800, 160, 1, .72, 200 - 200, 100 - 20, 400, 40);
  }
}
END_TEST

START_TEST(test_sizes_below_zero)
{
  start_network(64, 64, false);
  struct mafat_layer *l = add_layer(MAFAT_DETECTION, 1, 1, 52);
  l->head = (struct mafat_head){.classes = 3, .coords = 4, .n_anchors = 2, .side = 2};
  fill_flat();
  tensors[0][20 + 5 * 4 + 2] = -.5f;
  detect_one(800, 160, 1, .72, 200, 80, 0, 40);
}
END_TEST

/* A picture so flat that no pixel of it reaches the input. */
START_TEST(test_vanishing_picture)
{
  start_network(64, 64, true);
  add_cells(MAFAT_REGION, 4, 4, 2, 3);
  set_cell(middle, (float[]){.5f, .25f, 0, 0, .9f, .1f, .8f, .1f});
  struct mafat_detect_input in = input_of(1000000, 1);
  struct mafat_detections *found = must_detect(&in, 1);
  ck_assert(isfinite(found->list[0].y) && isfinite(found->list[0].h));
  mafat_detections_close(&found);
}
END_TEST

/* ---- Thresholds. ---- */

START_TEST(test_thresholds_are_exclusive)
{
  start_network(64, 64, false);
  add_cells(MAFAT_YOLO, 4, 4, 2, 2);
  set_cell(middle, (float[]){0, 0, 0, 0, .5f, 1, 1});
  struct mafat_detect_input in = input_of(100, 100);
  struct mafat_detections *found = must_detect(&in, 0);
  mafat_detections_close(&found);

  set_cell(middle, (float[]){0, 0, 0, 0, .75f, .66f, .67f}); /* 0.495, 0.5025 */
  found = must_detect(&in, 1);
  ck_assert_int_eq(found->list[0].class_id, 1);
  mafat_detections_close(&found);

  in.thresh = .49f;
  found = must_detect(&in, 2);
  ck_assert_int_eq(found->list[0].class_id, 1);
  ck_assert_int_eq(found->list[1].class_id, 0);
  mafat_detections_close(&found);
}
END_TEST

/* [detection] has no threshold for the objectness alone; the others have. */
START_TEST(test_threshold_of_objectness)
{
  start_network(64, 64, false);
  add_cells(MAFAT_REGION, 4, 4, 2, 2);
  set_cell(middle, (float[]){0, 0, 0, 0, .4f, 2, 0});
  struct mafat_detect_input in = input_of(100, 100);
  struct mafat_detections *found = must_detect(&in, 0);
  mafat_detections_close(&found);

  start_network(64, 64, false);
  struct mafat_layer *l = add_layer(MAFAT_DETECTION, 1, 1, 52);
  l->head = (struct mafat_head){.classes = 3, .coords = 4, .n_anchors = 2, .side = 2};
  fill_flat();
  tensors[0][12 + 5] = .4f;
  tensors[0][2 * 3 + 1] = 2;
  in = input_of(100, 100);
  found = must_detect(&in, 1);
  ck_assert_double_eq_tol((double)found->list[0].confidence, .8, 1e-6);
  mafat_detections_close(&found);
}
END_TEST

START_TEST(test_layers_not_run)
{
  start_network(64, 64, false);
  add_layer(MAFAT_CONVOLUTIONAL, 4, 4, 14);
  add_cells(MAFAT_YOLO, 4, 4, 2, 2);
  add_layer(MAFAT_ROUTE, 4, 4, 14);
  add_cells(MAFAT_YOLO, 4, 4, 2, 2);
  set_cell((struct cell){1, 0, 0, 0}, (float[]){0, 0, 0, 0, .9f, .9f, 0});
  set_cell((struct cell){3, 0, 3, 3}, (float[]){0, 0, 0, 0, .9f, 0, .9f});
  static const size_t expected[] = {0, 0, 1, 1, 2};
  for (int n = 0; n <= 4; n++) {
    struct mafat_detect_input in = input_of(100, 100);
    in.n_layers = n;
    struct mafat_detections *found = must_detect(&in, expected[n]);
    mafat_detections_close(&found);
    ck_assert_int_eq(mafat_detect_has_head(&network, n), n >= 2);
  }
}
END_TEST

/* ---- Numbers that are none. ---- */

static const float strange[] = {NAN, -NAN, INFINITY, -INFINITY, FLT_MAX, -FLT_MAX, 1e30f, 0};

enum { N_STRANGE = sizeof strange / sizeof *strange };

START_TEST(test_strange_numbers)
{
  static const enum mafat_layer_type types[] = {MAFAT_YOLO, MAFAT_YOLO, MAFAT_REGION};
  for (int i = 0; i < N_STRANGE * N_STRANGE * 7 * 7; i++) {
    start_network(64, 64, i % 2);
    add_cells(types[_i], 4, 4, 2, 2)->head.new_coords = _i == 1;
    float values[] = {.5f, .5f, 0, 0, .9f, .9f, .8f};
    values[i / N_STRANGE / N_STRANGE % 7] = strange[i % N_STRANGE];
    values[i / N_STRANGE / N_STRANGE / 7] = strange[i / N_STRANGE % N_STRANGE];
    set_cell(middle, values);
    set_cell((struct cell){0, 0, 1, 2}, values);
    struct mafat_detect_input in = input_of(100, 70);
    struct mafat_detections *found;
    ck_assert_int_eq(mafat_detect(&found, &network, &in, NULL), MAFAT_OK);
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

/* ---- Suppression, against the definition. ---- */

static uint32_t random_state;

static float random_share(void)
{
  random_state = random_state * 1664525u + 1013904223u;
  return (float)(random_state >> 8) / 16777216.f;
}

/* Few distinct values when coarse, so that there are ties everywhere. */
static void fill_randomly(int layer, bool coarse)
{
  struct mafat_shape out = layers[layer].out;
  int per_anchor = 5 + layers[layer].head.classes;
  for (int c = 0; c < out.c; c++)
    for (int y = 0; y < out.h; y++)
      for (int x = 0; x < out.w; x++) {
        float value = random_share();
        if (coarse) value = ceilf(value * 4) / 4;
        if (c % per_anchor == 2 || c % per_anchor == 3) value = value * 4 - 1;
        *element(layer, c, y, x) = value;
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

/* Of the centres, in shares of a picture, beside the diagonal around both: squares, to a power. */
static double naive_distance(const struct mafat_detection *a, const struct mafat_detection *b, double w, double h, double power)
{
  double x = ((double)a->x + (double)a->w / 2 - (double)b->x - (double)b->w / 2) / w;
  double y = ((double)a->y + (double)a->h / 2 - (double)b->y - (double)b->h / 2) / h;
  double right = fmax((double)a->x + (double)a->w, (double)b->x + (double)b->w) - fmin((double)a->x, (double)b->x);
  double bottom = fmax((double)a->y + (double)a->h, (double)b->y + (double)b->h) - fmin((double)a->y, (double)b->y);
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

/* Removes from a list without suppression whatever a better one of its class
 * covers, in the list's order: the definition. power 0: distances do not count. */
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
  start_network(16, 16, true);
  add_cells(MAFAT_YOLO, 4, 4, 2, 3)->head.nms = MAFAT_NMS_IOU;
  struct mafat_head *last = &add_cells(MAFAT_YOLO, 8, 8, 2, 3)->head;
  last->nms = kind;
  last->beta_nms = beta;
  fill_randomly(0, round % 2);
  fill_randomly(1, round % 2);
  struct mafat_detect_input in = input_of(PICTURE_W, PICTURE_H);
  in.thresh = round % 3 ? .2f : 0;
  in.nms = 0;
  struct mafat_detections *all, *found;
  ck_assert_int_eq(mafat_detect(&all, &network, &in, NULL), MAFAT_OK);
  ck_assert_uint_gt(all->n, 50);
  check_order(all);
  /* No overlap of the coarse boxes is near this one: floats decide as doubles. */
  in.nms = .4321f;
  ck_assert_int_eq(mafat_detect(&found, &network, &in, NULL), MAFAT_OK);
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

/* Greedy has a power of its own, whatever beta_nms. */
START_TEST(test_suppression_by_distance_too)
{
  check_suppression(_i, MAFAT_NMS_GREEDY, .1f, .6);
  check_suppression(_i, MAFAT_NMS_DIOU, .25f, .25);
  check_suppression(_i, MAFAT_NMS_DIOU, 1.5f, 1.5);
}
END_TEST

START_TEST(test_ties)
{
  start_network(64, 64, false);
  add_cells(MAFAT_YOLO, 4, 4, 2, 2);
  add_cells(MAFAT_YOLO, 4, 4, 2, 2);
  /* In the order of positions: head, row, column, anchor. */
  static const struct cell cells[] = {{0, 0, 0, 3}, {0, 1, 0, 3}, {0, 0, 2, 1}, {1, 0, 0, 0}};
  float values[] = {.5f, .5f, 0, 0, .75f, .75f, .75f};
  for (int i = 3; i >= 0; i--) set_cell(cells[i], values);
  struct mafat_detect_input in = input_of(64, 64);
  in.nms = 0;
  struct mafat_detections *found = must_detect(&in, 8);
  for (int i = 0; i < 8; i++) {
    const struct mafat_detection *d = &found->list[i];
    const struct cell *at = &cells[i % 4];
    ck_assert_int_eq(d->class_id, i / 4);
    ck_assert_double_eq_tol((double)(d->x + d->w / 2), (at->x + .5) * 16, 1e-4);
    ck_assert_double_eq_tol((double)(d->y + d->h / 2), (at->y + .5) * 16, 1e-4);
    ck_assert_double_eq_tol((double)d->w, (double)anchors[2 * at->anchor], 1e-5);
  }
  mafat_detections_close(&found);

  /* Anchors 0 and 1 of a cell overlap by 3 / 9: the earlier one wins. */
  in.nms = .3f;
  found = must_detect(&in, 6);
  ck_assert_double_eq_tol((double)found->list[0].w, 2, 1e-5);
  mafat_detections_close(&found);
}
END_TEST

START_TEST(test_classes_do_not_suppress_each_other)
{
  start_network(64, 64, false);
  add_cells(MAFAT_YOLO, 4, 4, 2, 2);
  set_cell((struct cell){0, 0, 1, 1}, (float[]){.5f, .5f, 2, 2, 1, .9f, .6f});
  set_cell((struct cell){0, 0, 1, 2}, (float[]){-.5f, .5f, 2, 2, 1, .8f, .7f}); /* the same box */
  struct mafat_detect_input in = input_of(64, 64);
  struct mafat_detections *found = must_detect(&in, 2);
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

/* A hundred thousand, all alike; and where there is no room for them, the first of them. */
START_TEST(test_more_boxes_than_room)
{
  enum { SIDE = 8, CLASSES = 1000, ALL = SIDE * SIDE * 2 * CLASSES };
  static const size_t most[] = {ALL - 1, 1000, 1, 0};
  start_network(64, 64, false);
  struct mafat_layer *l = add_layer(MAFAT_DETECTION, 1, 1, SIDE);
  l->out = (struct mafat_shape){1, 1, SIDE * SIDE * (CLASSES + 2 * 5)};
  l->head = (struct mafat_head){.classes = CLASSES, .coords = 4, .n_anchors = 2, .side = SIDE};
  float *floats = malloc((size_t)l->out.c * sizeof *floats);
  ck_assert_ptr_nonnull(floats);
  for (int i = 0; i < l->out.c; i++) floats[i] = .125f;
  struct mafat_detect_input in = input_of(64, 64);
  ck_assert_uint_eq(in.most_boxes, ALL);
  in.thresh = 0;
  in.nms = 0;
  in.at = read_list;
  in.context = floats;
  struct mafat_detections *all = must_detect(&in, ALL);
  ck_assert_uint_eq(mafat_detections_left_out(all), 0);
  for (int i = 0; i < 4; i++) {
    in.most_boxes = most[i];
    struct mafat_detections *some = must_detect(&in, most[i]);
    ck_assert_uint_eq(mafat_detections_left_out(some), ALL - most[i]);
    if (most[i]) ck_assert_mem_eq(some->list, all->list, most[i] * sizeof *all->list);
    mafat_detections_close(&some);
  }
  mafat_detections_close(&all);
  ck_assert_uint_eq(mafat_detections_left_out(NULL), 0);
  free(floats);
}
END_TEST

/* What is left out changes nothing but the list's end, suppressed or not. */
START_TEST(test_less_room_is_a_shorter_list)
{
  random_state = (uint32_t)_i * 104729 + 1;
  start_network(16, 16, true);
  add_cells(MAFAT_YOLO, 4, 4, 2, 3);
  add_cells(MAFAT_YOLO, 8, 8, 2, 3)->head.nms = (enum mafat_nms)(_i % 3);
  fill_randomly(0, _i % 2);
  fill_randomly(1, _i % 2);
  struct mafat_detect_input in = input_of(PICTURE_W, PICTURE_H);
  struct mafat_detections *all, *some;
  in.thresh = 0;
  in.nms = _i % 5 ? .3f : 0;
  ck_assert_int_eq(mafat_detect(&all, &network, &in, NULL), MAFAT_OK);
  for (in.most_boxes = 0; in.most_boxes < 300; in.most_boxes += 37) {
    ck_assert_int_eq(mafat_detect(&some, &network, &in, NULL), MAFAT_OK);
    ck_assert_uint_le(some->n, all->n);
    if (some->n) ck_assert_mem_eq(some->list, all->list, some->n * sizeof *some->list);
    if (in.most_boxes) ck_assert_uint_gt(some->n, 0);
    mafat_detections_close(&some);
  }
  mafat_detections_close(&all);
}
END_TEST

/* ---- Arguments. ---- */

static void must_refuse(const struct mafat_detect_input *in)
{
  struct mafat_detections *found = (struct mafat_detections *)1;
  diagnostic.text[0] = 0;
  ck_assert_int_eq(mafat_detect(&found, &network, in, &diagnostic), MAFAT_EINVAL);
  ck_assert_ptr_null(found);
  ck_assert_str_ne(diagnostic.text, "");
}

START_TEST(test_arguments)
{
  static const float bad[] = {-.1f, NAN, -INFINITY};
  static const int bad_sizes[] = {0, -1};
  start_network(64, 64, false);
  add_cells(MAFAT_YOLO, 4, 4, 2, 2);
  struct mafat_detect_input in;
  for (int i = 0; i < 3; i++) {
    in = input_of(9, 9);
    in.thresh = bad[i];
    must_refuse(&in);
    in = input_of(9, 9);
    in.nms = bad[i];
    must_refuse(&in);
  }
  for (int i = 0; i < 2; i++) {
    in = input_of(bad_sizes[i], 9);
    must_refuse(&in);
    in = input_of(9, bad_sizes[i]);
    must_refuse(&in);
  }
  in = input_of(9, 9);
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

/* ---- Classification. ---- */

static void make_classifier(int h, int w, int c)
{
  start_network(64, 64, true);
  add_layer(MAFAT_AVGPOOL, h, w, c);
  add_layer(MAFAT_SOFTMAX, h, w, c);
  add_layer(MAFAT_COST, h, w, c);
}

START_TEST(test_classifier_is_recognised)
{
  make_classifier(1, 1, 8);
  ck_assert_int_eq(mafat_classify_layer(&network, 3), 1);
  ck_assert_int_eq(mafat_classify_layer(&network, 2), 1);
  ck_assert_int_eq(mafat_classify_layer(&network, 1), -1);
  ck_assert_int_eq(mafat_classify_layer(&network, 0), -1);
  add_layer(MAFAT_CONVOLUTIONAL, 1, 1, 8);
  ck_assert_int_eq(mafat_classify_layer(&network, 4), -1);
  start_network(64, 64, true);
  add_layer(MAFAT_COST, 1, 1, 8); /* nothing but names */
  ck_assert_int_eq(mafat_classify_layer(&network, 1), -1);
}
END_TEST

/* A route may name any layer: the [softmax] above it may be dead, without a tensor. */
START_TEST(test_a_softmax_that_nobody_reads_classifies_nothing)
{
  struct mafat_network *n = test_network("[net]\nwidth=4\nheight=4\nchannels=3\n"
                                         "[convolutional]\nfilters=4\nsize=1\nactivation=linear\n"
                                         "[softmax]\n"
                                         "[route]\nlayers=0\n");
  ck_assert_int_eq(mafat_classify_layer(n, 3), -1);
  ck_assert_int_eq(mafat_classify_layer(n, 2), 1);
  mafat_network_close(&n);
}
END_TEST

START_TEST(test_classify)
{
  static const struct mafat_shape shapes[] = {{1, 1, 8}, {2, 2, 2}};
  static const float values[] = {.1f, .3f, NAN, .2f, .3f, .05f, INFINITY, .05f};
  static const int expected[] = {1, 4, 3, 0, 5, 7};
  struct mafat_class_score top[8];
  for (int s = 0; s < 2; s++) {
    make_classifier(shapes[s].h, shapes[s].w, shapes[s].c);
    memcpy(tensors[1], values, sizeof values);
    for (int k = 1; k <= 8; k++) {
      struct mafat_detect_input in = input_of(0, 0);
      int n = -1, most = k < 6 ? k : 6;
      ck_assert_int_eq(mafat_classify(top, k, &n, &network, &in, &diagnostic), MAFAT_OK);
      ck_assert_int_eq(n, most);
      for (int i = 0; i < n; i++) {
        ck_assert_int_eq(top[i].class_id, expected[i]);
        ck_assert(top[i].confidence == values[expected[i]]);
      }
    }
  }
}
END_TEST

START_TEST(test_classify_refuses)
{
  struct mafat_class_score top[1];
  int n = 1;
  start_network(64, 64, true);
  add_cells(MAFAT_YOLO, 4, 4, 2, 2);
  struct mafat_detect_input in = input_of(9, 9);
  ck_assert_int_eq(mafat_classify(top, 1, &n, &network, &in, NULL), MAFAT_EINVAL);
  ck_assert_int_eq(n, 0);
  make_classifier(1, 1, 8);
  in.n_layers = 3;
  ck_assert_int_eq(mafat_classify(top, 0, &n, &network, &in, NULL), MAFAT_EINVAL);
  in.n_layers = 4;
  ck_assert_int_eq(mafat_classify(top, 1, &n, &network, &in, NULL), MAFAT_EINVAL);
  in.n_layers = 3;
  layers[1].out = (struct mafat_shape){1 << 12, 1 << 12, 1 << 12};
  ck_assert_int_eq(mafat_classify(top, 1, &n, &network, &in, NULL), MAFAT_ELIMIT);
}
END_TEST

Suite *detect_suite(void)
{
  Suite *s = suite_create("detect");

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
  suite_add_tcase(s, boxes);

  TCase *choice = tcase_create("choice");
  tcase_set_timeout(choice, 60);
  tcase_add_test(choice, test_thresholds_are_exclusive);
  tcase_add_test(choice, test_threshold_of_objectness);
  tcase_add_test(choice, test_layers_not_run);
  tcase_add_loop_test(choice, test_strange_numbers, 0, 3);
  tcase_add_loop_test(choice, test_suppression, 0, test_seeds(40));
  tcase_add_loop_test(choice, test_suppression_by_distance_too, 0, test_seeds(40));
  tcase_add_test(choice, test_ties);
  tcase_add_test(choice, test_classes_do_not_suppress_each_other);
  tcase_add_test(choice, test_more_boxes_than_room);
  tcase_add_loop_test(choice, test_less_room_is_a_shorter_list, 0, test_seeds(30));
  tcase_add_test(choice, test_arguments);
  tcase_add_test(choice, test_defaults);
  suite_add_tcase(s, choice);

  TCase *classes = tcase_create("classes");
  tcase_add_test(classes, test_classifier_is_recognised);
  tcase_add_test(classes, test_classify);
  tcase_add_test(classes, test_a_softmax_that_nobody_reads_classifies_nothing);
  tcase_add_test(classes, test_classify_refuses);
  suite_add_tcase(s, classes);
  return s;
}
