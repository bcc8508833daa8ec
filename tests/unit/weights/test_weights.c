/* Covers runner/weights/{weights_open, pack}.c: variants of the header, lengths and orders of the
 * .weights format, and files that are refused. */
#include "runner/weights/weights.h"

#include "runner/weights/affine.h"

#include "tests/support/support.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

Suite *weights_suite(void);

enum { MAX_FILE = 1 << 16 };

/* Bytes of the file being written; tests pass them on as a memfd. */
static unsigned char file[MAX_FILE];
static size_t file_bytes;
static struct mafat_diagnostic diagnostic;
static int n_warnings;

static void put(const void *data, size_t bytes)
{
  ck_assert_uint_le(file_bytes + bytes, MAX_FILE);
  memcpy(file + file_bytes, data, bytes);
  file_bytes += bytes;
}

static void put_header(int major, int minor, size_t seen_bytes)
{
  int version[3] = {major, minor, 0};
  static const unsigned char zeros[8];
  file_bytes = 0;
  put(version, sizeof version);
  put(zeros, seen_bytes);
}

/* Appends n floats: first, first + step, ... */
static void put_floats(int n, float first, float step)
{
  for (int i = 0; i < n; i++) {
    float x = first + step * (float)i;
    put(&x, sizeof x);
  }
}

static void count_warning(void *context, const char *text)
{
  (void)context;
  (void)text;
  n_warnings++;
}

static int read_file(struct mafat_weights **w, const struct mafat_network *n)
{
  struct mafat_warning_sink sink = {count_warning, NULL};
  int fd = memfd_create("weights", 0);
  n_warnings = 0;
  ck_assert_int_eq(write(fd, file, file_bytes), (ssize_t)file_bytes);
  int code = test_weights_from(w, fd, n, n->n_layers, &sink, &diagnostic);
  close(fd);
  return code;
}

static struct mafat_weights *must_read(const struct mafat_network *n)
{
  struct mafat_weights *w;
  int code = read_file(&w, n);
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  return w;
}

static void must_fail(const struct mafat_network *n, const char *expected)
{
  struct mafat_weights *w;
  ck_assert_int_eq(read_file(&w, n), MAFAT_EFORMAT);
  ck_assert_ptr_null(w);
  ck_assert_msg(strstr(diagnostic.text, expected), "\"%s\" is not in \"%s\"", expected,
                diagnostic.text);
}

/* ---- header ---- */

static const struct {
  int major, minor;
  size_t seen_bytes;
} headers[] = {{0, 1, 4}, {0, 2, 8}, {0, 0, 4}, {1, 0, 8}, {2, 5, 8}, {1001, 0, 4}, {0, 1001, 4}};

START_TEST(every_version_has_its_own_seen)
{
  struct mafat_network *n =
      test_network("[net]\nwidth=4\nheight=4\nchannels=1\n[convolutional]\nfilters=1\nsize=1\n");
  put_header(headers[_i].major, headers[_i].minor, headers[_i].seen_bytes);
  put_floats(2, 7, 4); /* bias 7, weight 11 */
  struct mafat_weights *w = must_read(n);
  struct mafat_weights_slice s;
  mafat_weights_slice(w, 0, mafat_span(0, 1), mafat_span(0, 1), &s);
  ck_assert(s.bias[0] == 7 && s.weights[0] == 11 && s.scale[0] == 1);
  mafat_weights_close(&w);
  mafat_network_close(&n);
}
END_TEST

START_TEST(bad_headers_are_refused)
{
  struct mafat_network *n =
      test_network("[net]\nwidth=4\nheight=4\nchannels=1\n[convolutional]\nfilters=1\nsize=1\n");
  file_bytes = 0;
  must_fail(n, "header");
  put_header(0, 2, 2);
  must_fail(n, "header");
  put_header(-1, 2, 8);
  put_floats(2, 1, 1);
  must_fail(n, "header");
  mafat_network_close(&n);
}
END_TEST

/* ---- per-filter values ---- */

/* Each fork adds its epsilon at its own point: before or after taking the root of the variance.
 * With a small negative variance, as in files of AlexeyAB's Darknet, the result is NaN if epsilon
 * is added after the root. */
START_TEST(each_darknet_has_its_epsilon)
{
  struct mafat_normalization tiny = {.bias = 1, .scale = .5f, .mean = .25f, .variance = -7e-44f},
                             dead = tiny;
  dead.variance = 0;
  struct mafat_affine inside = mafat_affine_fold(&tiny, MAFAT_EPSILON_IN_ROOT);
  double factor = .5 / sqrt((double)tiny.variance + .00001);
  ck_assert(inside.scale == (float)factor && inside.bias == (float)(1 - .25 * factor));
  ck_assert(isnan(mafat_affine_fold(&tiny, MAFAT_EPSILON_BESIDE_ROOT).scale));
  ck_assert(mafat_affine_fold(&dead, MAFAT_EPSILON_BESIDE_ROOT).scale == (float)(.5 / .000001));
}
END_TEST

/* ---- convolutional ---- */

/* The file has weights in order (filter, channel, ky, kx); packed they are in order (ky, kx,
 * channel, filter). */
START_TEST(convolutions_are_packed_by_taps_and_channels)
{
  struct mafat_network *n = test_network("[net]\nwidth=8\nheight=8\nchannels=3\n"
                                         "[convolutional]\nfilters=33\nsize=3\npad=1\n");
  put_header(0, 2, 8);
  put_floats(33, 0, 1);                 /* biases */
  put_floats(33 * 3 * 9, 0, 1.0f / 8);  /* weights: eighths of their index */
  struct mafat_weights *w = must_read(n);
  for (int first = 0; first < 33; first = mafat_panel_end(&n->layers[0], first)) {
    struct mafat_span panel = {first, mafat_panel_end(&n->layers[0], first)};
    struct mafat_weights_slice s;
    mafat_weights_slice(w, 0, panel, mafat_span(0, 3), &s);
    for (int f = first; f < panel.end; f++)
      for (int c = 0; c < 3; c++)
        for (int t = 0; t < 9; t++)
          ck_assert(s.weights[(t * 3 + c) * s.width + f - first] ==
                    (float)((f * 3 + c) * 9 + t) / 8);
    ck_assert(s.bias[0] == (float)first);
    for (int pad = panel.end - first; pad < s.width; pad++) ck_assert(s.weights[pad] == 0);
  }
  mafat_weights_close(&w);
  mafat_network_close(&n);
}
END_TEST

START_TEST(batch_norm_becomes_one_multiply_add)
{
  struct mafat_network *n = test_network("[net]\nwidth=4\nheight=4\nchannels=1\n"
                                         "[convolutional]\nfilters=1\nsize=1\nbatch_normalize=1\n");
  float values[] = {.5f, 3, 2, 4, 1.25f}; /* bias, scale, mean, variance, weight */
  put_header(0, 2, 8);
  put(values, sizeof values);
  struct mafat_weights *w = must_read(n);
  struct mafat_weights_slice s;
  mafat_weights_slice(w, 0, mafat_span(0, 1), mafat_span(0, 1), &s);
  double factor = 3 / (sqrt(4) + .000001);
  ck_assert(s.scale[0] == (float)factor);
  ck_assert(s.bias[0] == (float)(.5 - 2 * factor));
  mafat_weights_close(&w);
  mafat_network_close(&n);
}
END_TEST

/* ---- connected ---- */

static const char connected_cfg[] =
    "[net]\nwidth=3\nheight=2\nchannels=1\n"
    "[connected]\noutput=35\nbatch_normalize=%d\nactivation=linear\n";

/* Connected layers can be stored transposed. Darknet stores their normalization after the
 * weights. */
START_TEST(connected_layers_are_read_in_both_orders)
{
  bool transposed = _i & 1, normalize = _i & 2;
  char cfg[256];
  snprintf(cfg, sizeof cfg, connected_cfg, normalize);
  struct mafat_network *n = test_network(cfg);
  put_header(transposed ? 1001 : 0, transposed ? 0 : 2, transposed ? 4 : 8);
  put_floats(35, 100, 1);
  for (int i = 0; i < 35 * 6; i++) { /* weight (o, in) is 6 o + in */
    float x = (float)(transposed ? i % 35 * 6 + i / 35 : i);
    put(&x, sizeof x);
  }
  if (normalize) {
    put_floats(35, 2, 0); /* scales */
    put_floats(35, 0, 1); /* means */
    put_floats(35, 1, 0); /* variances */
  }
  struct mafat_weights *w = must_read(n);
  for (int first = 0; first < 35; first += MAFAT_PANEL) {
    struct mafat_span panel = {first, mafat_panel_end(&n->layers[0], first)};
    struct mafat_weights_slice s;
    mafat_weights_slice(w, 0, panel, mafat_span(0, 6), &s);
    for (int o = first; o < panel.end; o++) {
      for (int in = 0; in < 6; in++)
        ck_assert(s.weights[in * s.width + o - first] == (float)(6 * o + in));
      double factor = normalize ? 2 / (1 + .000001) : 1;
      ck_assert(s.scale[o - first] == (float)factor);
      ck_assert(s.bias[o - first] == (float)(100 + o - (normalize ? o * factor : 0)));
    }
  }
  mafat_weights_close(&w);
  mafat_network_close(&n);
}
END_TEST

/* ---- lengths and contents ---- */

static const char two_layers[] =
    "[net]\nwidth=4\nheight=4\nchannels=1\n"
    "[convolutional]\nfilters=2\nsize=1\n[maxpool]\n[convolutional]\nfilters=%s\nsize=1\n%s";

START_TEST(a_short_file_names_bytes_and_layer)
{
  char cfg[512];
  snprintf(cfg, sizeof cfg, two_layers, "3", "");
  struct mafat_network *n = test_network(cfg);
  put_header(0, 2, 8);
  put_floats(3, 1, 1); /* one too few for layer 0, which needs 4 */
  must_fail(n, "expected 72 bytes");
  ck_assert_ptr_nonnull(strstr(diagnostic.text, "found 32"));
  ck_assert_ptr_nonnull(strstr(diagnostic.text, "layer 0 [convolutional]"));
  put_floats(2, 1, 1);
  must_fail(n, "layer 2 [convolutional]");
  mafat_network_close(&n);
}
END_TEST

START_TEST(a_surplus_is_an_error_with_a_head_only)
{
  char cfg[512];
  struct mafat_weights *w;
  for (int head = 0; head < 2; head++) {
    snprintf(cfg, sizeof cfg, two_layers, head ? "6" : "3", head ? "[yolo]\nclasses=1\n" : "");
    struct mafat_network *n = test_network(cfg);
    put_header(0, 2, 8);
    put_floats((int)(mafat_weights_payload_bytes(n) / 4) + 1, 1, 1);
    if (head) {
      must_fail(n, "4 too many");
    } else {
      ck_assert_int_eq(read_file(&w, n), MAFAT_OK);
      ck_assert_int_eq(n_warnings, 1);
      mafat_weights_close(&w);
    }
    mafat_network_close(&n);
  }
}
END_TEST

START_TEST(weights_that_are_no_numbers_are_refused)
{
  static const float strange[] = {NAN, INFINITY, -INFINITY};
  char cfg[512];
  snprintf(cfg, sizeof cfg, two_layers, "3", "");
  struct mafat_network *n = test_network(cfg);
  for (int at = 0; at < 13; at++) { /* biases and weights of both layers */
    put_header(0, 2, 8);
    put_floats(13, 1, 1);
    memcpy(file + 20 + 4 * at, &strange[at % 3], sizeof(float));
    must_fail(n, at < 4 ? "layer 0" : "layer 2");
  }
  mafat_network_close(&n);
}
END_TEST

Suite *weights_suite(void)
{
  Suite *s = suite_create("weights");
  TCase *t = tcase_create("weights");
  tcase_add_loop_test(t, every_version_has_its_own_seen, 0,
                      (int)(sizeof headers / sizeof *headers));
  tcase_add_test(t, bad_headers_are_refused);
  tcase_add_test(t, each_darknet_has_its_epsilon);
  tcase_add_test(t, convolutions_are_packed_by_taps_and_channels);
  tcase_add_test(t, batch_norm_becomes_one_multiply_add);
  tcase_add_loop_test(t, connected_layers_are_read_in_both_orders, 0, 4);
  tcase_add_test(t, a_short_file_names_bytes_and_layer);
  tcase_add_test(t, a_surplus_is_an_error_with_a_head_only);
  tcase_add_test(t, weights_that_are_no_numbers_are_refused);
  suite_add_tcase(s, t);
  return s;
}
