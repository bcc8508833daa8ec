/* Covers formats/tflite/{import, import_channels, import_detection, import_layers, import_math,
 * import_parts, import_shape, operators, order, give, picture}.c, formats/graph/{compute, graph,
 * joining, places, shape}.c, network/kinds/pool.c, runner/engine/kinds/activation.c: networks made
 * from .tflite models: what operators compute, how many layers they become, what is refused, and
 * that damaged or large models do no harm. Models are in memory files (memfd); public models are
 * read from the folder $MAFAT_MODELS. */
#include "formats/tflite/import.h"
#include "formats/tflite/tflite.h"
#include "runner/engine/executor.h"
#include "runner/weights/weights.h"
#include "tests/support/network_files.h"
#include "tests/support/imported.h"
#include "tests/support/support.h"
#include "tests/support/tflite_models.h"
#include "tests/support/tflite_operators.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

Suite *tflite_import_suite(void);

static struct mafat_diagnostic diagnostic;

enum { MOST_OUTPUTS = 4 };

/* ---- a model and its network ---- */

static struct test_imported import_bytes(const char *data, size_t n)
{
  return test_import(test_tflite_network_read, data, n, &diagnostic);
}

static struct test_imported import(const struct test_tflite_model *model)
{
  return test_import_tflite(model, &diagnostic);
}

/* Imports the test model of this name. */
static struct test_imported import_named(const char *name)
{
  for (int i = 0; i < test_tflite_n_operators(); i++)
    if (strcmp(test_tflite_operator_name(i), name) == 0) {
      struct test_imported m = import(test_tflite_operator_model(i));
      ck_assert_msg(m.code == MAFAT_OK, "%s", diagnostic.text);
      return m;
    }
  ck_abort_msg("no model %s", name);
}

/* ---- running ---- */

static float *make_input(const struct mafat_port *port)
{
  float *chw = calloc((size_t)mafat_shape_elements(port->shape), sizeof *chw);
  uint32_t state = 7;
  for (long long i = 0; i < mafat_view_elements(&port->view); i++)
    chw[test_input_place(port, i)] = test_tflite_number(&state);
  return chw;
}

/* Sums an output's elements, each multiplied by its own pseudorandom number. */
static double project(const struct mafat_executor *e, const struct mafat_port *port)
{
  uint32_t state = 11;
  double sum = 0;
  for (long long i = 0; i < mafat_view_elements(&port->view); i++)
    sum += (double)test_output_at(e, port, i) * (double)test_tflite_number(&state);
  return sum;
}

static void run(const struct test_imported *m, const char *plan_text, double *projections)
{
  const struct mafat_network *n = m->network;
  struct mafat_executor_options options;
  struct mafat_executor *e;
  struct mafat_weights *w;
  struct mafat_plan *plan = test_plan(n, plan_text);
  struct mafat_layout *layout = test_layout(n, plan);
  mafat_executor_defaults(&options);
  int code = mafat_weights_open(&w, m->path, n, plan, layout, NULL, NULL, &diagnostic);
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  ck_assert_int_eq(mafat_executor_open(&e, n, plan, layout, w, &options, &diagnostic), MAFAT_OK);
  float *input = make_input(&n->inputs[0]);
  mafat_executor_set_input(e, input);
  ck_assert_int_eq(mafat_executor_run(e, &diagnostic), MAFAT_OK);
  for (int i = 0; i < n->n_outputs; i++) projections[i] = project(e, &n->outputs[i]);
  free(input);
  mafat_executor_close(&e);
  mafat_weights_close(&w);
  mafat_layout_close(&layout);
  mafat_plan_close(&plan);
}

/* ---- what operators compute ---- */

/* Results of TFLite 2.9's reference kernels for the same models and input. */
static const struct {
  const char *name;
  double projections[MOST_OUTPUTS];
} expected[] = {
    {"conv_same", {-14.9462114}},
    {"conv_dilated", {-4.4538204}},
    {"conv_padded", {-9.4632822}},
    {"channels_first", {-3.5094838}},
    {"depthwise", {-7.9076668}},
    {"transposed", {-28.6830471}},
    {"mean_pool", {1.4886690}},
    {"max_pool", {-2.2799837}},
    {"dense_of_map", {-3.5961085}},
    {"dense_of_turned_map", {2.7065849}},
    {"dense_of_rows", {-2.6592006}},
    {"matmul", {5.4490352}},
    {"add_constant", {-1.3550864}},
    {"subtract_from_constant", {8.2197655}},
    {"multiply_by_means", {-3.1867255}},
    {"swish", {-3.7724248}},
    {"activations", {-3.4658490}},
    {"functions", {-2.4671659}},
    {"gelu", {-2.7372635}},
    {"squares", {-2.0080339}},
    {"softmax", {-2.4728695}},
    {"log_softmax", {11.6721386}},
    {"l2", {-4.0214960}},
    {"sum", {-3.4106127}},
    {"largest", {-1.2866625}},
    {"gather", {1.4833962}},
    {"bilinear", {-1.8021818}},
    {"bilinear_corners", {0.4984557}},
    {"nearest", {-1.1043388}},
    {"reshape", {-3.2107380}},
    {"transpose", {-1.2289668}},
    {"shuffle", {-5.5690922}},
    {"concatenation", {-5.4202859}},
    {"split", {0.7386302, -1.4069567, 2.9105660}},
    {"unpack_and_pack", {-4.2556127}},
    {"strided_slice", {1.2919656}},
    {"slice", {0.4429450}},
    {"pad", {-1.9932790}},
    {"mirror", {-8.2185403}},
    {"depth_to_space", {-0.1037383}},
    {"space_to_depth", {-1.8881950}},
    {"reshape_by_shape", {-5.8957735}},
    {"slice_of_slice", {-0.9119994}},
    {"softmax_turned", {-2.0085981}},
    {"concatenation_with_one", {-5.9410084}},
    {"detections", {1.8404642, -5.8799314, -1.3329710, -2.0773520}},
    {"detections_by_class", {1.1723495, -5.6243807, -2.9025777, -7.7900702}},
    {"add_after_depth_to_space", {4.3494740}},
    {"concatenation_of_slices", {-4.6542201}}};

START_TEST(operators_compute_what_tflite_computes)
{
  static const char *const plans[] = {"1x1", "rows1", "rows3", "panels"};
  ck_assert_str_eq(test_tflite_operator_name(_i), expected[_i].name);
  struct test_imported m = import(test_tflite_operator_model(_i));
  ck_assert_msg(m.code == MAFAT_OK, "%s", diagnostic.text);
  for (size_t p = 0; p < sizeof plans / sizeof *plans; p++) {
    double found[MOST_OUTPUTS];
    run(&m, plans[p], found);
    for (int k = 0; k < m.network->n_outputs; k++)
      ck_assert_msg(fabs(found[k] - expected[_i].projections[k]) <= 1e-5,
                    "%s, plan %s, output %d: found %.7f, expected %.7f", expected[_i].name,
                    plans[p], k, found[k], expected[_i].projections[k]);
  }
  test_imported_close(&m);
}
END_TEST

/* ---- layers ---- */

START_TEST(weights_stay_in_the_file)
{
  struct test_imported m = import_named("conv_same");
  struct mafat_tflite *model;
  struct mafat_model_file *file;
  ck_assert_int_eq(mafat_model_file_open(&file, m.path, &diagnostic), MAFAT_OK);
  ck_assert_int_eq(mafat_tflite_read(&model, file, &diagnostic), MAFAT_OK);
  const struct mafat_layer_constants *c = &m.network->constants->layers[0];
  ck_assert(c->weights.file == 0 && c->weights.at == model->tensors[1].at &&
            c->weights.n == 9 * 3 * 2 * 5);
  ck_assert(c->weights.order == MAFAT_ORDER_FILTERS_TAPS && c->biases.at == model->tensors[2].at &&
            c->biases.n == 9);
  ck_assert(strcmp(m.network->format.name, "tflite") == 0 && m.network->n_values == 0);
  mafat_tflite_close(&model);
  mafat_model_file_close(&file);
  test_imported_close(&m);
}
END_TEST

/* With SAME, an odd row or column of padding is after the map; a fused activation is part of the
 * layer. */
START_TEST(same_pads_more_after_the_map)
{
  struct test_imported m = import_named("conv_same");
  ck_assert_int_eq(m.network->n_layers, 1);
  const struct mafat_layer *l = m.network->layers;
  ck_assert(l->window.y.size == 3 && l->window.y.stride == 2 && l->window.y.before == 1 &&
            l->window.y.after == 1);
  ck_assert(l->window.x.size == 2 && l->window.x.before == 0 && l->window.x.after == 0);
  ck_assert_int_eq(l->activation.kind, MAFAT_RELU6);
  ck_assert(l->out.h == 4 && l->out.w == 3 && l->out.c == 9);
  test_imported_close(&m);
}
END_TEST

START_TEST(pads_become_part_of_the_window)
{
  struct test_imported m = import_named("conv_padded");
  const struct mafat_layer *l = m.network->layers;
  ck_assert_int_eq(m.network->n_layers, 1);
  ck_assert(l->window.y.before == 1 && l->window.y.after == 2 && l->window.x.before == 0 &&
            l->window.x.after == 1);
  test_imported_close(&m);
}
END_TEST

/* Models and the number of layers they become, without layers that copy. */
static const struct {
  const char *name;
  int layers;
} sizes[] = {{"channels_first", 1}, {"depthwise", 1},      {"dense_of_map", 1},
             {"swish", 1},          {"transposed", 2},     {"concatenation", 2},
             {"slice_of_slice", 1}, {"softmax_turned", 1}, {"concatenation_with_one", 2}};

START_TEST(models_become_few_layers)
{
  struct test_imported m = import_named(sizes[_i].name);
  ck_assert_msg(m.network->n_layers == sizes[_i].layers, "%s: found %d layers",
                sizes[_i].name, m.network->n_layers);
  test_imported_close(&m);
}
END_TEST

START_TEST(inputs_and_outputs_have_names)
{
  struct test_imported m = import_named("split");
  const struct mafat_network *n = m.network;
  ck_assert(n->n_inputs == 1 && n->n_outputs == 3);
  ck_assert_str_eq(n->inputs[0].name, "t0");
  ck_assert(n->inputs[0].view.n_dims == 4 && n->inputs[0].shape.h == 4 &&
            n->inputs[0].shape.w == 5 && n->inputs[0].shape.c == 6);
  ck_assert_str_eq(n->outputs[1].name, "t4");
  ck_assert(n->outputs[1].view.n_dims == 4 && n->outputs[1].view.dims[3] == 3);
  test_imported_close(&m);
}
END_TEST

/* ---- what is refused ---- */

static struct test_tflite_tensor tensors[16];
static struct test_tflite_operator operators[8];

static void quantize_input(void)
{
  tensors[0].type = MAFAT_TFLITE_INT8;
}

static void quantize_weights(void)
{
  tensors[1].type = MAFAT_TFLITE_INT8;
  tensors[1].bytes /= 4;
}

static void put_out_integers(void)
{
  tensors[3].type = MAFAT_TFLITE_INT32;
}

static void halve_biases(void)
{
  tensors[2].type = MAFAT_TFLITE_FLOAT16;
  tensors[2].bytes /= 2;
}

static void dequantize(void)
{
  operators[0].code = MAFAT_TFLITE_DEQUANTIZE;
  operators[0].options = 0;
}

static void recur(void)
{
  operators[0].code = 16;
  operators[0].options = 0;
}

static void customize(void)
{
  operators[0].code = MAFAT_TFLITE_CUSTOM;
  operators[0].custom = "Lattice";
  operators[0].options = 0;
}

static void compute_weights(void)
{
  operators[0].inputs[1] = 0;
}

static void leave_out_weights(void)
{
  operators[0].inputs[1] = -1;
}

static void give_two_inputs(void)
{
  operators[0].n_inputs = 1;
}

static void widen_weights(void)
{
  tensors[1].shape[0] = 5;
  tensors[1].shape[3] = 9;
}

static void put_out_a_batch(void)
{
  tensors[0].shape[0] = 2;
}

static void sign(void)
{
  operators[0].fields[3].value = MAFAT_TFLITE_FUSED_SIGN_BIT;
}

/* A window of 4096 taps, each a million pixels from the next. */
static void reach_far(void)
{
  static const struct test_tflite_field dilation = {.number = 4, .bytes = 4, .value = 1 << 20};
  static const float weights[9 * 4096 * 5];
  operators[0].fields[operators[0].n_fields++] = dilation;
  tensors[1].shape[0] = 9, tensors[1].shape[1] = 1, tensors[1].shape[2] = 4096,
  tensors[1].shape[3] = 5;
  tensors[1].data = weights, tensors[1].bytes = sizeof weights;
}

static const struct {
  void (*change)(void);
  int code;
  const char *text;
} refusals[] = {
    {quantize_input, MAFAT_EFORMAT, ": tensor t0: expected a scale, found none"},
    {quantize_weights, MAFAT_EFORMAT, ": CONV_2D 't3': tensor t1: expected a scale, found none"},
    {put_out_integers, MAFAT_EFORMAT,
     ": CONV_2D 't3': output t3 is of type INT32: expected that of its input t0, FLOAT32"},
    {halve_biases, MAFAT_EUNSUPPORTED, ": CONV_2D 't3': tensor t2 is FLOAT16"},
    {dequantize, MAFAT_EFORMAT, ": DEQUANTIZE 't3': expected INT8 or UINT8, found FLOAT32"},
    {recur, MAFAT_EUNSUPPORTED, ": LSTM 't3': this operator is not run"},
    {customize, MAFAT_EUNSUPPORTED, ": Lattice 't3': this operator is not run"},
    {compute_weights, MAFAT_EUNSUPPORTED, ": CONV_2D 't3': expected constant weights"},
    {leave_out_weights, MAFAT_EFORMAT, ": CONV_2D 't3': input 1 is left out"},
    {give_two_inputs, MAFAT_EFORMAT, ": CONV_2D 't3': expected at least 2 inputs, found 1"},
    {widen_weights, MAFAT_EFORMAT,
     ": CONV_2D 't3': weights for 5 filters of 9 channels, but an input of 5"},
    {put_out_a_batch, MAFAT_EUNSUPPORTED,
     ": CONV_2D 't3': expected an input of 4 dimensions, the first of them 1, found 4 and 2"},
    {reach_far, MAFAT_EUNSUPPORTED,
     ": CONV_2D 't3': a window of 4096 with a dilation of 1048576: expected less than 1048576 "
     "pixels"},
    {sign, MAFAT_EUNSUPPORTED, ": CONV_2D 't3': fused_activation_function: SIGN_BIT is not run"}};

START_TEST(unsupported_models_are_refused)
{
  struct test_tflite_model changed = *test_tflite_operator_model(0);
  memcpy(tensors, changed.tensors, (size_t)changed.n_tensors * sizeof *tensors);
  memcpy(operators, changed.operators, (size_t)changed.n_operators * sizeof *operators);
  changed.tensors = tensors;
  changed.operators = operators;
  refusals[_i].change();
  struct test_imported m = import(&changed);
  ck_assert_msg(m.code == refusals[_i].code && strstr(diagnostic.text, refusals[_i].text), "%d: %s",
                m.code, diagnostic.text);
  test_imported_close(&m);
}
END_TEST

/* Each model has one operator, which reads a small map `x` and lists of integers. A file can
 * contain such a model, but TFLite does not define its result, so it is refused. */
static const struct undefined {
  struct test_tflite_operator operator;
  int rank;
  int32_t shape[4];      /* of x, tensor 0 */
  int n[3];
  int32_t lists[3][8];   /* tensors 1 to 3 */
  int code;
  const char *text;
} undefined[] = {
    {{.code = MAFAT_TFLITE_MIRROR_PAD},
     2,
     {3, 4},
     {4},
     {{3, 0, 0, 0}},
     MAFAT_EFORMAT,
     ": MIRROR_PAD 'y': mode: REFLECT: expected paddings of dimension 0 of at most 2, found 3 and "
     "0"},
    {{.code = MAFAT_TFLITE_MIRROR_PAD,
      .options = 77,
      .n_fields = 1,
      .fields = {{.number = 0, .bytes = 1, .value = 1}}},
     2,
     {3, 4},
     {4},
     {{0, 0, 0, 2}},
     MAFAT_EUNSUPPORTED,
     ": MIRROR_PAD 'y': mode: SYMMETRIC: expected paddings of dimension 1 of at most 1, found 0 "
     "and 2"},
    {{.code = MAFAT_TFLITE_PAD},
     4,
     {1, 1, 4, 2},
     {8},
     {{2, 0, 1, 0, 0, 0, 0, 0}},
     MAFAT_EUNSUPPORTED,
     ": PAD 'y': pads dimension 0, which shares an axis with others"},
    {{.code = MAFAT_TFLITE_STRIDED_SLICE,
      .options = 32,
      .n_fields = 1,
      .fields = {{.number = 4, .bytes = 4, .value = 2}}},
     2,
     {3, 4},
     {2, 2, 2},
     {{0, 1}, {3, 2}, {1, -1}},
     MAFAT_EFORMAT,
     ": STRIDED_SLICE 'y': strides: dimension 1 is in shrink_axis_mask: expected a stride above 0, "
     "found -1"},
    {{.code = MAFAT_TFLITE_RESIZE_NEAREST_NEIGHBOR,
      .options = 74,
      .n_fields = 2,
      .fields = {{.number = 0, .bytes = 1, .value = 1}, {.number = 1, .bytes = 1, .value = 1}}},
     4,
     {1, 2, 2, 3},
     {2},
     {{4, 4}},
     MAFAT_EFORMAT,
     ": RESIZE_NEAREST_NEIGHBOR 'y': align_corners, half_pixel_centers: expected one of them at "
     "most, found both"},
};

START_TEST(undefined_operators_are_refused)
{
  static const char *const names[] = {"x", "first", "second", "third", "y"};
  const struct undefined *m = &undefined[_i];
  struct test_tflite_operator o = m->operator;
  struct test_tflite_tensor all[5] = {{.name = "x", .rank = m->rank}};
  memcpy(all[0].shape, m->shape, sizeof m->shape);
  o.n_inputs = o.n_outputs = 1;
  for (int k = 1; k < 5; k++) all[k] = (struct test_tflite_tensor){.name = names[k]};
  for (int k = 0; k < 3 && m->n[k]; k++) {
    struct test_tflite_tensor list = {.name = names[k + 1],
                                      .type = MAFAT_TFLITE_INT32,
                                      .rank = 1,
                                      .shape = {m->n[k]},
                                      .data = m->lists[k],
                                      .bytes = (size_t)m->n[k] * sizeof(int32_t)};
    o.inputs[o.n_inputs++] = k + 1;
    all[k + 1] = list;
  }
  o.outputs[0] = 4;
  const struct test_tflite_model model = {.tensors = all,
                                          .n_tensors = 5,
                                          .operators = &o,
                                          .n_operators = 1,
                                          .n_inputs = 1,
                                          .n_outputs = 1,
                                          .outputs = {4}};
  struct test_imported imported = import(&model);
  ck_assert_msg(imported.code == m->code && strstr(diagnostic.text, m->text), "%d: %s",
                imported.code, diagnostic.text);
  test_imported_close(&imported);
}
END_TEST

/* A transposed convolution of stride 2 makes 9 or 10 columns from 5, because a convolution of
 * stride 2 makes 5 columns from 9 or 10. Other numbers are refused. */
START_TEST(transposed_convolutions_reverse_convolutions)
{
  int number = 0;
  while (test_tflite_operator_model(number)->operators[0].code != MAFAT_TFLITE_TRANSPOSE_CONV)
    number++;
  for (int columns = 8; columns <= 11; columns++) {
    struct test_tflite_model changed = *test_tflite_operator_model(number);
    const int32_t shape[] = {1, 7, columns, 6};
    memcpy(tensors, changed.tensors, (size_t)changed.n_tensors * sizeof *tensors);
    changed.tensors = tensors;
    tensors[changed.operators[0].inputs[0]].data = shape;
    struct test_imported m = import(&changed);
    if (columns == 9 || columns == 10) ck_assert_msg(m.code == MAFAT_OK, "%s", diagnostic.text);
    else
      ck_assert_msg(m.code == MAFAT_EFORMAT &&
                        strstr(diagnostic.text, "does not make its input, 4 x 5"),
                    "%d: %s", m.code, diagnostic.text);
    test_imported_close(&m);
  }
}
END_TEST

/* The dimensions of an input are rows, columns, channels. They are channels, rows, columns if the
 * model first moves the first dimension to the end. */
START_TEST(transposed_pictures_keep_their_sides)
{
  static const struct { int32_t shape[4], perm[4]; struct mafat_shape is; } cases[] = {
      {{1, 3, 5, 7}, {0, 2, 3, 1}, {.c = 3, .h = 5, .w = 7}},
      {{1, 5, 7, 3}, {0, 2, 1, 3}, {.c = 3, .h = 5, .w = 7}},
      {{1, 5, 7, 3}, {0, 3, 1, 2}, {.c = 3, .h = 5, .w = 7}},
      {{1, 5, 7, 3}, {0, 3, 2, 1}, {.c = 3, .h = 5, .w = 7}},
  };
  struct test_tflite_tensor all[3] = {
      {.name = "x", .rank = 4},
      {.name = "perm", .type = MAFAT_TFLITE_INT32, .rank = 1, .shape = {4}},
      {.name = "y"}};
  const struct test_tflite_operator o = {.code = MAFAT_TFLITE_TRANSPOSE,
                                         .n_inputs = 2,
                                         .inputs = {0, 1},
                                         .n_outputs = 1,
                                         .outputs = {2}};
  const struct test_tflite_model model = {.tensors = all,
                                          .n_tensors = 3,
                                          .operators = &o,
                                          .n_operators = 1,
                                          .n_inputs = 1,
                                          .n_outputs = 1,
                                          .outputs = {2}};
  memcpy(all[0].shape, cases[_i].shape, sizeof cases->shape);
  all[1].data = cases[_i].perm, all[1].bytes = sizeof cases->perm;
  struct test_imported m = import(&model);
  ck_assert_msg(m.code == MAFAT_OK, "%s", diagnostic.text);
  struct mafat_shape picture = mafat_network_picture_shape(m.network);
  ck_assert(picture.c == cases[_i].is.c && picture.h == cases[_i].is.h &&
            picture.w == cases[_i].is.w);
  test_imported_close(&m);
}
END_TEST

/* ---- damage ---- */

START_TEST(damaged_models_do_no_harm)
{
  static const int32_t lies[] = {0, -1, 1, 2, 3, 7, 100, 1 << 20, INT32_MAX, INT32_MIN};
  size_t n;
  char *data = test_tflite_write(test_tflite_operator_model(_i), &n), *copy = malloc(n);
  struct test_rng rng = test_rng((uint64_t)_i);
  for (int k = 0; k < test_seeds(300); k++) {
    memcpy(copy, data, n);
    size_t at = 8 + test_random(&rng) % (n - 12);
    if (k % 2) copy[at] = (char)test_random(&rng);
    else memcpy(copy + at / 4 * 4, &lies[test_random(&rng) % 10], sizeof *lies);
    struct test_imported m = import_bytes(copy, n);
    test_imported_close(&m);
  }
  free(copy);
  free(data);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
  struct test_imported m = import(test_tflite_operator_model(_i));
  test_import_without_memory(test_tflite_network_read, m.path, NULL, test_tflite_operator_name(_i));
  test_imported_close(&m);
}
END_TEST

/* ---- pictures ---- */

/* An input with channels as its first dimension is recognized even if it is normalized before the
 * channels are moved to the end. */
START_TEST(pictures_may_be_normalized_before_they_are_transposed)
{
  static const float mean[] = {1, 2, 3}, scale[] = {.5f};
  static const int32_t perm[] = {0, 2, 3, 1};
  const struct test_tflite_tensor list[] = {
      {.name = "x", .rank = 4, .shape = {1, 3, 8, 6}},
      {.name = "mean", .rank = 3, .shape = {3, 1, 1}, .data = mean, .bytes = sizeof mean},
      {.name = "less", .rank = 4, .shape = {1, 3, 8, 6}},
      {.name = "scale", .data = scale, .bytes = sizeof scale},
      {.name = "scaled", .rank = 4, .shape = {1, 3, 8, 6}},
      {.name = "perm",
       .type = MAFAT_TFLITE_INT32,
       .rank = 1,
       .shape = {4},
       .data = perm,
       .bytes = sizeof perm},
      {.name = "y", .rank = 4, .shape = {1, 8, 6, 3}}};
  const struct test_tflite_operator steps[] = {
      {.code = MAFAT_TFLITE_SUB, .n_inputs = 2, .inputs = {0, 1}, .n_outputs = 1, .outputs = {2}},
      {.code = MAFAT_TFLITE_MUL, .n_inputs = 2, .inputs = {3, 2}, .n_outputs = 1, .outputs = {4}},
      {.code = MAFAT_TFLITE_TRANSPOSE,
       .n_inputs = 2,
       .inputs = {4, 5},
       .n_outputs = 1,
       .outputs = {6}}};
  struct test_imported m = import(&(struct test_tflite_model){.tensors = list,
                                                              .n_tensors = 7,
                                                              .operators = steps,
                                                              .n_operators = 3,
                                                              .n_inputs = 1,
                                                              .inputs = {0},
                                                              .n_outputs = 1,
                                                              .outputs = {6}});
  ck_assert_msg(m.code == MAFAT_OK, "%s", diagnostic.text);
  struct mafat_shape s = mafat_network_picture_shape(m.network);
  ck_assert(s.h == 8 && s.w == 6 && s.c == 3);
  test_imported_close(&m);
}
END_TEST

/* ---- constants that are given ---- */

/* Turns constant number `tensor` of the model into an input, and imports the model with a file that
 * gives this input a constant value. The file consists of `header` (NumPy's or empty) and the
 * constant's data. */
static int import_given(const struct test_tflite_model *model, int tensor, const char *header,
                        size_t header_bytes, struct mafat_network **n)
{
  struct test_tflite_tensor list_of[16];
  struct test_tflite_model m = *model;
  char text[160];
  const char *const list[] = {text};
  size_t bytes;
  memcpy(list_of, model->tensors, (size_t)model->n_tensors * sizeof *list_of);
  m.tensors = list_of;
  m.inputs[m.n_inputs++] = tensor;
  int fd = memfd_create("given", MFD_CLOEXEC), model_fd;
  ck_assert_int_eq(write(fd, header, header_bytes), (ssize_t)header_bytes);
  ck_assert_int_eq(write(fd, list_of[tensor].data, list_of[tensor].bytes),
                   (ssize_t)list_of[tensor].bytes);
  snprintf(text, sizeof text, "%s=/proc/self/fd/%d", list_of[tensor].name, fd);
  list_of[tensor].data = NULL;
  list_of[tensor].bytes = 0;
  char *data = test_tflite_write(&m, &bytes), path[64];
  model_fd = memfd_create("tflite", MFD_CLOEXEC);
  ck_assert_int_eq(write(model_fd, data, bytes), (ssize_t)bytes);
  free(data);
  snprintf(path, sizeof path, "/proc/self/fd/%d", model_fd);
  struct mafat_given given = {list, 1};
  int code = test_tflite_network_read(n, path, &given, &diagnostic);
  if (code == MAFAT_OK)
    test_import_without_memory(test_tflite_network_read, path, &given, list_of[tensor].name);
  close(model_fd);
  close(fd);
  return code;
}

START_TEST(constants_may_be_given)
{
  const struct test_tflite_model *model = test_tflite_operator_model(_i);
  struct test_imported m = import(model);
  if (!m.network) return; /* the model is refused anyway */
  for (int t = 0; t < model->n_tensors; t++) {
    struct mafat_network *n;
    if (!model->tensors[t].data || model->n_inputs == TEST_TFLITE_LIST) continue;
    int code = import_given(model, t, "", 0, &n);
    ck_assert_msg(code == MAFAT_OK, "%s, tensor %d: %s", test_tflite_operator_name(_i), t,
                  diagnostic.text);
    ck_assert(n->n_layers == m.network->n_layers && n->n_inputs == m.network->n_inputs &&
              n->n_outputs == m.network->n_outputs && n->n_files == 1);
    for (int l = 0; l < n->n_layers; l++)
      ck_assert_mem_eq(&n->layers[l].out, &m.network->layers[l].out, sizeof n->layers[l].out);
    ck_assert(n->n_values == m.network->n_values &&
              (!n->n_values ||
               memcmp(n->values, m.network->values, n->n_values * sizeof *n->values) == 0));
    mafat_network_close(&n);
    ck_assert_int_eq(import_given(model, t, "more", 4, &n), MAFAT_EFORMAT);
  }
  test_imported_close(&m);
}
END_TEST

/* ---- large models ---- */

/* Imports a large model and checks that it takes at most `most` processor seconds. */
static struct test_imported import_in_time(const struct test_tflite_model *model, double most)
{
  clock_t begin = clock();
  struct test_imported m = import(model);
  double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
  ck_assert_msg(seconds < test_patience(most), "took %.2f processor seconds", seconds);
  return m;
}

/* Scales and zero points may be megabytes apart in the file. Reading them alternately would be
 * slow. */
START_TEST(scales_are_read_in_large_pieces)
{
  enum { X, Y, WEIGHTS, REALS, N = 1 << 21 };
  float *scales = malloc(N * sizeof *scales);
  int64_t *zeros = calloc(N, sizeof *zeros);
  char *numbers = calloc(N, 1);
  ck_assert(scales && zeros && numbers);
  for (int i = 0; i < N; i++) scales[i] = .5f;
  const struct test_tflite_tensor all[] = {[X] = {.name = "x", .rank = 4, .shape = {1, 4, 4, 4}},
                                           [Y] = {.name = "y", .rank = 4, .shape = {1, 4, 4, 4}},
                                           [WEIGHTS] = {.name = "w",
                                                        .type = MAFAT_TFLITE_INT8,
                                                        .rank = 1,
                                                        .shape = {N},
                                                        .data = numbers,
                                                        .bytes = N,
                                                        .n_scales = N,
                                                        .scales = scales,
                                                        .n_zero_points = N,
                                                        .zero_points = zeros},
                                           [REALS] = {.name = "r", .rank = 1, .shape = {N}}};
  const struct test_tflite_operator both[] = {
      {.code = MAFAT_TFLITE_DEQUANTIZE,
       .n_inputs = 1,
       .inputs = {WEIGHTS},
       .n_outputs = 1,
       .outputs = {REALS}},
      {.code = MAFAT_TFLITE_RELU, .n_inputs = 1, .inputs = {X}, .n_outputs = 1, .outputs = {Y}}};
  struct test_imported m = import_in_time(&(struct test_tflite_model){.tensors = all,
                                                                      .n_tensors = 4,
                                                                      .operators = both,
                                                                      .n_operators = 2,
                                                                      .n_inputs = 1,
                                                                      .inputs = {X},
                                                                      .n_outputs = 1,
                                                                      .outputs = {Y}},
                                          2);
  ck_assert_msg(m.code == MAFAT_OK, "%s", diagnostic.text);
  test_imported_close(&m);
  free(scales);
  free(zeros);
  free(numbers);
}
END_TEST

/* The import must not search all operators for the readers of each Cast. */
START_TEST(many_casts_are_read_in_time)
{
  enum { X, TABLE, FIRST, N = 30000, N_TENSORS = FIRST + 2 * N };
  static const float table[8 * 4];
  static const int codes[] = {MAFAT_TFLITE_CAST, MAFAT_TFLITE_GATHER};
  struct test_tflite_tensor *all = calloc(N_TENSORS, sizeof *all);
  struct test_tflite_operator *each = calloc(2 * N, sizeof *each);
  ck_assert(all && each);
  all[X] = (struct test_tflite_tensor){.name = "x", .rank = 2, .shape = {1, 4}};
  all[TABLE] = (struct test_tflite_tensor){
      .name = "t", .rank = 2, .shape = {8, 4}, .data = table, .bytes = sizeof table};
  for (int i = 0; i < N; i++) {
    all[FIRST + i] = (struct test_tflite_tensor){
        .name = "c", .type = MAFAT_TFLITE_INT32, .rank = 2, .shape = {1, 4}};
    all[FIRST + N + i] = (struct test_tflite_tensor){.name = "g", .rank = 3, .shape = {1, 4, 4}};
    each[i] = (struct test_tflite_operator){.code = MAFAT_TFLITE_CAST,
                                            .n_inputs = 1,
                                            .inputs = {X},
                                            .n_outputs = 1,
                                            .outputs = {FIRST + i}};
    each[N + i] = (struct test_tflite_operator){.code = MAFAT_TFLITE_GATHER,
                                                .n_inputs = 2,
                                                .inputs = {TABLE, FIRST + i},
                                                .n_outputs = 1,
                                                .outputs = {FIRST + N + i}};
  }
  struct test_imported m = import_in_time(&(struct test_tflite_model){.tensors = all,
                                                                      .n_tensors = N_TENSORS,
                                                                      .operators = each,
                                                                      .n_operators = 2 * N,
                                                                      .codes = codes,
                                                                      .n_codes = 2,
                                                                      .n_inputs = 1,
                                                                      .inputs = {X},
                                                                      .n_outputs = 1,
                                                                      .outputs = {FIRST + N}},
                                          1.5);
  ck_assert_msg(m.code == MAFAT_EUNSUPPORTED &&
                    strstr(diagnostic.text, "expected at most 4096 layers"),
                "%s", diagnostic.text);
  test_imported_close(&m);
  free(all);
  free(each);
}
END_TEST

/* ---- public models ---- */

static const struct {
  const char *name;
  int layers;
} models[] = {{"ad01_fp32", 10},
              {"cifar10", 7},
              {"hello_world_float", 3},
              {"magic_wand", 7},
              {"micro_kws_m_fp32", 11},
              {"mobilenet_v1_0.25_128_float", 30},
              {"pretrainedResnet", 15},
              {"text_class", 7},
              {"vww_96_float", 30},
              {"ad01_int8", 10},
              {"hello_world_int8", 3},
              {"kws_ref_model", 12},
              {"mcunet-320kb-1mb_imagenet", 68},
              {"mcunetv2_large", 183},
              {"micro_speech_quantized", 4},
              {"mobilenet_v1_0.25_128_quant", 30},
              {"mobilenet_v2_1.0_224_int8_pytorch", 64},
              {"mobilenet_v2_1.0_224_quant", 65},
              {"posenet_mobilenet_v1_100_257x257_integer_quant", 36},
              {"pretrainedResnet_quant", 15},
              {"ssd_mobilenet_v1_quant", 65},
              {"vww_96_int8", 30},
              {"kws_ref_model_float32", 12},
              {"yolox_nano_dynamic_range", 161}};

START_TEST(public_models_become_networks)
{
  struct mafat_network *n;
  const char *folder = getenv("MAFAT_MODELS");
  char path[1024];
  snprintf(path, sizeof path, "%s/tflite/%s.tflite", folder ? folder : "", models[_i].name);
  if (!folder || access(path, R_OK) != 0) {
    printf("test_tflite_import: skipped %s: MAFAT_MODELS names no folder that has it\n",
           models[_i].name);
    return;
  }
  int code = test_tflite_network_read(&n, path, NULL, &diagnostic);
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  ck_assert_int_eq(n->n_layers, models[_i].layers);
  mafat_network_close(&n);
}
END_TEST

/* If the model or a given constant's file is replaced after the network was read, its weights are
 * refused. */
START_TEST(weights_of_replaced_files_are_refused)
{
  static const struct test_tflite_tensor list_of[] = {
      {.name = "x", .rank = 4, .shape = {1, 4, 4, 1}},
      {.name = "w", .rank = 4, .shape = {1, 4, 4, 1}},
      {.name = "y", .rank = 4, .shape = {1, 4, 4, 1}}};
  static const struct test_tflite_operator add = {
      .code = 0, .n_inputs = 2, .n_outputs = 1, .inputs = {0, 1}, .outputs = {2}};
  static const float numbers[16] = {1, 2, 3};
  const struct test_tflite_model model = {.tensors = list_of,
                                          .operators = &add,
                                          .n_tensors = 3,
                                          .n_operators = 1,
                                          .n_inputs = 2,
                                          .n_outputs = 1,
                                          .inputs = {0, 1},
                                          .outputs = {2}};
  const struct timespec other[] = {{.tv_sec = 1}, {.tv_sec = 1}};
  struct mafat_network *n;
  struct mafat_weights *w;
  char path[64], text[64], *list[] = {text};
  size_t bytes;
  char *data = test_tflite_write(&model, &bytes);
  int fds[] = {memfd_create("tflite", MFD_CLOEXEC), memfd_create("given", MFD_CLOEXEC)};
  ck_assert_int_eq(write(fds[0], data, bytes), (ssize_t)bytes);
  ck_assert_int_eq(write(fds[1], numbers, sizeof numbers), (ssize_t)sizeof numbers);
  snprintf(path, sizeof path, "/proc/self/fd/%d", fds[0]);
  snprintf(text, sizeof text, "w=/proc/self/fd/%d", fds[1]);
  struct mafat_given given = {(const char *const *)list, 1};
  int code = test_tflite_network_read(&n, path, &given, &diagnostic);
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  code = mafat_weights_open_kept(&w, path, n, n->n_layers, NULL, &diagnostic);
  ck_assert_msg(code == MAFAT_OK, "%s", diagnostic.text);
  mafat_weights_close(&w);
  ck_assert_int_eq(futimens(fds[_i], other), 0);
  ck_assert_int_eq(mafat_weights_open_kept(&w, path, n, n->n_layers, NULL, &diagnostic), MAFAT_EIO);
  ck_assert_msg(strstr(diagnostic.text, ": was written to or replaced after its network was read"),
                "%s", diagnostic.text);
  mafat_network_close(&n);
  close(fds[0]);
  close(fds[1]);
  free(data);
}
END_TEST

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

Suite *tflite_import_suite(void)
{
  Suite *suite = suite_create("tflite_import");
  TCase *computing = tcase_create("computing");
  tcase_add_loop_test(computing, operators_compute_what_tflite_computes, 0, COUNT(expected));
  suite_add_tcase(suite, computing);
  TCase *importing = tcase_create("importing");
  tcase_add_loop_test(importing, transposed_pictures_keep_their_sides, 0, 4);
  tcase_add_test(importing, weights_stay_in_the_file);
  tcase_add_test(importing, same_pads_more_after_the_map);
  tcase_add_test(importing, pads_become_part_of_the_window);
  tcase_add_loop_test(importing, models_become_few_layers, 0, COUNT(sizes));
  tcase_add_test(importing, inputs_and_outputs_have_names);
  tcase_add_test(importing, pictures_may_be_normalized_before_they_are_transposed);
  tcase_add_loop_test(importing, constants_may_be_given, 0, test_tflite_n_operators());
  tcase_add_loop_test(importing, weights_of_replaced_files_are_refused, 0, 2);
  tcase_add_loop_test(importing, public_models_become_networks, 0, COUNT(models));
  suite_add_tcase(suite, importing);
  TCase *refusing = tcase_create("refusing");
  tcase_set_timeout(refusing, 60);
  tcase_add_loop_test(refusing, unsupported_models_are_refused, 0, COUNT(refusals));
  tcase_add_loop_test(refusing, undefined_operators_are_refused, 0, COUNT(undefined));
  tcase_add_test(refusing, transposed_convolutions_reverse_convolutions);
  tcase_add_test(refusing, scales_are_read_in_large_pieces);
  tcase_add_test(refusing, many_casts_are_read_in_time);
  tcase_add_loop_test(refusing, damaged_models_do_no_harm, 0, COUNT(expected));
  tcase_add_loop_test(refusing, every_allocation_may_fail, 0, COUNT(expected));
  suite_add_tcase(suite, refusing);
  return suite;
}
