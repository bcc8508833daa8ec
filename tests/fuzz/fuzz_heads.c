/* libFuzzer target: decodes the outputs of a detector, whose shapes and values are made from the
 * input bytes. The bytes: family of heads, input width, input height, requested head, options of
 * the detection, classes, boxes, number of changed dimensions; then two bytes for each change
 * (dimension, new size); then values, which are repeated. Decoding must stay within the outputs;
 * results must be finite, sorted, and of a class that exists. Build with clang
 * -fsanitize=fuzzer,address,undefined. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/plan/boxes_room.h"
#include "runner/detect/detect.h"
#include "runner/detect/heads/head.h"
#include "runner/detect/heads/heads.h"
#include "tests/fuzz/networks.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* Larger outputs only take longer. */
static const double MOST_NUMBERS = 1 << 19;

/* ---- the outputs ---- */

enum { MAX_OUTPUTS = 14, MAX_TOP = 9 };

/* Positions of the input's bytes. Changes and values begin at RECIPE. */
enum { FAMILY, WIDTH, HEIGHT, HEAD, ASKED, CLASSES, BOXES, CHANGES, RECIPE };

struct model {
  struct mafat_layer layers[2];
  struct mafat_port inputs[1], outputs[MAX_OUTPUTS];
  struct mafat_network network;
  const uint8_t *numbers;
  size_t n_numbers;
};

static void add_output(struct model *m, int rank, long long a, long long b, long long c,
                       long long d)
{
  const long long dims[] = {a, b, c, d};
  struct mafat_port *p = &m->outputs[m->network.n_outputs++];
  *p = (struct mafat_port){.name = (char *)"of a name that is longer than a message has room for"};
  mafat_view_linear(&p->view, rank, dims, MAFAT_AXIS_NUMBERS);
}

static void add_yunet(struct model *m, int w, int h)
{
  static const int numbers_of[] = {1, 1, 4, 10}, strides[] = {8, 16, 32};
  for (int what = 0; what < 4; what++)
    for (int grid = 0; grid < 3; grid++)
      add_output(m, 3, 1, mafat_cells_count(w, h, &strides[grid], 1), numbers_of[what], 0);
}

static void add_outputs(struct model *m, int family, int w, int h, int classes, int boxes)
{
  static const int strides[] = {8, 16, 32, 64};
  long long cells = mafat_cells_count(w, h, strides, 3), plus = mafat_cells_count(w, h, strides, 4);
  switch (family % 10) {
  case 0: add_output(m, 2, 1, classes, 0, 0); break;
  case 1: add_yunet(m, w, h); break;
  case 2:
    add_output(m, 3, 1, boxes, 4, 0);
    for (int i = 0; i < 2; i++) add_output(m, 2, 1, boxes, 0, 0);
    add_output(m, 1, 1, 0, 0, 0);
    break;
  case 3:
    for (int i = 0; i < 2; i++) add_output(m, 3, 1, boxes, i == classes % 2 ? 2 : 4, 0);
    break;
  case 4: add_output(m, 3, 1, classes % 2 ? cells : plus, classes + 32, 0); break;
  case 5: add_output(m, 3, 1, cells, classes + 5, 0); break;
  case 6: add_output(m, 3, 1, 3 * (classes % 2 ? cells : plus), classes + 5, 0); break;
  case 7: add_output(m, 3, 1, classes + 4, cells, 0); break;
  case 8: add_output(m, 4, 1, classes + 5, (h + 15) / 16, (w + 15) / 16); break;
  default: /* any number of outputs */
    for (int i = 0; i < boxes % (MAX_OUTPUTS + 1); i++)
      add_output(m, 1 + i % 4, classes, boxes, 1, w);
  }
}

/* Changes a dimension's size or removes it. */
static void change(struct model *m, const uint8_t *how)
{
  static const long long sizes[] = {
      0, 1, 2, 3, 4, 5, 6, 7, 33, 77, 85, 112, INT16_MAX, INT32_MAX, 1LL << 31, 1LL << 32,
      (1LL << 32) + 6, 1LL << 40};
  enum { SIZES = sizeof sizes / sizeof *sizes };
  if (m->network.n_outputs == 0) return;
  struct mafat_view *v = &m->outputs[how[0] % m->network.n_outputs].view;
  long long dims[MAFAT_VIEW_DIMS], all = 1;
  int n_dims = v->n_dims;
  memcpy(dims, v->dims, sizeof dims);
  if (how[1] >= 254) n_dims = how[1] == 254 ? 0 : n_dims - (n_dims > 0);
  else if (n_dims > 0) dims[how[0] / 16 % n_dims] = sizes[how[1] % SIZES];
  for (int i = 0; i < n_dims; i++)
    if (__builtin_mul_overflow(all, dims[i] ? dims[i] : 1, &all))
      return; /* readers of models refuse such sizes */
  mafat_view_linear(v, n_dims, dims, MAFAT_AXIS_NUMBERS);
}

/* Makes the model from the input bytes. False: there are too few. */
static bool make(struct model *m, const uint8_t *bytes, size_t n)
{
  if (n < RECIPE || n - RECIPE < 2 * (size_t)bytes[CHANGES] + 1) return false;
  int w = 1 + 3 * bytes[WIDTH], h = 1 + 3 * bytes[HEIGHT];
  *m = (struct model){.numbers = bytes + RECIPE + 2 * bytes[CHANGES]};
  m->n_numbers = n - (size_t)(m->numbers - bytes);
  m->layers[0] = m->layers[1] = (struct mafat_layer){.type = MAFAT_INPUT_LAYER, .out = {h, w, 3}};
  m->network = (struct mafat_network){.path = (char *)"fuzz",
                                      .layers = m->layers,
                                      .n_layers = 1,
                                      .n_inputs = 1,
                                      .inputs = m->inputs,
                                      .outputs = m->outputs,
                                      .format.relative_boxes = bytes[ASKED] & 1};
  add_outputs(m, bytes[FAMILY], w, h, 1 + bytes[CLASSES], 1 + 16 * bytes[BOXES]);
  for (int i = 0; i < bytes[CHANGES]; i++) change(m, bytes + RECIPE + 2 * i);
  return true;
}

/* ---- values of outputs ---- */

/* Most values are in 0..1; some are in the range of logarithms or of boxes in pixels; some are
 * extreme. */
static float number_of(uint8_t byte)
{
  static const float others[] = {NAN,          -NAN,          INFINITY,     -INFINITY, 3e38f,
                                 -3e38f,       1e-45f,        -0.0f,        88.8f,     89.f,
                                 2147483648.f, -2147483648.f, 4294967296.f, 999999.f,  1e6f,
                                 -1.f,         1e-20f,        1e20f,        2.f,       5.f,
                                 64.f,         1000.f,        .999f,        1.001f};
  enum { OTHERS = sizeof others / sizeof *others };
  return byte < OTHERS ? others[byte] : (float)(byte - OTHERS) / (255 - OTHERS);
}

static void read_numbers(const void *context, int output, long long first, int n, float *to)
{
  const struct model *m = context;
  require(output >= 0 && output < m->network.n_outputs && n >= 1 && first >= 0);
  require(first <= mafat_view_elements(&m->outputs[output].view) - n);
  for (int i = 0; i < n; i++)
    to[i] = number_of(m->numbers[((size_t)(first + i) + 7 * (size_t)output) % m->n_numbers]);
}

/* ---- decoding ---- */

static bool is_finite_pixel(float x)
{
  return fabsf(x) <= 1e9f; /* false for NaN */
}

static void check_points(const struct model *m, const struct mafat_detections *found)
{
  size_t n = found->n * (size_t)found->n_points * 2;
  require(found->n_points == m->network.decoded.points && (n == 0) == (found->points == NULL));
  for (size_t p = 0; p < n; p++) require(is_finite_pixel(found->points[p]));
}

static void check_detections(const struct model *m, const struct mafat_detect_input *in,
                             const struct mafat_detections *found)
{
  const struct mafat_decoded *decoded = &m->network.decoded;
  /* ssd reads the class from a value of an output, so it can be any number */
  bool numbered = decoded->head && strcmp(decoded->head->name, "ssd") == 0;
  require(found->n <= in->most_boxes);
  for (size_t i = 0; i < found->n; i++) {
    const struct mafat_detection *d = &found->list[i];
    require(d->confidence > in->thresh && isfinite(d->confidence) &&
            (i == 0 || d[-1].confidence >= d->confidence));
    require(d->class_id >= 0 && (numbered || d->class_id < decoded->classes));
    require(is_finite_pixel(d->x) && is_finite_pixel(d->y) && is_finite_pixel(d->w) &&
            is_finite_pixel(d->h) && d->w >= 0 && d->h >= 0);
  }
  check_points(m, found);
}

static void detect(const struct model *m, uint8_t asked)
{
  static const float thresholds[] = {0, .005f, .5f, 1};
  struct mafat_detections *found;
  struct mafat_detect_input in;
  struct mafat_diagnostic d = {""};
  struct mafat_shape picture = mafat_network_picture_shape(&m->network);
  mafat_detect_defaults(&in);
  in.most_boxes = mafat_boxes_most(&m->network, m->network.n_layers, asked & 2 ? 70 : 0);
  in.capacity = in.most_boxes ? malloc(mafat_boxes_room_bytes(in.most_boxes)) : NULL;
  in.read = read_numbers;
  in.context = m;
  in.placement =
      mafat_placement_make((enum mafat_fit)(asked / 4 % 4), 640, 1 + asked, picture.w, picture.h);
  in.thresh = thresholds[asked / 16 % 4];
  in.nms = asked & 64 ? 0 : .45f;
  in.n_layers = m->network.n_layers;
  require(mafat_detect(&found, &m->network, &in, &d) == MAFAT_OK);
  check_detections(m, &in, found);
  mafat_detections_close(&found);
  free(in.capacity);
}

static void classify(const struct model *m, uint8_t asked)
{
  struct mafat_class_score top[MAX_TOP];
  struct mafat_diagnostic d = {""};
  const struct mafat_detect_input in = {
      .read = read_numbers, .context = m, .n_layers = m->network.n_layers};
  int n, k = 1 + asked % MAX_TOP;
  require(mafat_classify(top, k, &n, &m->network, &in, &d) == MAFAT_OK && n >= 0 && n <= k);
  for (int i = 0; i < n; i++) {
    require(top[i].class_id >= 0 && top[i].class_id < m->network.decoded.classes &&
            isfinite(top[i].confidence));
    require(top[i].confidence >= 0 && top[i].confidence <= 1 &&
            (i == 0 || top[i - 1].confidence >= top[i].confidence));
  }
}

/* Checks the chosen decoder: the outputs that it reads exist, and its numbers are possible. */
static void check_decoded(const struct model *m)
{
  const struct mafat_decoded *found = &m->network.decoded;
  require(found->classes >= 1 && found->points >= 0 && found->boxes <= UINT32_MAX &&
          found->sign[0]);
  for (int i = 0; i < MAFAT_DECODED_OUTPUTS; i++)
    require(found->outputs[i] >= 0 && found->outputs[i] < m->network.n_outputs);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
  static const char *const names[] = {"classes", "yunet",  "ssd",    "ultraface",  "nanodet",
                                      "yolox",   "yolov5", "yolov8", "fastestdet", "auto"};
  enum { NAMES = sizeof names / sizeof *names };
  struct mafat_diagnostic d = {""};
  struct model m;
  if (!make(&m, bytes, n)) return 0;
  struct mafat_network *network = &m.network;
  const char *name = names[bytes[HEAD] % NAMES];
  int code = mafat_heads_choose(network, network->n_layers, name, &d);
  require(code == MAFAT_OK || (strcmp(name, "auto") != 0 && d.text[0] && !network->decoded.head));
  if (!network->decoded.head) return 0;
  check_decoded(&m);
  if ((double)(network->decoded.boxes ? network->decoded.boxes : 1) *
          (network->decoded.classes + 32.) >
      MOST_NUMBERS)
    return 0;
  if (network->decoded.boxes) detect(&m, bytes[ASKED]);
  else classify(&m, bytes[ASKED]);
  return 0;
}
