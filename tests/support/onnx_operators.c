/* Builds an ONNX model for each imported operator. Called by suites of ONNX models and by fuzz
 * targets. */
#include "tests/support/onnx_operators.h"

#include "tests/support/random.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* ---- inputs and constants ---- */

enum { UINT8 = 2, INT8 = 3, INT16 = 5, INT32 = 6 }; /* numbers of element types in onnx.proto */

struct named {
  const char *name;
  int rank;
  int64_t dims[6];
};

static const struct named inputs[] = {
    {"x", 4, {1, 4, 6, 6}}, {"s", 3, {1, 4, 6}}, {"t", 3, {4, 1, 6}}, {"r", 2, {3, 4}}};

/* Float constants: positive and negative values, without zeros; "c4v" and "sizes" are positive. */
static const struct named floats[] = {
    {"w", 4, {4, 4, 3, 3}}, {"wd", 4, {4, 1, 3, 3}}, {"ws", 3, {4, 4, 3}}, {"wt", 4, {4, 2, 2, 2}},
    {"c4", 1, {4}},         {"c4b", 1, {4}},         {"c4c", 1, {4}},      {"c4v", 1, {4}},
    {"c411", 3, {4, 1, 1}}, {"c6", 1, {6}},          {"one", 0, {0}},      {"two", 0, {0}},
    {"m", 2, {4, 5}},       {"mt", 2, {5, 4}},       {"c5", 1, {5}},       {"table", 2, {7, 3}},
    {"m3", 3, {2, 4, 3}},   {"e66", 2, {6, 6}},      {"sizes", 1, {4}}};

/* Integer constants. */
static const struct {
  const char *name;
  int n;
  int64_t values[8];
} integers[] = {{"i0", 1, {0}},
                {"i1", 1, {1}},
                {"i2", 1, {2}},
                {"i-1", 1, {-1}},
                {"i20", 2, {2, 0}},
                {"i301", 3, {3, 0, 1}},
                {"i23", 2, {2, 3}},
                {"i22", 2, {2, 2}},
                {"shape", 3, {1, -1, 9}},
                {"flat", 2, {0, -1}},
                {"pads", 8, {0, 0, 1, 2, 0, 0, 2, 1}},
                {"four", 4, {1, 4, 6, 6}},
                {"resized", 4, {1, 4, 9, 3}},
                {"far", 1, {INT64_MAX}},
                {"large", 4, {1LL << 62, 1LL << 62, 1LL << 62, 2}},
                {"i7", 1, {7}},
                {"i3", 1, {3}},
                {"i3-1", 2, {3, -1}},
                {"i00", 2, {0, 0}},
                {"i55", 2, {5, 5}}};

/* Constants of quantized weights and biases (names with q), and zero points (names with z). */
static const struct {
  const char *name;
  int type, rank;
  int64_t dims[4];
} quantized[] = {{"qw", INT8, 4, {4, 4, 3, 3}},  {"qwu", UINT8, 4, {4, 4, 3, 3}},
                 {"qwd", INT8, 4, {4, 1, 3, 3}}, {"qm", INT8, 2, {4, 5}},
                 {"qmt", INT8, 2, {5, 4}},       {"qc", UINT8, 3, {4, 1, 1}},
                 {"qb", INT32, 1, {4}},          {"qb5", INT32, 1, {5}},
                 {"zs", INT8, 0, {0}},           {"zu", UINT8, 0, {0}},
                 {"z32", INT32, 0, {0}},         {"z2", UINT8, 1, {2}},
                 {"z4", INT8, 1, {4}},           {"z16", INT16, 0, {0}}};

/* Scales of quantized inputs and constants. */
static const struct {
  const char *name;
  int n; /* number of values; 0: a scalar */
  double values[5];
} scales[] = {{"sx", 0, {.03125}},
              {"sw", 0, {.01171875}},
              {"sy", 0, {.0625}},
              {"sw4", 4, {.01, .02, .005, .0125}},
              {"sw5", 5, {.01, .02, .005, .0125, .03}},
              {"sb", 0, {.03125 * .01171875}},
              {"s0", 0, {0}},
              {"s-", 0, {-.5}},
              {"snan", 0, {(double)NAN}},
              {"sinf", 0, {(double)INFINITY}},
              {"s2", 2, {.5, .25}},
              {"shuge", 0, {1e30}},
              {"stiny", 0, {1e-30}},
              {"s4-", 4, {.5, .5, -.5, .5}}};

static const double values[] = {.5, -1.25, 2, .75, -.5, 1.5, 3, -2, .25, 1};

/* True if the word is among the text's words, which are separated by spaces. */
static bool has_word(const char *text, const char *word)
{
  size_t n = strlen(word);
  for (const char *at = text; (at = strstr(at, word)); at += n)
    if ((at == text || at[-1] == ' ') && (at[n] == ' ' || at[n] == 0)) return true;
  return false;
}

static void put_floats(struct test_message *graph, const struct named *c)
{
  static double list[4 * 4 * 3 * 3];
  bool positive = strcmp(c->name, "c4v") == 0 || strcmp(c->name, "sizes") == 0;
  for (size_t i = 0; i < COUNT(list); i++)
    list[i] = positive ? 1 + (double)(i / 2) : values[i % COUNT(values)];
  test_onnx_floats(graph, c->name, c->rank, c->dims, list);
}

static void put_quantized(struct test_message *graph, size_t which)
{
  static double list[4 * 4 * 3 * 3];
  const int type = quantized[which].type;
  struct test_rng rng = test_rng(which);
  for (size_t i = 0; i < COUNT(list); i++)
    list[i] = (double)test_random_int(&rng, type == UINT8 ? 0 : -127, type == UINT8 ? 255 : 127) *
              (type == INT32 ? 10 : 1);
  if (*quantized[which].name == 'z')
    memset(list, 0, sizeof list); /* zero points are 0; only "zu" is 121, below */
  if (strcmp(quantized[which].name, "zu") == 0) *list = 121;
  const struct test_onnx_tensor t = {.name = quantized[which].name,
                                     .type = type,
                                     .rank = quantized[which].rank,
                                     .dims = quantized[which].dims,
                                     .values = list,
                                     .style = which % 4 == 1 ? TEST_ONNX_TYPED : TEST_ONNX_RAW};
  test_onnx_initializer(graph, &t);
}

static void put_constants(struct test_message *graph, const char *words)
{
  for (size_t i = 0; i < COUNT(floats); i++)
    if (has_word(words, floats[i].name)) put_floats(graph, &floats[i]);
  for (size_t i = 0; i < COUNT(integers); i++)
    if (has_word(words, integers[i].name))
      test_onnx_int64s(graph, integers[i].name, integers[i].n, integers[i].values);
  for (size_t i = 0; i < COUNT(quantized); i++)
    if (has_word(words, quantized[i].name)) put_quantized(graph, i);
  for (size_t i = 0; i < COUNT(scales); i++) {
    const int64_t n = scales[i].n;
    if (has_word(words, scales[i].name))
      test_onnx_floats(graph, scales[i].name, n > 0, &n, scales[i].values);
  }
}

static void put_inputs(struct test_message *graph, const char *words)
{
  for (size_t i = 0; i < COUNT(inputs); i++)
    if (has_word(words, inputs[i].name))
      test_onnx_input(graph, inputs[i].name, inputs[i].rank, inputs[i].dims);
  if (has_word(words, "u")) test_onnx_typed_input(graph, "u", UINT8, inputs->rank, inputs->dims);
  if (has_word(words, "v")) test_onnx_typed_input(graph, "v", INT8, inputs->rank, inputs->dims);
}

/* Returns the names of the scale and zero point that quantize a constant. */
static const char *quantization_of(const char *name)
{
  if (strncmp(name, "qb", 2) == 0) return "sb z32";
  if (strcmp(name, "qw") == 0 || strcmp(name, "qwd") == 0) return "sw4 z4";
  return strcmp(name, "qwu") == 0 || strcmp(name, "qc") == 0 ? "sw zu" : "sw zs";
}

/* Adds a DequantizeLinear for a constant. For an input, adds a QuantizeLinear and a
 * DequantizeLinear after it. */
static void put_dequantized(struct test_message *graph, const char *name)
{
  char numbers[40], list[80];
  snprintf(numbers, sizeof numbers, "%s", name);
  if (*name != 'q') {
    snprintf(numbers, sizeof numbers, "%s_q", name);
    snprintf(list, sizeof list, "%s sx zu", name);
    test_onnx_add(graph, "QuantizeLinear", list, numbers, "");
  }
  snprintf(list, sizeof list, "%s %s", numbers, *name == 'q' ? quantization_of(name) : "sx zu");
  snprintf(numbers, sizeof numbers, "%s_d", name);
  test_onnx_add(graph, "DequantizeLinear", list, numbers, "axis=0");
}

/* For inputs like "q:x w": adds the nodes that "q:" stands for, and writes to `list` the names of
 * the operator's inputs. */
static void list_inputs(struct test_message *graph, const char *inputs_of, char *list, size_t bytes)
{
  char copy[200], done[200] = "", *rest = copy;
  snprintf(copy, sizeof copy, "%s", inputs_of);
  *list = 0;
  for (char *word; (word = strtok_r(rest, " ", &rest));) {
    const bool quantizes = strncmp(word, "q:", 2) == 0;
    const char *name = quantizes ? word + 2 : word;
    if (quantizes && !has_word(done, name)) put_dequantized(graph, name);
    snprintf(done + strlen(done), sizeof done - strlen(done), "%s ", name);
    snprintf(list + strlen(list), bytes - strlen(list), "%s%s%s", *list ? " " : "", name,
             quantizes ? "_d" : "");
  }
}

static struct test_message make_model(const struct test_onnx_operator *o, bool of_floats)
{
  struct test_message graph = {0};
  const char *outputs = o->outputs ? o->outputs : "y";
  const bool quantizes = strstr(o->inputs, "q:") != NULL;
  char list[200], words[400];
  list_inputs(&graph, o->inputs, list, sizeof list);
  test_onnx_add(&graph, o->op_type, list, quantizes ? "f" : outputs, o->attributes);
  if (quantizes) test_onnx_add(&graph, "QuantizeLinear", "f sy zu", "y", "");
  snprintf(words, sizeof words, "%s", o->inputs);
  for (char *at; (at = strstr(words, "q:"));) memmove(at, at + 2, strlen(at + 2) + 1);
  if (quantizes)
    snprintf(words + strlen(words), sizeof words - strlen(words), " sx sy sw sw4 sb zu zs z4 z32");
  put_constants(&graph, words);
  put_inputs(&graph, words);
  char name[2] = {outputs[0]};
  test_onnx_output(&graph, name, -1, NULL);
  if (of_floats) test_onnx_output(&graph, "f", -1, NULL);
  return test_onnx_model(&graph, o->opset ? o->opset : 17);
}

struct test_message test_onnx_operator_model(const struct test_onnx_operator *o)
{
  return make_model(o, false);
}

struct test_message test_onnx_operator_model_of_floats(const struct test_onnx_operator *o)
{
  return make_model(o, true);
}

/* ---- operators ---- */

static const struct test_onnx_operator operators[] = {
    {"Conv", "x w", "pads=[1,1,1,1]", 0, NULL},
    {"Conv", "x w c4", "auto_pad=SAME_UPPER strides=[2,2]", 0, NULL},
    {"Conv", "x wd c4", "group=4 dilations=[2,2]", 0, NULL},
    {"Conv", "s ws", "pads=[1,0]", 0, NULL},
    {"ConvTranspose", "x wt", "strides=[2,2] group=2", 0, NULL},
    {"ConvTranspose", "x w c4", "strides=[2,3] pads=[1,1,0,1] output_padding=[1,0]", 0, NULL},
    {"ConvTranspose", "s ws", "output_shape=[12] strides=[2]", 0, NULL},
    {"MaxPool", "x", "kernel_shape=[3,2] strides=[2,2] ceil_mode=1", 0, NULL},
    {"AveragePool", "x", "kernel_shape=[3,3] pads=[1,1,1,1] count_include_pad=1", 0, NULL},
    {"AveragePool", "s", "kernel_shape=[2] strides=[2]", 0, NULL},
    {"GlobalAveragePool", "x", "", 0, NULL},
    {"GlobalMaxPool", "s", "", 0, NULL},
    {"BatchNormalization", "x c4 c4b c4c c4v", "epsilon=.001", 0, NULL},
    {"MatMul", "r m", "", 0, NULL},
    {"MatMul", "s c6", "", 0, NULL},
    {"Gemm", "r m c5", "alpha=.5 beta=2.", 0, NULL},
    {"Gemm", "r mt c5", "transB=1", 0, NULL},
    {"Softmax", "x", "axis=1", 0, NULL},
    {"Softmax", "x", "axis=2", 11, NULL},
    {"LogSoftmax", "s", "", 0, NULL},
    {"LayerNormalization", "s c6 c6", "", 0, NULL},
    {"LpNormalization", "s", "axis=1 p=1", 0, NULL},
    {"ReduceMean", "x", "axes=[2,3] keepdims=0", 0, NULL},
    {"ReduceSum", "x i1", "", 0, NULL},
    {"ReduceMax", "s", "axes=[-1]", 0, NULL},
    {"ArgMax", "x", "axis=1", 0, NULL},
    {"TopK", "x i2", "axis=1", 0, "y z"},
    {"TopK", "s i2", "largest=0", 0, "y z"},
    {"Gather", "x i301", "axis=1", 0, NULL},
    {"Gather", "x i2", "axis=3", 0, NULL},
    {"Gather", "table r", "", 0, NULL},
    {"Resize", "x - - resized", "mode=linear", 0, NULL},
    {"Resize", "x - sizes", "mode=nearest", 0, NULL},
    {"Relu", "x", "", 0, NULL},
    {"Sigmoid", "x", "", 0, NULL},
    {"Clip", "x one two", "", 0, NULL},
    {"LeakyRelu", "x", "alpha=.1", 0, NULL},
    {"Gelu", "x", "approximate=tanh", 0, NULL},
    {"Add", "x c411", "", 0, NULL},
    {"Sub", "c411 x", "", 0, NULL},
    {"Mul", "x e66", "", 0, NULL},
    {"Div", "x two", "", 0, NULL},
    {"Pow", "x two", "", 0, NULL},
    {"Add", "x x", "", 0, NULL},
    {"Add", "x t", "", 0, NULL},
    {"PRelu", "x c411", "", 0, NULL},
    {"Max", "x c411 x", "", 0, NULL},
    {"Mean", "x c411 x", "", 0, NULL},
    {"Reshape", "x shape", "", 0, NULL},
    {"Reshape", "x flat", "", 0, NULL},
    {"Flatten", "x", "", 0, NULL},
    {"Squeeze", "x i0", "", 0, NULL},
    {"Unsqueeze", "s i2", "", 0, NULL},
    {"Transpose", "x", "perm=[0,2,3,1]", 0, NULL},
    {"Concat", "x x", "axis=1", 0, NULL},
    {"Concat", "x x", "axis=3", 0, NULL},
    {"Split", "x", "axis=1", 0, "y z"},
    {"Split", "x i22", "axis=1", 0, "y z"},
    {"Split", "x", "axis=3", 0, "y z"},
    {"Slice", "x i1 far i2 i2", "", 0, NULL},
    {"Slice", "s i-1 i0 i2 i-1", "", 0, NULL},
    {"Pad", "x pads", "mode=reflect", 0, NULL},
    {"Pad", "x pads two", "", 0, NULL},
    {"SpaceToDepth", "x", "blocksize=2", 0, NULL},
    {"DepthToSpace", "x", "blocksize=2 mode=CRD", 0, NULL},
    {"Expand", "t four", "", 0, NULL},
    {"Identity", "x", "", 0, NULL},
    {"ReduceMean", "x", "axes=[0]", 0, NULL},
    {"ReduceSumSquare", "x", "axes=[0] keepdims=0", 0, NULL},
    {"ArgMax", "x", "axis=0", 0, NULL},
    {"Resize", "x - - resized", "mode=cubic exclude_outside=1", 0, NULL},
    {"LayerNormalization", "s c6 c6", "", 0, "y m v"},
    {"QuantizeLinear", "x sx zu", "", 0, NULL},
    {"QuantizeLinear", "x sw4 z4", "axis=1", 0, NULL},
    {"DequantizeLinear", "u sx zu", "", 0, NULL},
    {"DequantizeLinear", "v sw4 z4", "axis=1", 0, NULL},
    {"DynamicQuantizeLinear", "x", "", 0, "y t z"},
    {"MatMulInteger", "r qm zu", "", 0, NULL},
    {"ConvInteger", "u qw zu", "pads=[1,1,1,1]", 0, NULL},
    {"QLinearConv", "u sx zu qw sw4 z4 sy zs qb", "pads=[1,1,1,1]", 0, NULL},
    {"QLinearConv", "v sx zs qwu sw zu sy zu", "strides=[2,2]", 0, NULL},
    {"QLinearAdd", "u sx zu u sx zu sy zs", "", 0, NULL},
    {"QLinearMul", "u sx zu qc sw zu sy zu", "", 0, NULL},
    {"QLinearConcat", "sy zu u sx zu v sw zs", "axis=1", 0, NULL},
    {"QLinearAveragePool", "u sx zu sy zu", "kernel_shape=[2,2] pads=[1,0,1,0]", 0, NULL},
    {"QLinearGlobalAveragePool", "v sx zs sy zu", "", 0, NULL},
    {"QLinearSigmoid", "u sx zu sy zu", "", 0, NULL},
    {"QLinearLeakyRelu", "v sx zs sy zs", "alpha=.1", 0, NULL},
    {"QLinearSoftmax", "v sx zs sy zs", "axis=1 opset=17", 0, NULL},
    {"MaxPool", "u", "kernel_shape=[2,2]", 0, NULL},
    {"Cast", "v", "to=1", 0, NULL},
    {"Conv", "q:x q:qw q:qb", "pads=[1,1,1,1]", 0, NULL},
    {"Conv", "q:x q:qwu", "strides=[2,2] auto_pad=SAME_UPPER", 0, NULL},
    {"Conv", "q:x q:qwd c4", "group=4 pads=[1,1,1,1]", 0, NULL},
    {"MatMul", "q:r q:qm", "", 0, NULL},
    {"Conv", "x q:qw c4", "pads=[1,1,1,1]", 0, NULL},
    {"MatMul", "r q:qm", "", 0, NULL},
    {"Gemm", "r q:qmt c5", "transB=1 alpha=.5", 0, NULL},
    {"Gemm", "q:r q:qmt q:qb5", "transB=1", 0, NULL},
    {"Add", "q:x q:x", "", 0, NULL},
    {"Add", "q:x q:t", "", 0, NULL},
    {"Sub", "q:x q:qc", "", 0, NULL},
    {"Sub", "q:qc q:x", "", 0, NULL},
    {"Mul", "q:qc q:x", "", 0, NULL},
    {"PRelu", "q:x q:qc", "", 0, NULL},
    {"Concat", "q:x q:x", "axis=2", 0, NULL},
    {"AveragePool", "q:x", "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]", 0, NULL},
    {"AveragePool", "q:x", "kernel_shape=[3,3] pads=[1,1,1,1] count_include_pad=1", 0, NULL},
    {"GlobalAveragePool", "q:x", "", 0, NULL},
    {"ReduceMean", "q:x", "axes=[3] keepdims=0", 0, NULL},
    {"ReduceMean", "q:x", "axes=[1]", 0, NULL},
    {"Softmax", "q:x", "axis=1", 0, NULL},
    {"MaxPool", "q:x", "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]", 0, NULL},
    {"Relu", "q:x", "", 0, NULL},
    {"Clip", "q:x one two", "", 0, NULL},
    {"LeakyRelu", "q:x", "alpha=.1", 0, NULL},
    {"Sigmoid", "q:x", "", 0, NULL},
    {"HardSwish", "q:x", "", 0, NULL},
    {"Erf", "q:x", "", 0, NULL},
    {"Elu", "q:x", "", 0, NULL},
    {"Transpose", "q:x", "perm=[0,2,3,1]", 0, NULL},
    {"Reshape", "q:x shape", "", 0, NULL},
    {"Slice", "q:x i1 far i2 i2", "", 0, NULL},
    {"Pad", "q:x pads", "", 0, NULL},
    {"Pad", "q:x pads two", "", 0, NULL},
    {"Resize", "q:x - - resized", "mode=linear", 0, NULL},
    {"Resize", "q:x - - resized", "mode=linear coordinate_transformation_mode=align_corners", 0,
     NULL},
    {"Resize", "q:x - - resized", "mode=linear coordinate_transformation_mode=asymmetric", 0, NULL},
    {"Resize", "q:x - - resized", "mode=nearest", 0, NULL},
    {"Resize", "q:x - sizes",
     "mode=nearest nearest_mode=ceil coordinate_transformation_mode=align_corners", 0, NULL},
    {"Resize", "q:x - - resized", "mode=cubic", 0, NULL},
    {"ConvTranspose", "q:x q:qw", "strides=[2,2]", 0, NULL},
    {"MatMul", "q:x q:x", "", 0, NULL},
    {"LayerNormalization", "q:x c6 c6", "", 0, NULL},
    {"LayerNormalization", "q:x c6", "epsilon=.125", 0, NULL},
    {"Gelu", "q:x", "", 0, NULL},
};

const struct test_onnx_operator *test_onnx_operator(unsigned i)
{
  return &operators[i % COUNT(operators)];
}

unsigned test_onnx_n_operators(void)
{
  return COUNT(operators);
}
