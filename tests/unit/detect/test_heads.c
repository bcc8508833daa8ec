/* Covers runner/detect/heads/{classes, fastestdet, head, heads, nanodet, ssd, ultraface, yolov5,
 * yolov8, yolox, yunet}.c: heads, which decode a network's outputs. Tests which head is chosen for
 * outputs of which dimensions, and the boxes or classes that each head computes. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/plan/boxes_room.h"
#include "runner/detect/heads/head.h"
#include "runner/detect/heads/heads.h"
#include "tests/unit/detect/detections.h"

Suite *heads_suite(void);

/* ---- A network with one input and outputs of given dimensions, filled with 0 at first ---- */

enum { MAX_OUTPUTS = 13, MAX_FLOATS = 8192 };

static struct mafat_layer layers[2];
static struct mafat_port inputs[1], outputs[MAX_OUTPUTS];
static struct mafat_network network;
static float numbers[MAX_OUTPUTS][MAX_FLOATS];
static struct mafat_diagnostic diagnostic;
static const int context = 7; /* its address must reach the callback */

static void read_numbers(const void *given, int output, long long first, int n, float *to)
{
  if (given != &context) ck_abort_msg("the context is not the caller's");
  long long all = mafat_view_elements(&outputs[output].view);
  if (output >= network.n_outputs || n < 1 || first < 0 || first + n > all)
    ck_abort_msg("output %d has no numbers [%lld, %lld)", output, first, first + n);
  memcpy(to, numbers[output] + first, (size_t)n * sizeof *to);
}

static void start(int w, int h)
{
  memset(numbers, 0, sizeof numbers);
  layers[0] = layers[1] = (struct mafat_layer){.type = MAFAT_INPUT_LAYER, .out = {h, w, 3}};
  network = (struct mafat_network){.path = (char *)"net.onnx",
                                   .layers = layers,
                                   .n_layers = 1,
                                   .n_inputs = 1,
                                   .inputs = inputs,
                                   .outputs = outputs};
}

/* Adds an output to the network and returns its numbers. */
static float *add(int rank, const long long *dims)
{
  struct mafat_port *p = &outputs[network.n_outputs];
  *p = (struct mafat_port){.name = (char *)"out"};
  mafat_view_linear(&p->view, rank, dims, MAFAT_AXIS_NUMBERS);
  return numbers[network.n_outputs++];
}

#define DIMS(...) \
  (int)(sizeof(long long[]){__VA_ARGS__} / sizeof(long long)), (const long long[]) \
  { \
    __VA_ARGS__ \
  }

static void must_choose(const char *name, const char *taken)
{
  int code = mafat_heads_choose(&network, network.n_layers, name, &diagnostic);
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  const char *head = mafat_head_name(&network);
  ck_assert_str_eq(head ? head : "none", taken ? taken : "none");
}

static struct mafat_detect_input input_of(int picture_w, int picture_h)
{
  struct mafat_detect_input in = test_detect_input(&network, picture_w, picture_h);
  in.read = read_numbers;
  in.context = &context;
  return in;
}

static void check_box(const struct mafat_detection *found, const struct test_box *wanted)
{
  test_check_box(found, wanted, 1e-4);
}

/* Expects these boxes in a picture as large as the input. */
static void check_boxes(const struct test_box *e, size_t n)
{
  struct mafat_shape in = mafat_network_picture_shape(&network);
  const struct mafat_detect_input input = input_of(in.w, in.h);
  struct mafat_detections *found = test_detect(&network, &input, n);
  for (size_t i = 0; i < n; i++) check_box(&found->list[i], &e[i]);
  mafat_detections_close(&found);
}

static void set(float *to, int n, const float *values)
{
  memcpy(to, values, (size_t)n * sizeof *to);
}

#define SET(to, ...) \
  set((to), (int)(sizeof(float[]){__VA_ARGS__} / sizeof(float)), (const float[]){__VA_ARGS__})

/* ---- each head ---- */

/* An input of 64 x 32 pixels has grids of 8 x 4, 4 x 2 and 2 x 1 cells, one after the other. */
START_TEST(test_yolox)
{
  start(64, 32);
  float *v = add(DIMS(1, 42, 7));
  must_choose(NULL, "yolox");
  SET(v + (8 + 3) * 7, .5f, .25f, logf(2), 0, .8f, .75f,
      .9f); /* row 1, column 3 of the first grid */
  SET(v + (32 + 4 + 2) * 7, -.5f, 1, 0, logf(.5f), 1, .4f,
      .95f); /* row 1, column 2 of the second */
  SET(v + 41 * 7, 0, 0, 0, 0, .5f, 1, 1);                         /* not above the threshold */
  const struct test_box e[] = {{1, .95, 24 - 8, 32 - 4, 16, 8},
                               {1, .72, 28 - 8, 10 - 4, 16, 8},
                               {0, .6, 28 - 8, 10 - 4, 16, 8}};
  check_boxes(e, 3);
}
END_TEST

START_TEST(test_yolov5)
{
  start(64, 32);
  float *v = add(DIMS(1, 126, 7));
  must_choose(NULL, "yolov5");
  SET(v + 100 * 7, 30, 10, 8, 4, .8f, .9f, .95f); /* reported with its best class only */
  const struct test_box e = {1, .76, 26, 8, 8, 4};
  check_boxes(&e, 1);
}
END_TEST

/* A head chosen by name accepts any number of boxes. In TFLite models, the sides of a box are
 * fractions of the input's sides. */
START_TEST(test_yolov5_of_tflite)
{
  start(64, 32);
  network.format.relative_boxes = true;
  float *v = add(DIMS(1, 5, 6));
  must_choose(NULL, NULL);
  must_choose("yolov5", "yolov5");
  SET(v + 6, .5f, .25f, .25f, .5f, .8f, .75f);
  const struct test_box e = {0, .6, 24, 0, 16, 16};
  check_boxes(&e, 1);
}
END_TEST

START_TEST(test_yolov8)
{
  start(256, 64);
  float *v = add(DIMS(1, 6, 336)); /* boxes of three grids: 256 + 64 + 16 */
  must_choose(NULL, "yolov8");
  static const float one[] = {30, 10, 8, 4, .6f, .9f}, other[] = {200, 50, 100, 30, .8f, .4f};
  for (int i = 0; i < 6; i++) {
    v[i * 336 + 63] = one[i];
    v[i * 336 + 335] = other[i];
  }
  const struct test_box e[] = {{1, .9, 26, 8, 8, 4}, {0, .8, 150, 35, 100, 30}};
  check_boxes(e, 2);
}
END_TEST

static void set_nanodet(float *v, int classes, float score, const int *distances)
{
  v[classes - 1] = score;
  for (int side = 0; side < 4; side++) v[classes + 8 * side + distances[side]] = 200;
}

/* NanoDet-Plus has 64 + 16 + 4 + 1 cells. A box is centred on a corner of its cell. */
START_TEST(test_nanodet_plus)
{
  static const int distances[] = {1, 2, 3, 4}, far[] = {7, 7, 7, 7};
  start(64, 64);
  float *v = add(DIMS(1, 85, 3 + 32));
  must_choose(NULL, "nanodet");
  set_nanodet(v + (8 * 3 + 4) * 35, 3, .9f, distances);
  v[84 * 35] = .6f;
  set_nanodet(v + 84 * 35, 3, .7f, far);
  const struct test_box e[] = {
      {2, .9, 24, 8, 32, 48}, {2, .7, 0, 0, 64, 64}, {0, .6, 0, 0, 64, 64}};
  check_boxes(e, 3);
}
END_TEST

/* NanoDet has three grids of the same sizes as YOLOX's, but is recognized by its 80 classes. A box
 * is centred on the centre of a cell. Here two of the four distances are means of two equally
 * likely ones. */
START_TEST(test_nanodet)
{
  static const int distances[] = {1, 1, 1, 1};
  start(64, 64);
  float *v = add(DIMS(1, 84, 80 + 32));
  must_choose(NULL, "nanodet");
  v += 9 * 112;
  set_nanodet(v, 80, .9f, distances);
  v[80 + 2] = 200;  /* distance to the left: 1 and 2 are equally likely */
  v[80 + 16 + 5] = 200;
  const struct test_box e = {79, .9, 0, 4, 12 + 24, 16};
  check_boxes(&e, 1);
  start(64, 64);
  add(DIMS(1, 84, 20 + 32));
  must_choose(NULL, "yolox");
  must_choose("nanodet", "nanodet");
  ck_assert_int_eq(network.decoded.classes, 20);
}
END_TEST

START_TEST(test_fastestdet)
{
  start(32, 48);
  float *v = add(DIMS(1, 7, 3, 2)); /* rows, columns */
  must_choose(NULL, "fastestdet");
  const float values[] = {.81f, .5f, -1, 0, 1, .3f, .9f};
  for (int i = 0; i < 7; i++) v[i * 6 + 3] = values[i]; /* row 1, column 1 */
  double w = 16, h = 48 / (1 + exp(-1)), x = (1 + tanh(.5)) * 16, y = (1 + tanh(-1)) * 16;
  const struct test_box e = {1, pow(.81, .6) * pow(.9, .4), x - w / 2, y - h / 2, w, h};
  check_boxes(&e, 1);
}
END_TEST

/* Faces are found in either order of the two outputs. */
START_TEST(test_ultraface)
{
  for (int first = 0; first < 2; first++) {
    start(40, 20);
    float *scores = first ? NULL : add(DIMS(1, 5, 2)), *boxes = add(DIMS(1, 5, 4));
    if (first) scores = add(DIMS(1, 5, 2));
    must_choose(NULL, "ultraface");
    SET(scores + 4, .1f, .9f);
    SET(scores + 6, .9f, .1f);
    SET(boxes + 8, .25f, .5f, .5f, 1);
    const struct test_box e = {0, .9, 10, 10, 10, 10};
    check_boxes(&e, 1);
  }
}
END_TEST

static float *yunet[12];

static void start_yunet(void)
{
  static const int numbers_of[] = {1, 1, 4, 10};
  start(32, 32);
  for (int what = 0; what < 4; what++)
    for (int grid = 0; grid < 3; grid++) {
      int cells = 4 >> grid;
      yunet[3 * what + grid] = add(DIMS(1, cells * cells, numbers_of[what]));
    }
}

/* Each face has its own five points. The picture is twice as wide as high, and letterboxed into the
 * input. */
START_TEST(test_yunet)
{
  start_yunet();
  network.letterbox = true;
  must_choose(NULL, "yunet");
  ck_assert_int_eq(network.decoded.points, 5);
  yunet[0][6] = .8f;
  yunet[3][6] = 5; /* counts as 1 */
  SET(yunet[6] + 24, .5f, 1, logf(2), logf(2));
  yunet[1][3] = yunet[4][3] = .9f;
  SET(yunet[7] + 12, .5f, .25f, 0, 0);
  for (int i = 0; i < 10; i++) yunet[10][30 + i] = (float)i / 8;
  const struct mafat_detect_input in = input_of(64, 32);
  struct mafat_detections *found = test_detect(&network, &in, 2);
  const struct test_box e[] = {{0, .9, 32, 8, 32, 32}, {0, sqrt(.8), 24, 0, 32, 32}};
  for (int i = 0; i < 2; i++) check_box(&found->list[i], &e[i]);
  const float *points = found->points;
  ck_assert_int_eq(found->n_points, 5);
  for (int i = 0; i < 5; i++) {
    ck_assert_double_eq_tol((double)points[2 * i], (1 + i / 4.) * 16 * 2, 1e-4);
    ck_assert_double_eq_tol((double)points[2 * i + 1], ((1 + (i * 2 + 1) / 8.) * 16 - 8) * 2, 1e-4);
  }
  mafat_detections_close(&found);
}
END_TEST

/* The better one of two overlapping faces stays, with its own points. */
START_TEST(test_yunet_suppressed)
{
  start_yunet();
  must_choose("yunet", "yunet");
  for (int cell = 0; cell < 16; cell++) {
    yunet[0][cell] = yunet[3][cell] = cell == 5 ? .9f : .8f;
    /* all boxes are at one place */
    SET(yunet[6] + 4 * cell, (float)-(cell % 4), (float)-(cell / 4), 1, 1);
    yunet[9][10 * cell] = (float)cell;
  }
  struct mafat_detect_input in = input_of(32, 32);
  struct mafat_detections *found = test_detect(&network, &in, 1);
  ck_assert_double_eq_tol((double)found->points[0], (5 + 1) * 8, 1e-4);
  mafat_detections_close(&found);
  in.nms = 0;
  found = test_detect(&network, &in, 16);
  mafat_detections_close(&found);
}
END_TEST

START_TEST(test_ssd)
{
  start(100, 200);
  float *boxes = add(DIMS(1, 4, 4)), *classes = add(DIMS(1, 4)), *scores = add(DIMS(1, 4)),
        *count = add(DIMS(1));
  must_choose(NULL, "ssd");
  SET(boxes, .1f, .2f, .3f, .6f, .5f, .5f, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1);
  SET(classes, 17, 0, -1, 2);
  SET(scores, .9f, .8f, .7f, .6f);
  *count = 3; /* ignored: the fourth box, and the box with class -1 */
  const struct test_box e[] = {{17, .9, 20, 20, 40, 40}, {0, .8, 50, 100, 50, 100}};
  check_boxes(e, 2);
}
END_TEST

static void check_top(int k, const struct mafat_class_score *expected)
{
  struct mafat_class_score top[8];
  int n = -1;
  const struct mafat_detect_input in = input_of(9, 9);
  ck_assert(!mafat_detect_has_head(&network, network.n_layers));
  ck_assert(mafat_classify_is_able(&network, network.n_layers));
  ck_assert_int_eq(mafat_classify(top, k, &n, &network, &in, &diagnostic), MAFAT_OK);
  ck_assert_int_eq(n, k);
  for (int i = 0; i < k; i++) {
    ck_assert_int_eq(top[i].class_id, expected[i].class_id);
    ck_assert_double_eq_tol((double)top[i].confidence, (double)expected[i].confidence, 1e-6);
  }
}

/* Numbers that sum to 1 are used as probabilities; others go through a softmax. */
START_TEST(test_classes)
{
  start(8, 8);
  float *v = add(DIMS(1, 100, 1, 1));
  must_choose(NULL, "classes");
  ck_assert_uint_eq(mafat_boxes_most(&network, network.n_layers, 0), 0);
  v[70] = v[7] = .25f;
  v[99] = .5f;
  check_top(3, (const struct mafat_class_score[]){{99, .5f}, {7, .25f}, {70, .25f}});
  start(8, 8);
  v = add(DIMS(4));
  must_choose("auto", "classes");
  SET(v, 1000, 1002, NAN, 1001);
  double sum = 1 + exp(-1) + exp(-2);
  check_top(3, (const struct mafat_class_score[]){{1, (float)(1 / sum)},
                                                  {3, (float)(exp(-1) / sum)},
                                                  {0, (float)(exp(-2) / sum)}});
}
END_TEST

/* ---- choice of the head ---- */

/* No head is chosen if the outputs fit no head, or more than one. */
START_TEST(test_auto_leaves)
{
  start(8, 8);
  must_choose(NULL, NULL);
  add(DIMS(1, 3, 8, 8));
  must_choose(NULL, NULL);
  start(8, 8);
  add(DIMS(1, 192)); /* as many as input elements: not classes */
  must_choose(NULL, NULL);
  must_choose("classes", "classes");
  start(8, 8);
  add(DIMS(1, 77, 85));
  must_choose(NULL, NULL);
  must_choose("yolov5", "yolov5");
  must_choose("yolov8", "yolov8");
  start(8, 8);
  for (int i = 0; i < 13; i++) add(DIMS(1, 10));
  must_choose(NULL, NULL);
}
END_TEST

/* No head is chosen for a part of a network, because a part has none of the network's outputs, nor
 * for a Darknet network without heads. */
START_TEST(test_auto_of_part)
{
  start(8, 8);
  add(DIMS(1, 10));
  network.n_layers = 2;
  ck_assert_int_eq(mafat_heads_choose(&network, 1, NULL, &diagnostic), MAFAT_OK);
  ck_assert_ptr_null(network.decoded.head);
  ck_assert_int_eq(mafat_heads_choose(&network, 1, "classes", &diagnostic), MAFAT_EINVAL);
  network.outputs = NULL;
  ck_assert_int_eq(mafat_heads_choose(&network, 2, "classes", &diagnostic), MAFAT_EINVAL);
  ck_assert_int_eq(mafat_heads_choose(&network, 2, "darknet", &diagnostic), MAFAT_EINVAL);
}
END_TEST

/* A Darknet layer that is a head is decoded, unless the head "none" is chosen. */
START_TEST(test_darknet)
{
  static float anchors[] = {1, 1};
  start(8, 8);
  layers[0] = (struct mafat_layer){
      .type = MAFAT_YOLO,
      .in = {1, 1, 6},
      .out = {1, 1, 6},
      .head = {.classes = 1, .coords = 4, .n_anchors = 1, .anchors = anchors, .scale_xy = 1}};
  network.outputs = NULL;
  must_choose("darknet", NULL);
  ck_assert(mafat_detect_has_head(&network, 1));
  ck_assert_uint_eq(mafat_boxes_most(&network, 1, 0), 1);
  must_choose("none", NULL);
  ck_assert(!mafat_detect_has_head(&network, 1));
  ck_assert_uint_eq(mafat_boxes_most(&network, 1, 0), 0);
  struct mafat_detect_input in = input_of(8, 8);
  struct mafat_detections *found = test_detect(&network, &in, 0);
  mafat_detections_close(&found);
}
END_TEST

static const struct {
  const char *name;
  int n; /* number of outputs of [1, 6, 5], which fit no head */
} refused[] = {{"yolox", 1},   {"yolov5", 1},    {"yolov8", 2}, {"nanodet", 1}, {"fastestdet", 1},
               {"ssd", 4},     {"ultraface", 2}, {"yunet", 12}, {"yunet", 13},  {"classes", 1},
               {"classes", 2}, {"darknet", 1},   {"yolov4", 1}, {"", 1}};

START_TEST(test_refuses)
{
  start(16, 16);
  for (int i = 0; i < refused[_i].n; i++) add(DIMS(1, 6, 5));
  diagnostic.text[0] = '\0';
  ck_assert_int_eq(mafat_heads_choose(&network, network.n_layers, refused[_i].name, &diagnostic),
                   MAFAT_EINVAL);
  ck_assert_ptr_nonnull(strstr(diagnostic.text, "expected"));
  ck_assert_ptr_null(network.decoded.head);
  ck_assert_uint_eq(mafat_boxes_most(&network, network.n_layers, 0), 0);
}
END_TEST

/* Heads refuse outputs whose numbers of classes or boxes exceed an int. */
START_TEST(test_refuses_what_no_int_holds)
{
  static const char *const names[] = {"yolox", "yolov5", "yolov8", "nanodet"};
  const long long many = (1LL << 32) + 85; /* 85 if cut to 32 bits */
  for (int i = 0; i < 8; i++) {
    start(64, 32);
    if (i < 4) add(DIMS(1, i == 0 ? 42 : 126, many));
    else add(DIMS(1, many, 126));
    ck_assert_int_eq(mafat_heads_choose(&network, network.n_layers, names[i % 4], &diagnostic),
                     MAFAT_EINVAL);
    must_choose(NULL, NULL);
  }
}
END_TEST

/* Reported boxes are finite, also for NaN and too large numbers. */
START_TEST(test_nasty_numbers)
{
  static const float nasty[] = {NAN, INFINITY, -INFINITY, 1e30f, -1e30f, .9f};
  for (int seed = 0; seed < 200; seed++) {
    start_yunet();
    must_choose(NULL, "yunet");
    for (int o = 0; o < 12; o++)
      for (int i = 0; i < 160; i++)
        yunet[o][i] = nasty[(unsigned)(seed * 7919 + o * 31 + i * (seed + 3)) % 6];
    const struct mafat_detect_input in = input_of(32, 32);
    struct mafat_detections *found = NULL;
    ck_assert_int_eq(mafat_detect(&found, &network, &in, &diagnostic), MAFAT_OK);
    for (size_t i = 0; i < found->n; i++) {
      const struct mafat_detection *d = &found->list[i];
      const float *points = found->points + i * 2 * (size_t)found->n_points;
      bool finite = isfinite(d->x) && isfinite(d->y) && isfinite(d->w) && isfinite(d->h) &&
                    isfinite(d->confidence);
      for (int p = 0; p < 2 * found->n_points; p++) finite = finite && isfinite(points[p]);
      if (!finite) ck_abort_msg("seed %d, box %zu", seed, i);
    }
    mafat_detections_close(&found);
  }
}
END_TEST

Suite *heads_suite(void)
{
  Suite *s = suite_create("heads");
  TCase *heads = tcase_create("each head"), *choice = tcase_create("which is taken");
  tcase_add_test(heads, test_yolox);
  tcase_add_test(heads, test_yolov5);
  tcase_add_test(heads, test_yolov5_of_tflite);
  tcase_add_test(heads, test_yolov8);
  tcase_add_test(heads, test_nanodet_plus);
  tcase_add_test(heads, test_nanodet);
  tcase_add_test(heads, test_fastestdet);
  tcase_add_test(heads, test_ultraface);
  tcase_add_test(heads, test_yunet);
  tcase_add_test(heads, test_yunet_suppressed);
  tcase_add_test(heads, test_ssd);
  tcase_add_test(heads, test_classes);
  tcase_add_test(heads, test_nasty_numbers);
  suite_add_tcase(s, heads);
  tcase_add_test(choice, test_auto_leaves);
  tcase_add_test(choice, test_auto_of_part);
  tcase_add_test(choice, test_darknet);
  tcase_add_loop_test(choice, test_refuses, 0, (int)(sizeof refused / sizeof *refused));
  tcase_add_test(choice, test_refuses_what_no_int_holds);
  suite_add_tcase(s, choice);
  return s;
}
