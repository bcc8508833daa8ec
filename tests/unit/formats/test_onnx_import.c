/* Covers formats/onnx/{bind, gelu, import, import_channels, import_dynamic, import_layers,
 * import_math, import_matrices, import_shape, names, picture, readers}.c, formats/graph/{across,
 * combine, compute, copying, matrices, shape}.c: networks made from .onnx models: how many layers
 * operators become, what is refused, and that damaged or large models do no harm. What operators
 * compute is tested by tests/conformance. Reads public models from the folder $MAFAT_MODELS. */
#include "formats/graph/graph.h"
#include "formats/onnx/import.h"
#include "tests/support/network_files.h"
#include "tests/support/failing_malloc.h"
#include "tests/support/imported.h"
#include "tests/support/onnx_operators.h"
#include "tests/support/support.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

Suite *onnx_import_suite(void);

#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))

static struct mafat_diagnostic diagnostic;

/* ---- a model and its network ---- */

static struct test_imported import_bytes(const char *data, size_t n)
{
  return test_import(test_onnx_network_read, data, n, &diagnostic);
}

static struct test_imported import(struct test_message model)
{
  return test_import_onnx(model, &diagnostic);
}

/* ---- operators as layers ---- */

START_TEST(operators_become_layers)
{
  const struct test_onnx_operator *o = test_onnx_operator((unsigned)_i);
  struct test_imported m = import(test_onnx_operator_model(o));
  ck_assert_msg(m.code == MAFAT_OK, "%s %s: %s", o->op_type, o->attributes, diagnostic.text);
  ck_assert_int_ge(m.network->n_outputs, 1);
  for (int k = 0; k < m.network->n_outputs; k++) {
    const struct mafat_port *p = &m.network->outputs[k];
    ck_assert_msg(mafat_view_elements(&p->view) <= mafat_shape_elements(p->shape),
                  "%s %s: an output has more elements than its map", o->op_type, o->attributes);
  }
  test_imported_close(&m);
}
END_TEST

/* ---- what is refused ---- */

static const struct test_onnx_refusal refusals[] = {
    {{"LSTM", "x w", "", 0, NULL}, MAFAT_EUNSUPPORTED, "LSTM: this operator is not run"},
    {{"Conv", "x w", "dilations=[1048576,1]", 0, NULL}, MAFAT_EUNSUPPORTED,
     "a window of 3 taps, 1048576 apart, is too large"},
    {{"MaxPool", "x", "kernel_shape=[1000000,1] dilations=[1000000,1]", 0, NULL},
     MAFAT_EUNSUPPORTED, "is too large"},
    {{"MaxPool", "x", "kernel_shape=[1000000,1] dilations=[1000000,1] auto_pad=SAME_UPPER", 0,
     NULL}, MAFAT_EUNSUPPORTED, "is too large"},
    {{"ConvTranspose", "x w", "output_padding=[9223372036854775807,0]", 0, NULL}, MAFAT_EFORMAT,
     "output_padding: found 9223372036854775807"},
    {{"ConvTranspose", "x w", "output_padding=[-9223372036854775807,0]", 0, NULL}, MAFAT_EFORMAT,
     "output_padding"},
    {{"ConvTranspose", "x w", "output_padding=[1]", 0, NULL}, MAFAT_EFORMAT,
     "output_padding: expected 2 numbers, found 1"},
    {{"ConvTranspose", "x w", "output_shape=[-9223372036854775807,1]", 0, NULL}, MAFAT_EFORMAT,
     "output_shape"},
    {{"Expand", "x large", "", 0, NULL}, MAFAT_EUNSUPPORTED,
     "the map would have too many elements"},
    {{"MaxPool", "x", "kernel_shape=[2,2] ceil_mode=-2", 0, NULL}, MAFAT_EFORMAT,
     "attribute ceil_mode: expected 0 or 1, found -2"},
    {{"ReduceMean", "x", "keepdims=2", 0, NULL}, MAFAT_EFORMAT,
     "attribute keepdims: expected 0 or 1, found 2"},
    {{"TopK", "x i7", "axis=1", 0, "y z"}, MAFAT_EUNSUPPORTED, "K: expected 1 to 4, found 7"},
    {{"TopK", "x s", "axis=1", 0, "y z"},
     MAFAT_EUNSUPPORTED,
     "expected a constant, found a tensor computed at run time"},
    {{"Gather", "x i7", "axis=1", 0, NULL}, MAFAT_EFORMAT, "index 7 is out of range of 4 elements"},
    {{"Gather", "x s", "axis=1", 0, NULL},
     MAFAT_EUNSUPPORTED,
     "expected 0 for indices known only at run time, found 1"},
    {{"MatMul", "x r", "", 0, NULL}, MAFAT_EFORMAT, "cannot multiply"},
    {{"Sigmoid", "c4", "", 0, NULL}, MAFAT_EUNSUPPORTED, "has no input"},
};

START_TEST(unsupported_operators_are_refused)
{
  test_onnx_is_refused(&refusals[_i]);
}
END_TEST

/* If an unsupported operator also has unsupported inputs, the message names the operator. */
START_TEST(an_operator_is_refused_before_its_inputs)
{
  static const int64_t unknown[] = {1, 0};
  struct test_message graph = {0};
  test_onnx_input(&graph, "condition", 2, unknown);
  test_onnx_add(&graph, "Relu", "condition", "r", "");
  test_onnx_add(&graph, "If", "r", "y", "");
  test_onnx_output(&graph, "y", -1, NULL);
  struct test_imported m = import(test_onnx_model(&graph, 13));
  ck_assert_int_eq(m.code, MAFAT_EUNSUPPORTED);
  ck_assert_msg(strstr(diagnostic.text, "node 1, If: this operator is not run") != NULL, "%s",
                diagnostic.text);
  test_imported_close(&m);
}
END_TEST

/* An operator whose output has the name of the model's input is refused. */
START_TEST(operators_that_write_inputs_are_refused)
{
  static const int64_t map[] = {1, 4, 6, 6};
  static const char *const outputs[] = {"x", "x y", "y x"};
  struct test_message graph = {0};
  test_onnx_add(&graph, "Max", "z", outputs[_i], "");
  test_onnx_input(&graph, "x", 4, map);
  test_onnx_input(&graph, "z", 4, map);
  test_onnx_output(&graph, _i ? "y" : "x", -1, NULL);
  struct test_imported m = import(test_onnx_model(&graph, 13));
  ck_assert_int_eq(m.code, MAFAT_EFORMAT);
  ck_assert_msg(strstr(diagnostic.text, "Max: output 'x' is an input of the model"), "%s",
                diagnostic.text);
  test_imported_close(&m);
}
END_TEST

/* Two values of the same name are refused, because programs differ in which one they use. An input
 * that has an initializer is allowed. */
START_TEST(equal_names_are_refused)
{
  static const int64_t map[] = {1, 2};
  static const double ones[] = {1, 1}, twos[] = {2, 2};
  static const char *const says[] = {"initializer 'w' is listed more than once",
                                     "input 'x' is listed more than once"};
  struct test_message graph = {0};
  test_onnx_add(&graph, "Add", "x w", "y", "");
  test_onnx_floats(&graph, "w", 2, map, ones);
  if (_i == 0) test_onnx_floats(&graph, "w", 2, map, twos);
  test_onnx_input(&graph, "x", 2, map);
  test_onnx_input(&graph, "w", 2, map); /* has an initializer, too */
  if (_i == 1) test_onnx_input(&graph, "x", 2, map);
  test_onnx_output(&graph, "y", -1, NULL);
  struct test_imported m = import(test_onnx_model(&graph, 13));
  ck_assert_msg(m.code == (_i < 2 ? MAFAT_EFORMAT : MAFAT_OK), "%d, %s", m.code, diagnostic.text);
  if (_i < 2) ck_assert_msg(strstr(diagnostic.text, says[_i]) != NULL, "%s", diagnostic.text);
  test_imported_close(&m);
}
END_TEST

/* The step of a Slice that takes one element may be larger than the map. */
START_TEST(steps_may_be_large)
{
  const struct test_onnx_operator slice = {"Slice", "x i1 far i3 far", "", 0, NULL};
  struct test_imported m = import(test_onnx_operator_model(&slice));
  ck_assert_msg(m.code == MAFAT_OK, "%s", diagnostic.text);
  ck_assert_int_eq(m.network->outputs->view.dims[3], 1);
  test_imported_close(&m);
}
END_TEST

/* A list of axes that has the same axis twice, also as a positive and a negative number, is
 * refused, because ONNX does not define it. Operators that remove or reduce axes ignore the
 * repetition, as onnxruntime does. */
START_TEST(repeated_axes_are_refused)
{
  static const struct {
    struct test_onnx_operator operator;
    bool once;
  } cases[] = {
      {{"Slice", "x i00 i55 i3-1", "", 0, NULL}, false},
      {{"Slice", "x", "starts=[0,1] ends=[5,4] axes=[2,2]", 9, NULL}, false},
      {{"Slice", "q:x i00 i55 i3-1", "", 0, NULL}, false},
      {{"Unsqueeze", "s i00", "", 0, NULL}, false},
      {{"Unsqueeze", "s", "axes=[0,-5]", 11, NULL}, false},
      {{"Transpose", "x", "perm=[0,1,3,-1]", 0, NULL}, false},
      {{"Squeeze", "x i00", "", 0, NULL}, true},
      {{"Squeeze", "x", "axes=[0,-4]", 11, NULL}, true},
      {{"ReduceMean", "x", "axes=[3,-1]", 0, NULL}, true},
      {{"ReduceMean", "x i3-1", "", 18, NULL}, true},
      {{"ReduceMax", "x", "axes=[2,3,2]", 0, NULL}, true},
      {{"ReduceMean", "q:x", "axes=[3,3] keepdims=0", 0, NULL}, true}};
  for (int i = 0; i < COUNT(cases); i++) {
    struct test_imported m = import(test_onnx_operator_model(&cases[i].operator));
    bool refused = m.code == MAFAT_EFORMAT && strstr(diagnostic.text, "names axis ") &&
                   strstr(diagnostic.text, " twice");
    ck_assert_msg(cases[i].once ? m.code == MAFAT_OK : refused, "case %d, %s: %d, %s", i,
                  cases[i].operator.op_type, m.code, diagnostic.text);
    test_imported_close(&m);
  }
}
END_TEST

/* Many names, of seven bytes each in the file, take little memory. Only inputs and outputs of nodes
 * need about a hundred bytes each, so their number per node is limited. Not tested with
 * AddressSanitizer, which needs more memory. */
START_TEST(names_take_little_memory)
{
#ifndef __SANITIZE_ADDRESS__
  enum { NAMES = 100000, MOST = 20 };
  static const int64_t map[] = {1, 2};
  struct test_message graph = {0}, node = _i == 0 ? test_onnx_node("Concat", "", "x", "y")
                                                  : test_onnx_node("Relu", "", "x", "y");
  char name[8];
  for (int k = 0; k < NAMES; k++) {
    snprintf(name, sizeof name, "%x", k);
    struct test_message info = {0};
    if (_i < 2) test_put_text(&node, 1 + _i, name); /* inputs, outputs */
    else test_put_text(&info, _i == 3 ? 8 : 1, name);
    if (_i == 3) test_put_int(&info, 1, 0), test_put_int(&info, 2, 1);
    if (_i >= 2)
      test_put_message(&graph,
                       _i == 2   ? 13
                       : _i == 3 ? 5
                                 : 11,
                       &info); /* values, initializers, inputs */
  }
  test_onnx_add_node(&graph, &node);
  test_onnx_input(&graph, "x", 2, map);
  test_onnx_output(&graph, "y", 2, map);
  struct test_message file = test_onnx_model(&graph, 13);
  struct rusage before, after;
  const size_t bytes = file.n;
  getrusage(RUSAGE_SELF, &before);
  struct test_imported m = import(file);
  getrusage(RUSAGE_SELF, &after);
  ck_assert_msg(m.code == (_i < 2 || _i == 4 ? MAFAT_EUNSUPPORTED : MAFAT_OK), "%d, %s", m.code,
                diagnostic.text);
  if (_i < 2)
    ck_assert_msg(strstr(diagnostic.text,
                         "expected at most 64 inputs and 256 parts as outputs, found "),
                  "%s", diagnostic.text);
  ck_assert_int_le((after.ru_maxrss - before.ru_maxrss) * 1024, (long)(MOST * bytes));
  test_imported_close(&m);
#endif
}
END_TEST

/* Sigmoid and Mul become one activation, but a product without a name, or with the name of another
 * value, is refused. */
START_TEST(products_without_a_name_are_refused)
{
  static const int64_t map[] = {1, 4, 6, 6};
  static const char *const outputs[] = {"y", "-", "x", "s"};
  struct test_message graph = {0};
  test_onnx_add(&graph, "Sigmoid", "x", "s", "");
  test_onnx_add(&graph, "Mul", "x s", outputs[_i], "");
  test_onnx_input(&graph, "x", 4, map);
  test_onnx_output(&graph, "y", -1, NULL);
  struct test_imported m = import(test_onnx_model(&graph, 17));
  ck_assert_msg((m.code == MAFAT_OK) == (_i == 0), "%s: %d, %s", outputs[_i], m.code,
                diagnostic.text);
  if (m.network) ck_assert_int_eq(m.network->n_layers, 1);
  test_imported_close(&m);
}
END_TEST

/* ---- batches ---- */

/* A batch of sequences becomes rows or columns of a map. A batch of pictures is refused. */
static const struct {
  int64_t dims[4];
  const char *attributes;
  int rank, code;
} batches[] = {
    {{3, 4, 6}, "kernel_shape=[2]", 3, MAFAT_OK},
    {{3, 4, 1, 6}, "kernel_shape=[1,2]", 4, MAFAT_OK},
    {{3, 4, 6, 1}, "kernel_shape=[2,1] pads=[1,0,0,0]", 4, MAFAT_OK},
    {{3, 4, 6, 6}, "kernel_shape=[2,2]", 4, MAFAT_EUNSUPPORTED},
    {{3, 4, 6, 6}, "kernel_shape=[1,1]", 4, MAFAT_EUNSUPPORTED},
    {{3, 4, 1, 6}, "kernel_shape=[2,1] pads=[1,0,0,0]", 4, MAFAT_EUNSUPPORTED},
    {{3, 4, 1, 6}, "kernel_shape=[1,2] strides=[2,1]", 4, MAFAT_EUNSUPPORTED},
    {{3, 4, 6, 1}, "kernel_shape=[2,1] pads=[0,0,0,1]", 4, MAFAT_EUNSUPPORTED},
};

START_TEST(batches_are_of_sequences)
{
  struct test_message graph = {0};
  test_onnx_add(&graph, "MaxPool", "x", "y", batches[_i].attributes);
  test_onnx_input(&graph, "x", batches[_i].rank, batches[_i].dims);
  test_onnx_output(&graph, "y", -1, NULL);
  struct test_imported m = import(test_onnx_model(&graph, 17));
  ck_assert_msg(m.code == batches[_i].code, "%d: %s", m.code, diagnostic.text);
  if (m.network)
    ck_assert(m.network->outputs[0].view.dims[0] == 3 && m.network->outputs[0].view.dims[1] == 4);
  test_imported_close(&m);
}
END_TEST

/* Extents whose product overflows; some products would be small again modulo 2^64. */
static const int64_t inputs_too_large[][4] = {{3, 3, 0x5555555555555558, 8},
                                              {1LL << 33, 3, 1LL << 31, 8},
                                              {1LL << 32, 3, (1LL << 32) + 1, 8},
                                              {INT64_MAX, 3, 3, 3},
                                              {1LL << 62, 1, 4, 1}};

START_TEST(inputs_are_no_larger_than_a_map)
{
  struct test_message graph = {0};
  test_onnx_add(&graph, "Relu", "x", "y", "");
  test_onnx_input(&graph, "x", 4, inputs_too_large[_i]);
  test_onnx_output(&graph, "y", -1, NULL);
  struct test_imported m = import(test_onnx_model(&graph, 17));
  ck_assert_msg(m.code == MAFAT_EUNSUPPORTED && strstr(diagnostic.text, "is too large"), "%d: %s",
                m.code, diagnostic.text);
  test_imported_close(&m);
}
END_TEST

/* ---- several nodes as one activation ---- */

/* Gelu, x * (1 + erf(x / sqrt(2))) / 2, as exporters write it, and formulas that differ
 * slightly. */
static const struct {
  const char *nodes[5][3]; /* operator, inputs, output */
  int layers;              /* 1: one layer; 0: more than one */
} gelus[] = {
    {{{"Div", "x root", "d"}, {"Erf", "d", "e"}, {"Add", "e one", "s"}, {"Mul", "x s", "m"}, {"Mul",
     "m half", "y"}}, 1},
    {{{"Mul", "inverse x", "d"}, {"Erf", "d", "e"}, {"Add", "one e", "s"}, {"Mul", "s x", "m"},
     {"Div", "m two", "y"}}, 1},
    {{{"Div", "x root", "d"}, {"Erf", "d", "e"}, {"Add", "e one", "s"}, {"Mul", "half s", "h"},
     {"Mul", "x h", "y"}}, 1},
    {{{"Div", "x root", "d"}, {"Erf", "d", "e"}, {"Add", "e one", "s"}, {"Mul", "x half", "h"},
     {"Mul", "h s", "y"}}, 1},
    {{{"Mul", "x half", "h"}, {"Div", "x root", "d"}, {"Erf", "d", "e"}, {"Add", "e one", "s"},
     {"Mul", "s h", "y"}}, 1},
    {{{"Div", "root x", "d"}, {"Erf", "d", "e"}, {"Add", "e one", "s"}, {"Mul", "x s", "m"}, {"Mul",
     "m half", "y"}}, 0},
    {{{"Div", "x root", "d"}, {"Erf", "d", "e"}, {"Add", "e two", "s"}, {"Mul", "x s", "m"}, {"Mul",
     "m half", "y"}}, 0},
    {{{"Div", "x root", "d"}, {"Erf", "d", "e"}, {"Add", "e one", "s"}, {"Mul", "x s", "m"}, {"Div",
     "half m", "y"}}, 0},
    {{{"Div", "x root", "d"}, {"Tanh", "d", "e"}, {"Add", "e one", "s"}, {"Mul", "x s", "m"},
     {"Mul", "m half", "y"}}, 0},
    {{{"Div", "x root", "d"}, {"Erf", "d", "e"}, {"Add", "e one", "s"}, {"Mul", "s s", "m"}, {"Mul",
     "m half", "y"}}, 0},
    {{{"Div", "x root", "d"}, {"Erf", "d", "e"}, {"Add", "e x", "s"}, {"Mul", "x s", "m"}, {"Mul",
     "m half", "y"}}, 0},
};

START_TEST(gelus_are_one_activation)
{
  static const struct {
    const char *name;
    double value;
  } numbers[] = {{"root", 1.4142135381698608},
                 {"inverse", .7071067690849304},
                 {"one", 1},
                 {"two", 2},
                 {"half", .5}};
  static const int64_t map[] = {1, 4, 6, 6};
  struct test_message graph = {0};
  for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
    test_onnx_floats(&graph, numbers[k].name, 0, NULL, &numbers[k].value);
  for (int k = 0; k < 5; k++)
    test_onnx_add(&graph, gelus[_i].nodes[k][0], gelus[_i].nodes[k][1], gelus[_i].nodes[k][2], "");
  test_onnx_input(&graph, "x", 4, map);
  test_onnx_output(&graph, "y", -1, NULL);
  struct test_imported m = import(test_onnx_model(&graph, 17));
  ck_assert_msg(m.code == MAFAT_OK, "%s", diagnostic.text);
  ck_assert_msg((m.network->n_layers == 1) == (gelus[_i].layers == 1), "found %d layers",
                m.network->n_layers);
  if (gelus[_i].layers == 1) ck_assert_int_eq(m.network->layers[0].activation.kind, MAFAT_GELU);
  test_imported_close(&m);
}
END_TEST

/* If another node reads an intermediate value of a Gelu, that value is computed. */
START_TEST(read_parts_of_gelus_are_computed)
{
  static const char *const also[] = {"d", "e", "s", "m", "x"};
  static const double root = 1.4142135381698608, one = 1, half = .5;
  static const int64_t map[] = {1, 4, 6, 6};
  struct test_message graph = {0};
  test_onnx_floats(&graph, "root", 0, NULL, &root);
  test_onnx_floats(&graph, "one", 0, NULL, &one);
  test_onnx_floats(&graph, "half", 0, NULL, &half);
  for (int k = 0; k < 5; k++)
    test_onnx_add(&graph, gelus[0].nodes[k][0], gelus[0].nodes[k][1], gelus[0].nodes[k][2], "");
  test_onnx_input(&graph, "x", 4, map);
  test_onnx_output(&graph, "y", -1, NULL);
  test_onnx_add(&graph, "Relu", also[_i], "z", "");
  test_onnx_output(&graph, "z", -1, NULL);
  struct test_imported m = import(test_onnx_model(&graph, 17));
  ck_assert_msg(m.code == MAFAT_OK && m.network->n_layers > 2, "%s", diagnostic.text);
  test_imported_close(&m);
}
END_TEST

/* ---- damage ---- */

/* A model with changed bytes and numbers is either read as a valid network or refused. */
START_TEST(damaged_models_do_no_harm)
{
  struct test_message model = test_onnx_operator_model(test_onnx_operator((unsigned)_i));
  struct test_rng rng = test_rng((uint64_t)_i);
  char *copy = malloc(model.n);
  for (int k = 0; k < 200; k++) {
    memcpy(copy, model.data, model.n);
    for (int many = 0; many <= k % 3; many++)
      copy[test_random(&rng) % model.n] = (char)test_random(&rng);
    struct test_imported m = import_bytes(copy, model.n);
    test_imported_close(&m);
  }
  free(copy);
  free(model.data);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
  const struct test_onnx_operator *o = test_onnx_operator((unsigned)_i);
  struct test_imported m = import(test_onnx_operator_model(o));
  test_import_without_memory(test_onnx_network_read, m.path, NULL, o->op_type);
  test_imported_close(&m);
}
END_TEST

/* Weights and a shape that are inputs of the model can be given as constants in files. */
START_TEST(constants_may_be_given)
{
  static const int64_t dims[] = {1, 2, 3, 4}, weights[] = {5, 2, 1, 1}, out[] = {5, 12},
                       shape[] = {5, -1};
  static const float numbers[10];
  char path[64], list_of[2][80];
  const char *const list[] = {list_of[0], list_of[1]};
  struct test_message graph = {0};
  struct mafat_network *n;
  test_onnx_input(&graph, "w", 4, weights);
  test_onnx_input(&graph, "x", 4, dims);
  test_onnx_int64_input(&graph, "shape", 2);
  test_onnx_add(&graph, "Conv", "x w", "c", "");
  test_onnx_add(&graph, "Reshape", "c shape", "y", "");
  test_onnx_output(&graph, "y", 2, out);
  struct test_imported m = import(test_onnx_model(&graph, 13));
  ck_assert_int_eq(m.code, MAFAT_EUNSUPPORTED);
  int of_weights = memfd_create("weights", MFD_CLOEXEC),
      of_shape = memfd_create("shape", MFD_CLOEXEC);
  ck_assert_int_eq(write(of_weights, numbers, sizeof numbers), sizeof numbers);
  ck_assert_int_eq(write(of_shape, shape, sizeof shape), sizeof shape);
  snprintf(path, sizeof path, "/proc/self/fd/%d", of_weights);
  snprintf(list_of[0], sizeof *list_of, "w=%s", path);
  snprintf(list_of[1], sizeof *list_of, "shape=/proc/self/fd/%d", of_shape);
  const struct mafat_given given = {list, 2};
  ck_assert_msg(test_onnx_network_read(&n, m.path, &given, &diagnostic) == MAFAT_OK, "%s",
                diagnostic.text);
  ck_assert(n->n_inputs == 1 && strcmp(n->inputs[0].name, "x") == 0 && n->n_layers == 1);
  const struct mafat_constant *w = &n->constants->layers[0].weights;
  ck_assert(w->file > 0 && w->at == 0 && w->n == 10 &&
            strcmp(n->files[w->file - 1], path) == 0); /* weights are not copied */
  ck_assert(n->outputs[0].view.dims[0] == 5 && n->outputs[0].view.dims[1] == 12);
  mafat_network_close(&n);
  test_import_without_memory(test_onnx_network_read, m.path, &given, "given");
  close(of_weights);
  close(of_shape);
  test_imported_close(&m);
}
END_TEST


/* ---- public models ---- */

/* A model of 3.6 MB, 369 nodes and 607 names. */
START_TEST(importing_takes_less_than_a_megabyte)
{
  const char *folder = getenv("MAFAT_MODELS");
  char path[1024];
  snprintf(path, sizeof path, "%s/onnx/yolox_nano.onnx", folder ? folder : "");
  if (!folder || access(path, R_OK) != 0) {
    printf("test_onnx_import: skipped yolox_nano: MAFAT_MODELS names no folder that has it\n");
    return;
  }
  struct mafat_network *n;
  struct mafat_diagnostic d = {""};
  long unfreed;
  failing_malloc_arm(-1);
  int code = test_onnx_network_read(&n, path, NULL, &d);
  mafat_network_close(&n);
  failing_malloc_disarm(&unfreed);
  ck_assert_msg(code == MAFAT_OK, "%s", d.text);
  ck_assert_int_eq(unfreed, 0);
  ck_assert_uint_le(failing_malloc_most_bytes(), 1000 * 1000);
}
END_TEST

/* ---- small files that need much ---- */

static void put_floats_elsewhere(struct test_message *graph, const char *name, const char *location,
                                 int64_t n)
{
  const struct test_onnx_tensor t = {name,     1,    1,   &n, NULL, TEST_ONNX_EXTERNAL,
                                     location, "64", NULL};
  test_onnx_initializer(graph, &t);
}

/* Imports a model with constants of n numbers in each of n_files files. The position of a
 * constant's number is stored with 12 bits for its file, and some values of these bits have other
 * meanings. */
static struct test_imported import_files(int n_files, int64_t n)
{
  static const int64_t map[] = {1, 4};
  struct test_message graph = {0};
  char name[16] = "", location[16];
  for (int k = 0; k < n_files; k++) {
    snprintf(name, sizeof name, "t%d", k);
    snprintf(location, sizeof location, "f%d", k);
    put_floats_elsewhere(&graph, name, location, n);
  }
  test_onnx_add(&graph, "Add", (snprintf(location, sizeof location, "x %s", name), location), "y",
                "");
  test_onnx_input(&graph, "x", 2, map);
  test_onnx_output(&graph, "y", -1, NULL);
  return import(test_onnx_model(&graph, 13));
}

START_TEST(too_many_files_are_refused)
{
  enum { MOST = 4093 };
  struct test_imported m = import_files(MOST, 4);
  ck_assert_msg(m.code == MAFAT_OK, "%s", diagnostic.text);
  ck_assert_int_eq(m.network->n_files, MOST);
  test_imported_close(&m);
  for (int more = 1; more <= 3; more++) {
    m = import_files(MOST + more, 4);
    ck_assert_msg(m.code == MAFAT_EUNSUPPORTED &&
                      strstr(diagnostic.text, "expected constants in at most 4093 files"),
                  "%s", diagnostic.text);
    test_imported_close(&m);
  }
}
END_TEST

/* A constant with more numbers than a position can count is refused. */
START_TEST(too_large_constants_are_refused)
{
  struct test_imported m = import_files(1, (1LL << 40) + 4);
  ck_assert_msg(m.code == MAFAT_EUNSUPPORTED &&
                    strstr(diagnostic.text, "constant 't0' has 1099511627780 numbers"),
                "%s", diagnostic.text);
  test_imported_close(&m);
}
END_TEST

/* Reshapes and transposes that permute the 24 bits of an index need 24 strided dimensions of a
 * view, the most allowed. An Expand after them needs more and is refused. */
START_TEST(too_many_strided_dimensions_are_refused)
{
  enum { BITS = 24 };
  static const int64_t map[] = {1 << 12, 1 << 12}, ones[] = {1 << BITS, 1, 1, 1, 1, 1, 1, 1},
                       threes[] = {1 << BITS, 3, 3, 3, 3, 3, 3, 3};
  struct test_message graph = {0};
  char last[16] = "x", shape[16], both[40], reshaped[16];
  for (int k = 0; k < BITS - 1; k++) {
    const int64_t dims[] = {1 << k, 1 << (BITS - 1 - k), 2};
    snprintf(shape, sizeof shape, "s%d", k);
    snprintf(both, sizeof both, "%s %s", last, shape);
    snprintf(reshaped, sizeof reshaped, "r%d", k);
    snprintf(last, sizeof last, "t%d", k);
    test_onnx_int64s(&graph, shape, 3, dims);
    test_onnx_add(&graph, "Reshape", both, reshaped, "");
    test_onnx_add(&graph, "Transpose", reshaped, last, "perm=[0,2,1]");
  }
  test_onnx_int64s(&graph, "ones", 8, ones);
  test_onnx_int64s(&graph, "threes", 8, threes);
  snprintf(both, sizeof both, "%s ones", last);
  test_onnx_add(&graph, "Reshape", both, "digits", "");
  test_onnx_add(&graph, "Expand", "digits threes", "y", "");
  test_onnx_input(&graph, "x", 2, map);
  test_onnx_output(&graph, "y", -1, NULL);
  struct test_imported m = import(test_onnx_model(&graph, 13));
  ck_assert_msg(m.code == MAFAT_EUNSUPPORTED &&
                    strstr(diagnostic.text, "expected at most 24 strided dimensions, found more"),
                "%s", diagnostic.text);
  test_imported_close(&m);
}
END_TEST

/* Limits on all operators of a model together: each request counts before its memory is
 * allocated. */
START_TEST(requests_of_all_operators_are_limited)
{
  enum { KEPT = 1 << 22, LOOKED_AT = 1 << 27, SOURCES = 1 << 21 };
  static const long long few = 10, one_more = 11;
  struct mafat_graph *g;
  struct mafat_value v = {.maker = -1}, copy = {.maker = -1};
  double *numbers = NULL;
  ck_assert_int_eq(mafat_graph_open(&g, "model", 1, 1, &diagnostic), MAFAT_OK);
  g->n_kept = KEPT - 10;
  ck_assert_int_eq(mafat_value_make_numbers(g, &v, 1, &one_more), MAFAT_EUNSUPPORTED);
  ck_assert_ptr_nonnull(
      strstr(diagnostic.text, "expected at most 4194304 values of constants to compute"));
  ck_assert_int_eq(mafat_value_make_numbers(g, &v, 1, &few), MAFAT_OK);
  ck_assert_int_eq(mafat_value_copy(g, &copy, &v), MAFAT_EUNSUPPORTED);
  g->n_looked_at = LOOKED_AT - 9;
  ck_assert_int_eq(mafat_value_numbers(g, &v, 10, &numbers), MAFAT_EUNSUPPORTED);
  ck_assert_ptr_null(numbers);
  g->n_looked_at = LOOKED_AT - 10;
  ck_assert_int_eq(mafat_value_numbers(g, &v, 10, &numbers), MAFAT_OK);
  free(numbers);
  g->n_sources = SOURCES - 1;
  ck_assert_int_eq(mafat_graph_list_sources(g, 2), MAFAT_EUNSUPPORTED);
  ck_assert_int_eq(mafat_graph_list_sources(g, 1), MAFAT_OK);
  mafat_value_clear(&v);
  mafat_value_clear(&copy);
  mafat_graph_close(&g);
}
END_TEST

/* A Concat of 64 parts, and a Concat of 64 of these, need little in the file, but make a map that
 * is too large. */
START_TEST(too_large_joins_are_refused)
{
  static const int64_t one[] = {1, 1, 1, 1}, wide[] = {1, 1 << 20, 1, 1};
  static const char *const values[] = {"a", "b", "y"};
  struct test_message graph = {0};
  char inputs[3 * 64] = "";
  test_onnx_int64s(&graph, "wide", 4, wide);
  test_onnx_add(&graph, "Expand", "x wide", "a", "");
  for (int k = 0; k < 2; k++) {
    inputs[0] = '\0';
    for (int i = 0; i < 64; i++) strcat(strcat(inputs, i ? " " : ""), values[k]);
    test_onnx_add(&graph, "Concat", inputs, values[k + 1], "axis=1");
  }
  test_onnx_input(&graph, "x", 4, one);
  test_onnx_output(&graph, "y", -1, NULL);
  struct test_imported m = import(test_onnx_model(&graph, 13));
  ck_assert_msg(m.code == MAFAT_EUNSUPPORTED &&
                    strstr(diagnostic.text, "Concat: a map of 536870912 "),
                "%d, %s", m.code, diagnostic.text);
  test_imported_close(&m);
}
END_TEST

START_TEST(too_many_outputs_are_refused)
{
  enum { MOST = 4096 };
  static const int64_t map[] = {1, 4};
  struct test_message graph = {0};
  test_onnx_add(&graph, "Relu", "x", "y", "");
  test_onnx_input(&graph, "x", 2, map);
  for (int k = 0; k <= MOST; k++) test_onnx_output(&graph, "y", -1, NULL);
  struct test_imported m = import(test_onnx_model(&graph, 13));
  ck_assert_msg(m.code == MAFAT_EUNSUPPORTED &&
                    strstr(diagnostic.text, "at most 4096 inputs and outputs, found 1 and 4097"),
                "%s", diagnostic.text);
  test_imported_close(&m);
}
END_TEST

/* Writes one of many names with the same FNV-1a hash: at each place one of two texts. */
static void write_name(char *name, unsigned number)
{
  static const char *const parts[][2] = {
      {"uunufq", "mndquy"}, {"hsg79h", "s7r4ws"}, {"jr8f46", "aucgoe"}, {"evhway", "my0hc7"},
      {"3zmh32", "7trglw"}, {"x443wf", "6uqhwm"}, {"lvvgzw", "ywxtz4"}, {"4bd9mt", "dc46du"},
      {"41chmc", "o5q9dn"}, {"hh50vr", "sew8go"}, {"bq4z97", "ya80xg"}, {"3za5en", "s1d1vk"},
      {"xs8zyz", "4h4u4e"}, {"zhcn2b", "ypkkl4"}, {"lia1ke", "umqmi0"}};
  *name = '\0';
  for (int k = 0; k < COUNT(parts); k++) strcat(name, parts[k][number >> k & 1]);
}

enum { SAME_HASH, MANY_OPSETS, MANY_PADS, N_LARGE };

/* Models that would take a minute to import if it searched all things of one kind for each thing of
 * another kind. */
static struct test_message large_model(int which)
{
  enum { NAMES = 1 << 15, OPSETS = 1 << 19, NODES = 100000, PADS = 4000 };
  static const int64_t map[] = {1, 1, 4, 4}, none[8] = {0};
  struct test_message graph = {0};
  char name[100];
  test_onnx_input(&graph, "x", 4, map);
  test_onnx_int64s(&graph, "none", 8, none);
  for (int k = 0; which == MANY_PADS && k < PADS; k++) {
    snprintf(name, sizeof name, "p%d", k);
    test_onnx_add(&graph, "Pad", "x none", name, "");
  }
  for (unsigned k = 0; k < (which == SAME_HASH ? NAMES : NODES); k++) {
    if (which == SAME_HASH) write_name(name, k);
    else snprintf(name, sizeof name, "n%u", k);
    test_onnx_add(&graph, "Identity", "x", name, "");
  }
  test_onnx_add(&graph, "Relu", "x", "y", "");
  test_onnx_output(&graph, "y", -1, NULL);
  struct test_message model = test_onnx_model(&graph, 13);
  if (which != MANY_OPSETS) return model;
  struct test_message others = {0};
  for (int k = 0; k < OPSETS; k++) {
    struct test_message opset = {0};
    test_put_text(&opset, 1, "z");
    test_put_int(&opset, 2, 1);
    test_put_message(&others, 8, &opset);
  }
  const size_t version = 2; /* the model's first field */
  struct test_message all = {0};
  test_put_bytes(&all, model.data, version);
  test_put_bytes(&all, others.data, others.n);
  test_put_bytes(&all, model.data + version, model.n - version);
  free(model.data);
  free(others.data);
  return all;
}

START_TEST(large_models_are_read_in_time)
{
  struct test_message model = large_model(_i);
  clock_t begin = clock();
  struct test_imported m = import(model);
  double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
  ck_assert_msg(m.code == MAFAT_OK, "%s", diagnostic.text);
  ck_assert_msg(seconds < test_patience(3), "took %.2f processor seconds", seconds);
  test_imported_close(&m);
}
END_TEST

Suite *onnx_import_suite(void)
{
  Suite *suite = suite_create("onnx_import");
  TCase *importing = tcase_create("importing");
  tcase_add_loop_test(importing, operators_become_layers, 0, (int)test_onnx_n_operators());
  tcase_add_test(importing, steps_may_be_large);
  tcase_add_test(importing, repeated_axes_are_refused);
  tcase_add_loop_test(importing, names_take_little_memory, 0, 5);
  tcase_add_loop_test(importing, batches_are_of_sequences, 0, COUNT(batches));
  tcase_add_loop_test(importing, inputs_are_no_larger_than_a_map, 0, COUNT(inputs_too_large));
  tcase_add_loop_test(importing, gelus_are_one_activation, 0, COUNT(gelus));
  tcase_add_loop_test(importing, read_parts_of_gelus_are_computed, 0, 5);
  tcase_add_test(importing, importing_takes_less_than_a_megabyte);
  suite_add_tcase(suite, importing);
  TCase *refusing = tcase_create("refusing");
  tcase_set_timeout(refusing, 60);
  tcase_add_loop_test(refusing, unsupported_operators_are_refused, 0, COUNT(refusals));
  tcase_add_test(refusing, an_operator_is_refused_before_its_inputs);
  tcase_add_loop_test(refusing, operators_that_write_inputs_are_refused, 0, 3);
  tcase_add_loop_test(refusing, equal_names_are_refused, 0, 3);
  tcase_add_loop_test(refusing, products_without_a_name_are_refused, 0, 4);
  tcase_add_loop_test(refusing, damaged_models_do_no_harm, 0, (int)test_onnx_n_operators());
  tcase_add_test(importing, constants_may_be_given);
  tcase_add_loop_test(refusing, every_allocation_may_fail, 0, (int)test_onnx_n_operators());
  suite_add_tcase(suite, refusing);
  TCase *asking = tcase_create("asking for much");
  tcase_set_timeout(asking, 120);
  tcase_add_test(asking, too_many_files_are_refused);
  tcase_add_test(asking, too_large_constants_are_refused);
  tcase_add_test(asking, too_many_strided_dimensions_are_refused);
  tcase_add_test(asking, requests_of_all_operators_are_limited);
  tcase_add_test(asking, too_large_joins_are_refused);
  tcase_add_test(asking, too_many_outputs_are_refused);
  tcase_add_loop_test(asking, large_models_are_read_in_time, 0, N_LARGE);
  suite_add_tcase(suite, asking);
  return suite;
}
