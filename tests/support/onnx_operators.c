#include "tests/support/onnx_operators.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* ---- what nodes read ---- */

struct named {
  const char *name;
  int rank;
  int64_t dims[6];
};

static const struct named inputs[] = {{"x", 4, {1, 4, 6, 6}}, {"s", 3, {1, 4, 6}}, {"t", 3, {4, 1, 6}}, {"r", 2, {3, 4}}};

/* Of floats: some of a row that is not of one sign, and of no zeros. */
static const struct named floats[] = {{"w", 4, {4, 4, 3, 3}}, {"wd", 4, {4, 1, 3, 3}}, {"ws", 3, {4, 4, 3}}, {"wt", 4, {4, 2, 2, 2}},
                                      {"c4", 1, {4}},         {"c4b", 1, {4}},         {"c4c", 1, {4}},      {"c4v", 1, {4}},
                                      {"c411", 3, {4, 1, 1}}, {"c6", 1, {6}},          {"one", 0, {0}},      {"two", 0, {0}},
                                      {"m", 2, {4, 5}},       {"mt", 2, {5, 4}},       {"c5", 1, {5}},       {"table", 2, {7, 3}},
                                      {"m3", 3, {2, 4, 3}},   {"e66", 2, {6, 6}},      {"sizes", 1, {4}}};

/* Of whole numbers. */
static const struct {
  const char *name;
  int n;
  int64_t values[8];
} integers[] = {{"i0", 1, {0}},           {"i1", 1, {1}},         {"i2", 1, {2}},         {"i-1", 1, {-1}},
                {"i20", 2, {2, 0}},       {"i301", 3, {3, 0, 1}}, {"i23", 2, {2, 3}},     {"i22", 2, {2, 2}},
                {"shape", 3, {1, -1, 9}}, {"flat", 2, {0, -1}},   {"pads", 8, {0, 0, 1, 2, 0, 0, 2, 1}},
                {"four", 4, {1, 4, 6, 6}}, {"resized", 4, {1, 4, 9, 3}}, {"far", 1, {INT64_MAX}},
                {"large", 4, {1LL << 62, 1LL << 62, 1LL << 62, 2}}, {"i7", 1, {7}}, {"i3", 1, {3}}};

static const double values[] = {.5, -1.25, 2, .75, -.5, 1.5, 3, -2, .25, 1};

/* Is the word one of the text's, that are divided by spaces? */
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
  for (size_t i = 0; i < COUNT(list); i++) list[i] = positive ? 1 + (double)(i / 2) : values[i % COUNT(values)];
  test_onnx_floats(graph, c->name, c->rank, c->dims, list);
}

struct test_message test_onnx_operator_model(const struct test_onnx_operator *o)
{
  struct test_message graph = {0};
  const char *outputs = o->outputs ? o->outputs : "y";
  test_onnx_add(&graph, o->op_type, o->inputs, outputs, o->attributes);
  for (size_t i = 0; i < COUNT(floats); i++)
    if (has_word(o->inputs, floats[i].name)) put_floats(&graph, &floats[i]);
  for (size_t i = 0; i < COUNT(integers); i++)
    if (has_word(o->inputs, integers[i].name)) test_onnx_int64s(&graph, integers[i].name, integers[i].n, integers[i].values);
  for (size_t i = 0; i < COUNT(inputs); i++)
    if (has_word(o->inputs, inputs[i].name)) test_onnx_input(&graph, inputs[i].name, inputs[i].rank, inputs[i].dims);
  char name[2] = {outputs[0]};
  test_onnx_output(&graph, name, -1, NULL);
  return test_onnx_model(&graph, o->opset ? o->opset : 17);
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
};

const struct test_onnx_operator *test_onnx_operator(unsigned i)
{
  return &operators[i % COUNT(operators)];
}

unsigned test_onnx_n_operators(void)
{
  return COUNT(operators);
}
