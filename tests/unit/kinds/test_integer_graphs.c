/* Covers network/numbers.c, runner/engine/kinds/integer/{kinds, conv, pool, blend, quantize,
 * reduce, resize}.c, predictor/cost/counting_integers.c: with any plan, any number of threads and
 * any level of kernels, integer (quantized) models give the outputs that the reference in
 * tests/kernels/integer_rule.h computes operator by operator. Writes inputs to temporary files in
 * /tmp. */
#include "include/mafat.h"

#include "formats/tflite/model.h"
#include "predictor/cost/latency.h"
#include "predictor/cost/work.h"
#include "tests/support/imported.h"
#include "tests/support/integer_runs.h"
#include "tests/support/support.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Suite *integer_graphs_suite(void);

enum { GRAPHS = 600 };

START_TEST(any_plan_matches_the_rule)
{
  static struct test_integer_graph g;
  struct mafat_diagnostic d = {""};
  test_integer_graph_open(&g, (uint64_t)_i * 0x9e3779b97f4a7c15u);
  struct test_imported m = test_import_tflite(&g.model, &d);
  /* If transposing and joining put several dimensions on one axis, none of them can be padded.
   * Float models have the same limitation, so it is no failure here. */
  bool pads_shared =
      m.code == MAFAT_EUNSUPPORTED && strstr(d.text, ", which shares an axis with others");
  ck_assert_msg(m.code == MAFAT_OK || pads_shared, "%s", d.text);
  if (m.code == MAFAT_OK) test_integer_run_plans(&g, m.network, m.path, false);
  test_imported_close(&m);
  test_integer_graph_close(&g);
}
END_TEST

/* ---- predicted time ---- */

static struct mafat_work count(const struct mafat_network *n, const char *text,
                               const struct mafat_calibration *calibration, double *ms)
{
  struct mafat_plan *plan = test_plan_with(n, text, NULL);
  struct mafat_layout *layout = test_layout(n, plan);
  struct mafat_work work = {{0}};
  struct mafat_work_context context;
  struct mafat_latency latency;
  struct mafat_schedule *s;
  struct mafat_step step;
  ck_assert_int_eq(mafat_schedule_open(&s, n, plan), MAFAT_OK);
  mafat_work_open(&context, n, plan, layout, calibration);
  mafat_schedule_rewind(s);
  while (mafat_schedule_next(s, &step)) mafat_work_add_step(&context, &step, &work);
  ck_assert_int_eq(mafat_latency_predict(&latency, n, plan, layout, calibration), MAFAT_OK);
  *ms = latency.total_ms;
  mafat_schedule_close(&s);
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
  return work;
}

/* Multiply-accumulates of integers are counted separately from those of floats. They are predicted
 * to take less time if the processor has an instruction that sums four products. */
START_TEST(integers_have_their_own_costs)
{
  static struct test_integer_graph g;
  static const enum mafat_term floats[] = {MAFAT_TERM_CONV_MACS,     MAFAT_TERM_POINT_MACS,
                                           MAFAT_TERM_WINOGRAD_MACS, MAFAT_TERM_TAPS,
                                           MAFAT_TERM_NARROW_TAPS,   MAFAT_TERM_DEPTHWISE_MACS,
                                           MAFAT_TERM_DENSE_MACS};
  struct mafat_diagnostic d = {""};
  struct mafat_calibration calibration;
  double quads, pairs;
  test_integer_graph_open(&g, (uint64_t)_i * 0x9e3779b97f4a7c15u);
  struct test_imported m = test_import_tflite(&g.model, &d);
  mafat_calibration_defaults(&calibration, "avx512");
  for (int p = 0; m.code == MAFAT_OK && p < 2; p++) {
    mafat_calibration_set_integers(&calibration, "avx512");
    count(m.network, p ? "rows1" : "1x1", &calibration, &pairs);
    mafat_calibration_set_integers(&calibration, "avx512vnni");
    struct mafat_work work = count(m.network, p ? "rows1" : "1x1", &calibration, &quads);
    for (size_t t = 0; t < sizeof floats / sizeof *floats; t++) ck_assert(work.n[floats[t]] == 0);
    ck_assert((work.n[MAFAT_TERM_INTEGER_MACS] > 0) == (work.n[MAFAT_TERM_INTEGER_TILES] > 0));
    ck_assert(work.n[MAFAT_TERM_INTEGER_MACS] > 0 ? quads < pairs : quads <= pairs);
  }
  test_imported_close(&m);
  test_integer_graph_close(&g);
}
END_TEST

START_TEST(measured_costs_do_not_depend_on_kernels)
{
  struct mafat_calibration c, before;
  mafat_calibration_defaults(&c, "avx512");
  c.measured = true;
  before = c;
  mafat_calibration_set_integers(&c, "avx2");
  ck_assert_int_eq(c.integer_lanes, 8);
  ck_assert_mem_eq(c.ns, before.ns, sizeof c.ns);
}
END_TEST

/* ---- inputs as files and as floats ---- */

enum { ROOM = 1 << 16, HEADER = 128 };

/* Writes a header and data to a temporary file. `path` receives its name; the caller removes it. */
static void write_file(char path[32], const void *header, size_t n_header, const void *data,
                       size_t n)
{
  snprintf(path, 32, "/tmp/mafat-numbers-XXXXXX");
  int fd = mkstemp(path);
  ck_assert(fd >= 0 && write(fd, header, n_header) == (ssize_t)n_header &&
            write(fd, data, n) == (ssize_t)n && close(fd) == 0);
}

static void write_npy(char path[32], const char *type, const struct test_integer_map *m,
                      const void *data, size_t n)
{
  char header[HEADER];
  memcpy(header, "\x93NUMPY\1\0\x76\0", 10);
  int end = 10 + snprintf(header + 10, HEADER - 10,
                          "{'descr': '%s', 'fortran_order': False, 'shape': (1, %d, %d, %d), }",
                          type, m->h, m->w, m->c);
  memset(header + end, ' ', (size_t)(HEADER - end));
  header[HEADER - 1] = '\n';
  write_file(path, header, HEADER, data, n);
}

/* Runs the model on a file and reads its first output. */
static void run_file(struct mafat_model *model, const char *path, float *out, size_t n)
{
  struct mafat_diagnostic d = {""};
  ck_assert_msg(mafat_model_run_raw(model, path, &d) == MAFAT_OK, "%s", d.text);
  struct mafat_port_facts f = {.size = sizeof f};
  ck_assert_int_eq(mafat_model_describe_output(model, 0, &f), MAFAT_OK);
  ck_assert_msg(mafat_model_read_output(model, f.name, out, n, &d) == MAFAT_OK, "%s", d.text);
}

/* An input of quantized integers, raw or in a .npy file, gives the same output as the floats that
 * these integers stand for. */
START_TEST(inputs_are_integers_or_floats)
{
  static struct test_integer_graph g;
  static signed char numbers[ROOM];
  static float floats[ROOM], expected[ROOM], found[ROOM];
  struct mafat_diagnostic d = {""};
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_model *model;
  struct mafat_port_facts in = {.size = sizeof in}, out = {.size = sizeof out};
  char raw[32], array[32], reals[32], wrong[32];
  test_integer_graph_open(&g, (uint64_t)_i * 0x9e3779b97f4a7c15u);
  int fd = test_tflite_file(&g.model);
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  const struct test_integer_map *m = &g.maps[0], *o = test_integer_graph_output(&g, 0);
  size_t n = (size_t)(m->h * m->w * m->c), n_out = (size_t)(o->h * o->w * o->c);
  for (size_t i = 0; i < n; i++)
    numbers[i] = (signed char)m->at[i], floats[i] = m->scale * (float)(m->at[i] - m->zero);
  options.floats_only = true;
  options.memory_bytes = (size_t)1 << 28;
  ck_assert_msg(mafat_model_open(&model, path, NULL, &options, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(mafat_model_describe_input(model, 0, &in), MAFAT_OK);
  ck_assert_str_eq(in.type, g.is_signed ? "int8" : "uint8");
  ck_assert(in.scale == (double)m->scale && in.zero == m->zero);
  ck_assert_int_eq(mafat_model_describe_output(model, 0, &out), MAFAT_OK);
  ck_assert(o->places ? out.scale == 0 : out.scale == (double)o->scale && out.zero == o->zero);
  write_file(raw, "", 0, numbers, n);
  write_npy(array, g.is_signed ? "|i1" : "|u1", m, numbers, n);
  write_npy(reals, "<f4", m, floats, n * sizeof *floats);
  write_npy(wrong, g.is_signed ? "|u1" : "|i1", m, numbers, n);
  run_file(model, raw, expected, n_out);
  for (size_t i = 0; i < n_out; i++) {
    float value = o->places ? (float)o->at[i] : (float)((double)o->scale * (o->at[i] - o->zero));
    ck_assert_msg(expected[i] == value, "element %zu: expected %g, found %g", i, (double)value,
                  (double)expected[i]);
  }
  run_file(model, array, found, n_out);
  ck_assert_mem_eq(found, expected, n_out * sizeof *found);
  run_file(model, reals, found, n_out);
  ck_assert_mem_eq(found, expected, n_out * sizeof *found);
  ck_assert_int_eq(mafat_model_set_input(model, NULL, floats, n, &d), MAFAT_OK);
  ck_assert_msg(mafat_model_run_inputs(model, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(mafat_model_read_output(model, out.name, found, n_out, &d), MAFAT_OK);
  ck_assert_mem_eq(found, expected, n_out * sizeof *found);
  ck_assert_int_eq(mafat_model_run_raw(model, wrong, &d), MAFAT_EUNSUPPORTED);
  ck_assert_ptr_nonnull(strstr(d.text, g.is_signed
                                           ? "expected a .npy file of int8 ('|i1'), found '|u1'"
                                           : "expected a .npy file of uint8 ('|u1'), found '|i1'"));
  const char *const files[] = {raw, array, reals, wrong};
  for (int i = 0; i < 4; i++) unlink(files[i]);
  mafat_model_close(&model);
  close(fd);
  test_integer_graph_close(&g);
}
END_TEST

/* For networks whose input is a picture of 1 or 3 channels, an input of pixels gives the same
 * output as the floats that these pixels stand for. */
START_TEST(pixels_equal_their_floats)
{
  static struct test_integer_graph g;
  static unsigned char pixels[ROOM];
  static float floats[ROOM], expected[ROOM], found[ROOM];
  struct mafat_diagnostic d = {""};
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_model *model;
  struct mafat_port_facts out = {.size = sizeof out};
  test_integer_graph_open(&g, (uint64_t)_i * 0x9e3779b97f4a7c15u + 5);
  for (uint64_t other = 1; g.maps[0].c != 1 && g.maps[0].c != 3;
       other++) { /* about one random network in 20 has a picture as input */
    test_integer_graph_close(&g);
    test_integer_graph_open(&g, ((uint64_t)_i + other * 0x10001) * 0x9e3779b97f4a7c15u + 5);
  }
  const struct test_integer_map *m = &g.maps[0], *o = test_integer_graph_output(&g, 0);
  size_t n = (size_t)(m->h * m->w * m->c), n_out = (size_t)(o->h * o->w * o->c);
  int fd = test_tflite_file(&g.model);
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  const float mean[] = {100, 100, 100},
              scale[] = {m->scale * 1.5f, m->scale * 1.5f, m->scale * 1.5f};
  struct test_rng rng = test_rng((uint64_t)_i);
  for (size_t i = 0; i < n; i++) {
    pixels[i] = (unsigned char)test_random_int(&rng, 0, 255);
    floats[i] = ((float)pixels[i] - mean[0]) * scale[0];
  }
  options.memory_bytes = (size_t)1 << 28;
  options.mean = mean;
  options.scale = scale;
  ck_assert_msg(mafat_model_open(&model, path, NULL, &options, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(mafat_model_describe_output(model, 0, &out), MAFAT_OK);
  ck_assert_int_eq(mafat_model_set_input(model, NULL, floats, n, &d), MAFAT_OK);
  ck_assert_msg(mafat_model_run_inputs(model, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(mafat_model_read_output(model, out.name, expected, n_out, &d), MAFAT_OK);
  ck_assert_msg(mafat_model_run_pixels(model, pixels, m->w, m->h, m->c, (size_t)(m->w * m->c),
                                       &d) == MAFAT_OK,
                "%s", d.text);
  ck_assert_int_eq(mafat_model_read_output(model, out.name, found, n_out, &d), MAFAT_OK);
  ck_assert_mem_eq(found, expected, n_out * sizeof *found);
  mafat_model_close(&model);
  close(fd);
  test_integer_graph_close(&g);
}
END_TEST

/* ---- large maps ---- */

enum { LARGE_SIDE = 2903 }; /* pixels of value 255 in a square of this side have a sum above 2^31 */

/* Runs a model on a map of LARGE_SIDE x LARGE_SIDE pixels, which are all `in`. Returns its only
 * output. */
static float run_large(const struct test_tflite_model *model, float in)
{
  const size_t pixels = (size_t)LARGE_SIDE * LARGE_SIDE;
  struct mafat_diagnostic d = {""};
  struct mafat_model_options options = {.size = sizeof options};
  struct mafat_model *loaded;
  float *map = calloc(pixels, sizeof *map), found = NAN;
  struct test_imported m = test_import_tflite(model, &d);
  ck_assert_msg(m.code == MAFAT_OK, "%s", d.text);
  for (size_t i = 0; i < pixels; i++) map[i] = in;
  options.floats_only = true;
  options.memory_bytes = (size_t)1 << 28;
  ck_assert_msg(mafat_model_open(&loaded, m.path, NULL, &options, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_msg(mafat_model_run_floats(loaded, map, pixels, &d) == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(mafat_model_read_output(loaded, "m", &found, 1, &d), MAFAT_OK);
  mafat_model_close(&loaded);
  test_imported_close(&m);
  free(map);
  return found;
}

/* The mean of a map whose pixels are all equal to the zero point is 0. */
START_TEST(means_of_many_numbers)
{
  static const float scale = .5f;
  static const int64_t zero = 255;
  static const int32_t axes[] = {1, 2};
  const struct test_tflite_tensor tensors[] = {{.name = "x",
                                                .type = MAFAT_TFLITE_UINT8,
                                                .rank = 4,
                                                .shape = {1, LARGE_SIDE, LARGE_SIDE, 1},
                                                .n_scales = 1,
                                                .scales = &scale,
                                                .n_zero_points = 1,
                                                .zero_points = &zero},
                                               {.name = "a",
                                                .type = MAFAT_TFLITE_INT32,
                                                .rank = 1,
                                                .shape = {2},
                                                .data = axes,
                                                .bytes = sizeof axes},
                                               {.name = "m",
                                                .type = MAFAT_TFLITE_UINT8,
                                                .rank = 2,
                                                .shape = {1, 1},
                                                .n_scales = 1,
                                                .scales = &scale,
                                                .n_zero_points = 1,
                                                .zero_points = &zero}};
  const struct test_tflite_operator mean = {
      .code = MAFAT_TFLITE_MEAN, .n_inputs = 2, .inputs = {0, 1}, .n_outputs = 1, .outputs = {2}};
  const struct test_tflite_model model = {.tensors = tensors,
                                          .n_tensors = 3,
                                          .operators = &mean,
                                          .n_operators = 1,
                                          .n_inputs = 1,
                                          .inputs = {0},
                                          .n_outputs = 1,
                                          .outputs = {2}};
  ck_assert_float_eq(run_large(&model, 0), 0);
}
END_TEST

/* An average pool over a large map of int8 or uint8, whose pixels are all 255 above the zero
 * point. */
START_TEST(windows_of_many_numbers)
{
  const float scale = .5f;
  const int64_t zero = _i ? -128 : 0;
  const int type = _i ? MAFAT_TFLITE_INT8 : MAFAT_TFLITE_UINT8;
  const struct test_tflite_tensor tensors[] = {{.name = "x",
                                                .type = type,
                                                .rank = 4,
                                                .shape = {1, LARGE_SIDE, LARGE_SIDE, 1},
                                                .n_scales = 1,
                                                .scales = &scale,
                                                .n_zero_points = 1,
                                                .zero_points = &zero},
                                               {.name = "m",
                                                .type = type,
                                                .rank = 4,
                                                .shape = {1, 1, 1, 1},
                                                .n_scales = 1,
                                                .scales = &scale,
                                                .n_zero_points = 1,
                                                .zero_points = &zero}};
  const struct test_tflite_operator pool = {
      .code = MAFAT_TFLITE_AVERAGE_POOL_2D,
      .n_inputs = 1,
      .inputs = {0},
      .n_outputs = 1,
      .outputs = {1},
      .options = 5,
      .n_fields = 5,
      .fields = {{.number = 0, .bytes = 1, .value = MAFAT_TFLITE_VALID},
                 {.number = 1, .bytes = 4, .value = 1},
                 {.number = 2, .bytes = 4, .value = 1},
                 {.number = 3, .bytes = 4, .value = LARGE_SIDE},
                 {.number = 4, .bytes = 4, .value = LARGE_SIDE}}};
  const struct test_tflite_model model = {.tensors = tensors,
                                          .n_tensors = 2,
                                          .operators = &pool,
                                          .n_operators = 1,
                                          .n_inputs = 1,
                                          .inputs = {0},
                                          .n_outputs = 1,
                                          .outputs = {1}};
  ck_assert_float_eq(run_large(&model, 255 * scale), 255 * scale);
}
END_TEST

Suite *integer_graphs_suite(void)
{
  Suite *suite = suite_create("integer_graphs");
  TCase *t = tcase_create("integer_graphs");
  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, any_plan_matches_the_rule, 0, test_seeds(GRAPHS));
  tcase_add_loop_test(t, integers_have_their_own_costs, 0, test_seeds(60));
  tcase_add_test(t, measured_costs_do_not_depend_on_kernels);
  tcase_add_loop_test(t, pixels_equal_their_floats, 0, 400);
  tcase_add_loop_test(t, inputs_are_integers_or_floats, 0, test_seeds(40));
  tcase_add_test(t, means_of_many_numbers);
  tcase_add_loop_test(t, windows_of_many_numbers, 0, 2);
  suite_add_tcase(suite, t);
  return suite;
}
