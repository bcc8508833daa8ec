/* Writes a random graph as an ONNX file in memory, which the caller frees. Called by
 * random_graphs.c. */
#include "tests/differential/graph.h"

#include "tests/support/onnx_writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 200 };

struct author {
  const struct random_graph *g;
  struct test_message graph;
  struct graph_numbers numbers[GRAPH_NODES]; /* quantization, in integer graphs */
  double *scales; /* (n_scales) of the weights written last; n_scales: their number */
  int n_scales;
};

static void *allocate(size_t bytes)
{
  void *all = malloc(bytes);
  if (!all) abort();
  return all;
}

static size_t count(int rank, const int64_t *dims)
{
  size_t n = 1;
  for (int i = 0; i < rank; i++) n *= (size_t)dims[i];
  return n;
}

/* ---- integers: maps and constants between QuantizeLinear and DequantizeLinear ---- */

enum { FLOAT = 1, UINT8 = 2, INT8 = 3, INT32 = 6 }; /* ONNX's numbers of element types */

/* Writes the quantization of a tensor: scales as initializer "S" + name, zero points as "Z" +
 * name. */
static void put_meaning(struct author *a, const char *name, int type, int n, const double *scales,
                        int zero)
{
  char called[TEXT];
  const int64_t dims = n;
  double *zeros = allocate((size_t)n * sizeof *zeros);
  for (int i = 0; i < n; i++) zeros[i] = zero + (type == UINT8 ? 128 : 0);
  snprintf(called, sizeof called, "S%s", name);
  test_onnx_floats(&a->graph, called, n > 1, &dims, scales);
  snprintf(called, sizeof called, "Z%s", name);
  test_onnx_initializer(
      &a->graph, &(struct test_onnx_tensor){
                     .name = called, .type = type, .rank = n > 1, .dims = &dims, .values = zeros});
  free(zeros);
}

/* Adds operators that quantize a node's map, named "f" + node, and dequantize the result, named
 * "t" + node, which later nodes read. */
static void put_numbers(struct author *a, int node)
{
  char name[16], list[TEXT], to[16];
  const double scale = (double)a->numbers[node].scale;
  snprintf(name, sizeof name, "q%d", node);
  put_meaning(a, name, a->g->is_signed ? INT8 : UINT8, 1, &scale, a->numbers[node].zero);
  snprintf(list, sizeof list, "f%d Sq%d Zq%d", node, node, node);
  test_onnx_add(&a->graph, "QuantizeLinear", list, name, "");
  snprintf(list, sizeof list, "q%d Sq%d Zq%d", node, node, node);
  snprintf(to, sizeof to, "t%d", node);
  test_onnx_add(&a->graph, "DequantizeLinear", list, to, "");
}

/* A constant that is written as integers. If it has several scales, they are along `dimension`. */
struct constant {
  int node, type, rank;
  char letter;
  const int64_t *dims;
  double *values; /* floats; replaced by the quantized values */
  int n_scales, dimension, zero;
  const double *scales;
};

static void put_quantized(struct author *a, const struct constant *c)
{
  char name[16], list[TEXT], to[16], axis[TEXT] = "";
  const size_t n = count(c->rank, c->dims),
               run = c->n_scales > 1 ? count(c->rank - c->dimension - 1, c->dims + c->dimension + 1)
                                     : n;
  const double most = c->type == INT32 ? 2147483647.0 : 127, least = -most - 1,
               shift = c->type == UINT8 ? 128 : 0;
  for (size_t i = 0; i < n; i++)
    c->values[i] =
        fmin(fmax(rint(c->values[i] / c->scales[i / run % (size_t)c->n_scales]) + c->zero, least),
             most) +
        shift;
  snprintf(name, sizeof name, "q%c%d", c->letter, c->node);
  test_onnx_initializer(
      &a->graph,
      &(struct test_onnx_tensor){
          .name = name, .type = c->type, .rank = c->rank, .dims = c->dims, .values = c->values});
  put_meaning(a, name, c->type, c->n_scales, c->scales, c->zero);
  snprintf(list, sizeof list, "%s S%s Z%s", name, name, name);
  snprintf(to, sizeof to, "%c%d", c->letter, c->node);
  if (c->n_scales > 1) snprintf(axis, sizeof axis, "axis=%d", c->dimension);
  test_onnx_add(&a->graph, "DequantizeLinear", list, to, axis);
}

/* Chooses scales for weights in -most to most and quantizes them. With int8, convolutions get a
 * scale for each filter. */
static void quantize_weights(struct author *a, struct constant *c, struct test_rng *rng,
                             double most)
{
  const enum graph_kind kind = a->g->nodes[c->node].kind;
  const bool each = a->g->is_signed && kind != GRAPH_MATMUL_CONSTANT && kind != GRAPH_DENSE &&
                    kind != GRAPH_TRANSPOSED;
  c->n_scales = each ? (int)c->dims[0] : 1;
  c->zero = a->g->is_signed ? 0 : test_random_int(rng, -10, 10);
  free(a->scales);
  a->scales = allocate((size_t)c->n_scales * sizeof *a->scales);
  a->n_scales = c->n_scales;
  for (int i = 0; i < c->n_scales; i++)
    a->scales[i] =
        (double)(float)(most / 127 * (each ? .6 + .4 * fabs((double)graph_constant(rng)) : 1));
  c->scales = a->scales;
}

/* Writes a constant as integers. Its letter: w weights, b bias, c another operand. */
static void put_as_numbers(struct author *a, struct constant *c, struct test_rng *rng, double most)
{
  double *scales = NULL;
  c->type = c->letter == 'b' ? INT32 : a->g->is_signed ? INT8 : UINT8;
  if (c->letter == 'w') quantize_weights(a, c, rng, most);
  else {
    c->n_scales = c->letter == 'b' ? a->n_scales : 1;
    c->zero = c->letter == 'b' ? 0 : test_random_int(rng, -40, 40);
    scales = allocate((size_t)c->n_scales * sizeof *scales);
    for (int i = 0; i < c->n_scales; i++)
      scales[i] = c->letter == 'b'
                      ? (double)(a->numbers[a->g->nodes[c->node].a].scale * (float)a->scales[i])
                      : (double)(float)(most / 127);
    c->scales = scales;
  }
  put_quantized(a, c);
  free(scales);
}

/* ---- constants ---- */

/* Writes a constant, named by its letter and node, such as "c3": random floats times `scale`,
 * plus `shift`. */
static void put_floats(struct author *a, int node, char letter, int rank, const int64_t *dims,
                       struct test_rng *rng, double scale, double shift)
{
  char name[16];
  size_t n = count(rank, dims);
  double *values = allocate(n * sizeof *values);
  for (size_t i = 0; i < n; i++)
    values[i] = (double)(float)((double)graph_constant(rng) * scale + shift);
  snprintf(name, sizeof name, "%c%d", letter, node);
  if (a->g->integers)
    put_as_numbers(
        a,
        &(struct constant){
            .node = node, .rank = rank, .letter = letter, .dims = dims, .values = values},
        rng, scale + shift);
  else test_onnx_floats(&a->graph, name, rank, dims, values);
  free(values);
}

/* First letter of the name of a node's output: f if it will be quantized, else t. */
static char made(const struct author *a)
{
  return a->g->integers ? 'f' : 't';
}

static void put_ints(struct author *a, int node, char letter, int n, const int64_t *values)
{
  char name[16];
  snprintf(name, sizeof name, "%c%d", letter, node);
  test_onnx_int64s(&a->graph, name, n, values);
}

/* Writes an operator `op` for a node. In `inputs`, t is the first map that the node reads, u the
 * second; any other letter is the node's constant with that letter. */
static void put_node(struct author *a, int node, const char *op, const char *inputs,
                     const char *attributes)
{
  const struct graph_node *o = &a->g->nodes[node];
  char list[TEXT] = "", output[16];
  for (const char *at = inputs; *at; at++) {
    size_t used = strlen(list);
    if (*at == ' ') snprintf(list + used, sizeof list - used, " ");
    else if (*at == '-') snprintf(list + used, sizeof list - used, "-");
    else
      snprintf(list + used, sizeof list - used, "%c%d", *at == 'u' ? 't' : *at,
               *at == 't'   ? o->a
               : *at == 'u' ? o->b
                            : node);
  }
  snprintf(output, sizeof output, "%c%d", made(a), node);
  test_onnx_add(&a->graph, op, list, output, attributes);
}

static void put_window(struct author *a, int node, const char *op, const char *inputs,
                       const char *more)
{
  const struct graph_node *o = &a->g->nodes[node];
  char text[TEXT];
  int top, left, bottom, right;
  graph_padding(a->g, node, 0, &top, &bottom);
  graph_padding(a->g, node, 1, &left, &right);
  int n = snprintf(text, sizeof text, "kernel_shape=[%d,%d] strides=[%d,%d] pads=[%d,%d,%d,%d]%s",
                   o->kernel[0], o->kernel[1], o->stride[0], o->stride[1], top, left, bottom, right,
                   more);
  if (o->dilation[0] > 1 || o->dilation[1] > 1)
    snprintf(text + n, sizeof text - (size_t)n, " dilations=[%d,%d]", o->dilation[0],
             o->dilation[1]);
  put_node(a, node, op, inputs, text);
}

static void put_weights(struct author *a, int node, int64_t first, int64_t second, int filters)
{
  const struct graph_node *o = &a->g->nodes[node];
  struct test_rng rng = graph_constants(a->g, node);
  const int64_t dims[4] = {first, second, o->kernel[0], o->kernel[1]}, biases = filters;
  put_floats(a, node, 'w', 4, dims, &rng,
             1.7 / sqrt((double)(o->kernel[0] * o->kernel[1]) *
                        (double)(o->kind == GRAPH_TRANSPOSED ? first : second)),
             0);
  put_floats(a, node, 'b', 1, &biases, &rng, .2, 0);
}

static void put_convolution(struct author *a, int node)
{
  const struct graph_node *o = &a->g->nodes[node];
  int in = a->g->nodes[o->a].out.c, out = o->out.c;
  char group[TEXT] = "";
  if (o->kind == GRAPH_DEPTHWISE) snprintf(group, sizeof group, " group=%d", in);
  if (o->kind == GRAPH_GROUPED) snprintf(group, sizeof group, " group=%d", o->groups);
  if (o->kind == GRAPH_TRANSPOSED) put_weights(a, node, in, out, out);
  else
    put_weights(a, node, out,
                o->kind == GRAPH_DEPTHWISE ? 1
                : o->kind == GRAPH_GROUPED ? in / o->groups
                                           : in,
                out);
  put_window(a, node, o->kind == GRAPH_TRANSPOSED ? "ConvTranspose" : "Conv", "t w b", group);
}

/* axis_of[i]: the graph's axis for dimension 1 + i of a map in the file. A file's dimensions are
 * batch, channels, rows, columns. */
static const int axis_of[GRAPH_AXES] = {GRAPH_CHANNELS, GRAPH_ROWS, GRAPH_COLUMNS};

static int dimension(int axis)
{
  return axis == GRAPH_CHANNELS ? 1 : axis == GRAPH_ROWS ? 2 : 3;
}

/* Writes a constant that has the input's extent along `axes` and extent 1 along the others, and
 * an operator `op` that reads it. */
static void put_along(struct author *a, int node, unsigned axes, const char *op, const char *inputs,
                      double scale, double shift)
{
  struct test_rng rng = graph_constants(a->g, node);
  int extents[GRAPH_AXES];
  int64_t dims[GRAPH_AXES];
  graph_extents(a->g->nodes[a->g->nodes[node].a].out, extents);
  for (int i = 0; i < GRAPH_AXES; i++) dims[i] = axes >> axis_of[i] & 1 ? extents[axis_of[i]] : 1;
  put_floats(a, node, 'c', axes ? GRAPH_AXES : 0, dims, &rng, scale, shift);
  put_node(a, node, op, inputs, "");
}

static void put_constant(struct author *a, int node, const char *op, const char *inputs,
                         double scale, double shift)
{
  put_along(a, node, a->g->nodes[node].axes, op, inputs, scale, shift);
}

static void put_normalization(struct author *a, int node)
{
  struct test_rng rng = graph_constants(a->g, node);
  const int64_t n = a->g->nodes[node].out.c;
  for (const char *letter = "sbmv"; *letter; letter++)
    put_floats(a, node, *letter, 1, &n, &rng, *letter == 'v' ? .5 : .3,
               *letter == 's' || *letter == 'v' ? 1 : 0);
  put_node(a, node, "BatchNormalization", "t s b m v", "epsilon=.001");
}

static void put_cut(struct author *a, int node)
{
  const struct graph_node *o = &a->g->nodes[node];
  const int64_t begin[3] = {o->begin[2], o->begin[0], o->begin[1]},
                end[3] = {o->end[2], o->end[0], o->end[1]}, axes[3] = {1, 2, 3};
  const int64_t steps[3] = {1, o->stride[0], o->stride[1]};
  put_ints(a, node, 'b', 3, begin);
  put_ints(a, node, 'e', 3, end);
  put_ints(a, node, 'x', 3, axes);
  put_ints(a, node, 's', 3, steps);
  put_node(a, node, "Slice", "t b e x s", "");
}

static void put_surroundings(struct author *a, int node, const char *mode)
{
  const struct graph_node *o = &a->g->nodes[node];
  const int64_t pads[8] = {0, 0, o->begin[0], o->begin[1], 0, 0, o->end[0], o->end[1]};
  put_ints(a, node, 'p', 8, pads);
  put_node(a, node, "Pad", "t p", mode);
}

static void put_resized(struct author *a, int node)
{
  static const char *const where[] = {"asymmetric", "align_corners", "half_pixel",
                                      "pytorch_half_pixel"};
  static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                          "ceil"};
  const struct graph_node *o = &a->g->nodes[node];
  const int64_t sizes[4] = {1, o->out.c, o->out.h, o->out.w};
  char text[TEXT];
  int n = snprintf(text, sizeof text, "mode=%s coordinate_transformation_mode=%s",
                   o->kind == GRAPH_NEAREST  ? "nearest"
                   : o->kind == GRAPH_LINEAR ? "linear"
                                             : "cubic",
                   where[o->how]);
  if (o->kind == GRAPH_NEAREST)
    snprintf(text + n, sizeof text - (size_t)n, " nearest_mode=%s", roundings[o->rounding]);
  put_ints(a, node, 's', 4, sizes);
  put_node(a, node, "Resize", "t - - s", text);
}

static void put_reduced(struct author *a, int node)
{
  static const char *const ops[GRAPH_REDUCTIONS] = {
      "ReduceMean", "ReduceSum", "ReduceMax",       "ReduceMin",      "ReduceProd",
      "ReduceL1",   "ReduceL2",  "ReduceSumSquare", "ReduceLogSumExp"};
  const struct graph_node *o = &a->g->nodes[node];
  int64_t axes[GRAPH_AXES];
  char text[TEXT] = "axes=[";
  int n = 0;
  for (int i = 0; i < GRAPH_AXES; i++)
    if (o->axes >> i & 1)
      /* for even alpha, axes are negative: counted from the end */
      axes[n++] = o->alpha % 2 ? dimension(i) : dimension(i) - 4;
  if (o->how == GRAPH_SUM) {
    put_ints(a, node, 'x', n, axes);
    put_node(a, node, ops[o->how], "t x", "");
    return;
  }
  for (int i = 0; i < n; i++)
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", i ? "," : "", (int)axes[i]);
  strcat(text, "]");
  put_node(a, node, ops[o->how], "t", text);
}

static void put_split(struct author *a, int node)
{
  const struct graph_node *o = &a->g->nodes[node];
  const int64_t sizes[2] = {o->size[0], o->size[1]};
  char from[TEXT], to[TEXT], axis[TEXT];
  const int second = graph_second_output(a->g, node);
  const char rest = second ? made(a) : 'r';
  snprintf(from, sizeof from, "t%d s%d", o->a, node);
  if (o->how) snprintf(to, sizeof to, "%c%d %c%d", rest, second ? second : node, made(a), node);
  else snprintf(to, sizeof to, "%c%d %c%d", made(a), node, rest, second ? second : node);
  snprintf(axis, sizeof axis, "axis=%d", dimension(o->axis));
  put_ints(a, node, 's', 2, sizes);
  test_onnx_add(&a->graph, "Split", from, to, axis);
}

static void put_best(struct author *a, int node)
{
  const struct graph_node *o = &a->g->nodes[node];
  const int64_t k = o->size[0];
  char from[TEXT], to[TEXT], axis[TEXT];
  snprintf(from, sizeof from, "t%d k%d", o->a, node);
  snprintf(to, sizeof to, "%c%d p%d", made(a), node, node);
  snprintf(axis, sizeof axis, "axis=%d largest=%d", dimension(o->axis), !o->how);
  put_ints(a, node, 'k', 1, &k);
  test_onnx_add(&a->graph, "TopK", from, to, axis);
}

/* Writes a Cast to floats of the indices that TopK found. */
static void put_places(struct author *a, int node)
{
  char from[16], to[16];
  snprintf(from, sizeof from, "p%d", a->g->nodes[node].a);
  snprintf(to, sizeof to, "t%d", node);
  test_onnx_add(&a->graph, "Cast", from, to, "to=1");
}

static void put_gathered(struct author *a, int node)
{
  const struct graph_node *o = &a->g->nodes[node];
  struct test_rng rng = graph_constants(a->g, node);
  int extents[GRAPH_AXES];
  int64_t places[GRAPH_PLACES];
  char axis[TEXT];
  graph_extents(a->g->nodes[o->a].out, extents);
  graph_places(&rng, extents[o->axis], o->size[0], places, true);
  snprintf(axis, sizeof axis, "axis=%d", dimension(o->axis));
  put_ints(a, node, 'i', o->size[0], places);
  put_node(a, node, "Gather", "t i", axis);
}

static void put_transposed(struct author *a, int node)
{
  const struct graph_node *o = &a->g->nodes[node];
  char text[TEXT];
  snprintf(text, sizeof text, "perm=[0,%d,%d,%d]", dimension(o->order[GRAPH_CHANNELS]),
           dimension(o->order[GRAPH_ROWS]), dimension(o->order[GRAPH_COLUMNS]));
  put_node(a, node, "Transpose", "t", text);
}

static void put_reshaped(struct author *a, int node)
{
  const struct graph_map out = a->g->nodes[node].out;
  const int64_t dims[4] = {1, out.c, out.h, out.w};
  put_ints(a, node, 's', 4, dims);
  put_node(a, node, "Reshape", "t s", "");
}

static void put_product(struct author *a, int node)
{
  const struct graph_node *o = &a->g->nodes[node];
  struct test_rng rng = graph_constants(a->g, node);
  const int64_t dims[2] = {a->g->nodes[o->a].out.w, o->out.w};
  put_floats(a, node, 'w', 2, dims, &rng, 1.7 / sqrt((double)dims[0]), 0);
  put_node(a, node, "MatMul", "t w", "");
}

static void put_layer_norm(struct author *a, int node)
{
  struct test_rng rng = graph_constants(a->g, node);
  const int64_t n = a->g->nodes[node].out.w;
  put_floats(a, node, 's', 1, &n, &rng, .3, 1);
  put_floats(a, node, 'b', 1, &n, &rng, .3, 0);
  put_node(a, node, "LayerNormalization", "t s b", "axis=-1 epsilon=.0625");
}

/* Writes operator `op` with attribute `name`, whose value is alpha, and, if `beta`, with
 * attribute beta. The node has both values in 64ths. */
static void put_parametric(struct author *a, int node, const char *op, const char *name, bool beta)
{
  const struct graph_node *o = &a->g->nodes[node];
  char text[TEXT];
  int n = snprintf(text, sizeof text, "%s=%.6f", name, o->alpha / 64.0);
  if (beta) snprintf(text + n, sizeof text - (size_t)n, " beta=%.6f", o->beta / 64.0);
  put_node(a, node, op, "t", text);
}

static void put_number(struct author *a, int node, char letter, double value)
{
  char name[16];
  snprintf(name, sizeof name, "%c%d", letter, node);
  test_onnx_floats(&a->graph, name, 0, NULL, &value);
}

static void put_clipped(struct author *a, int node, double least, double most)
{
  put_number(a, node, 'l', least);
  put_number(a, node, 'h', most);
  put_node(a, node, "Clip", "t l h", "");
}

static void put_dense(struct author *a, int node)
{
  const struct graph_node *o = &a->g->nodes[node];
  const struct graph_map in = a->g->nodes[o->a].out;
  struct test_rng rng = graph_constants(a->g, node);
  const int64_t dims[2] = {o->out.c, (int64_t)in.h * in.w * in.c}, biases = o->out.c;
  char from[16], flat[16], list[TEXT], to[16];
  put_floats(a, node, 'w', 2, dims, &rng, 1.7 / sqrt((double)dims[1]), 0);
  put_floats(a, node, 'b', 1, &biases, &rng, .2, 0);
  snprintf(from, sizeof from, "t%d", o->a);
  snprintf(flat, sizeof flat, "g%d", node);
  snprintf(list, sizeof list, "g%d w%d b%d", node, node, node);
  snprintf(to, sizeof to, "%c%d", made(a), node);
  test_onnx_add(&a->graph, "Flatten", from, flat, "");
  test_onnx_add(&a->graph, "Gemm", list, to, "transB=1");
}

static void put(struct author *a, int node)
{
  static const struct {
    const char *op, *inputs, *attributes;
  } plain[GRAPH_KINDS] = {[GRAPH_GLOBAL_MEAN] = {"GlobalAveragePool", "t", ""},
                          [GRAPH_ADD] = {"Add", "t u", ""}, [GRAPH_SUB] = {"Sub", "t u", ""},
                          [GRAPH_MUL] = {"Mul", "t u", ""}, [GRAPH_MAX] = {"Max", "t u", ""},
                          [GRAPH_MIN] = {"Min", "t u", ""}, [GRAPH_RELU] = {"Relu", "t", ""},
                          [GRAPH_LOGISTIC] = {"Sigmoid", "t", ""}, [GRAPH_TANH] = {"Tanh", "t", ""},
                          [GRAPH_HARD_SWISH] = {"HardSwish", "t", ""},
                          [GRAPH_ABS] = {"Abs", "t", ""}, [GRAPH_NEG] = {"Neg", "t", ""},
                          [GRAPH_SQUARE] = {"Mul", "t t", ""}, [GRAPH_EXP] = {"Exp", "t", ""},
                          [GRAPH_ERF] = {"Erf", "t", ""}, [GRAPH_SOFTPLUS] = {"Softplus", "t", ""},
                          [GRAPH_SQRT] = {"Sqrt", "t", ""}, [GRAPH_SELU] = {"Selu", "t", ""},
                          [GRAPH_SOFTSIGN] = {"Softsign", "t", ""}, [GRAPH_SIN] = {"Sin", "t", ""},
                          [GRAPH_COS] = {"Cos", "t", ""},
                          [GRAPH_SPACE_TO_DEPTH] = {"SpaceToDepth", "t", "blocksize=2"},
                          [GRAPH_MATMUL] = {"MatMul", "t u", ""}};
  enum graph_kind kind = a->g->nodes[node].kind;
  const struct graph_node *o = &a->g->nodes[node];
  char text[TEXT];
  switch (kind) {
  case GRAPH_CONV:
  case GRAPH_DEPTHWISE:
  case GRAPH_GROUPED:
  case GRAPH_TRANSPOSED: put_convolution(a, node); break;
  case GRAPH_MAX_POOL: put_window(a, node, "MaxPool", "t", o->ceil ? " ceil_mode=1" : ""); break;
  case GRAPH_MEAN_POOL:
    snprintf(text, sizeof text, "%s%s", o->ceil ? " ceil_mode=1" : "",
             o->counted ? " count_include_pad=1" : "");
    put_window(a, node, "AveragePool", "t", text);
    break;
  case GRAPH_ADD_CONSTANT: put_constant(a, node, "Add", "t c", 1, 0); break;
  case GRAPH_SUB_FROM_CONSTANT: put_constant(a, node, "Sub", "c t", 1, 0); break;
  case GRAPH_MUL_CONSTANT: put_constant(a, node, "Mul", "t c", 1.5, 0); break;
  case GRAPH_DIV_CONSTANT: put_constant(a, node, "Div", "t c", .5, 1); break;
  case GRAPH_PRELU: put_along(a, node, 1 << GRAPH_CHANNELS, "PRelu", "t c", 1, 0); break;
  case GRAPH_BATCH_NORM: put_normalization(a, node); break;
  case GRAPH_RELU6: put_clipped(a, node, 0, 6); break;
  case GRAPH_CLIP: put_clipped(a, node, -o->alpha / 64.0, o->beta / 64.0); break;
  case GRAPH_CUBE:
    put_number(a, node, 'p', 3);
    put_node(a, node, "Pow", "t p", "");
    break;
  case GRAPH_LEAKY: put_parametric(a, node, "LeakyRelu", "alpha", false); break;
  case GRAPH_ELU: put_parametric(a, node, "Elu", "alpha", false); break;
  case GRAPH_CELU: put_parametric(a, node, "Celu", "alpha", false); break;
  case GRAPH_HARD_SIGMOID: put_parametric(a, node, "HardSigmoid", "alpha", true); break;
  case GRAPH_PAD: put_surroundings(a, node, "mode=constant"); break;
  case GRAPH_MIRROR: put_surroundings(a, node, "mode=reflect"); break;
  case GRAPH_EDGE: put_surroundings(a, node, "mode=edge"); break;
  case GRAPH_NEAREST:
  case GRAPH_LINEAR:
  case GRAPH_CUBIC: put_resized(a, node); break;
  case GRAPH_SLICE:
  case GRAPH_STRIDED: put_cut(a, node); break;
  case GRAPH_SPLIT: put_split(a, node); break;
  case GRAPH_GATHER: put_gathered(a, node); break;
  case GRAPH_TOPK: put_best(a, node); break;
  case GRAPH_TOPK_PLACES: put_places(a, node); break;
  case GRAPH_SPLIT_REST: break; /* written together with the GRAPH_SPLIT node before it */
  case GRAPH_TRANSPOSE: put_transposed(a, node); break;
  case GRAPH_RESHAPE: put_reshaped(a, node); break;
  case GRAPH_DEPTH_TO_SPACE:
    put_node(a, node, "DepthToSpace", "t", o->alpha % 2 ? "blocksize=2 mode=CRD" : "blocksize=2");
    break;
  case GRAPH_CONCAT:
  case GRAPH_SOFTMAX:
  case GRAPH_LOG_SOFTMAX:
    snprintf(text, sizeof text, "axis=%d", dimension(o->axis));
    put_node(a, node,
             kind == GRAPH_CONCAT    ? "Concat"
             : kind == GRAPH_SOFTMAX ? "Softmax"
                                     : "LogSoftmax",
             kind == GRAPH_CONCAT ? "t u" : "t", text);
    break;
  case GRAPH_REDUCE: put_reduced(a, node); break;
  case GRAPH_LAYER_NORM: put_layer_norm(a, node); break;
  case GRAPH_MATMUL_CONSTANT: put_product(a, node); break;
  case GRAPH_DENSE: put_dense(a, node); break;
  default: put_node(a, node, plain[kind].op, plain[kind].inputs, plain[kind].attributes);
  }
}

char *graph_write_onnx(const struct random_graph *g, size_t *n)
{
  struct author a = {.g = g};
  const struct graph_map in = g->nodes[0].out;
  const int64_t dims[4] = {1, in.c, in.h, in.w};
  if (g->integers) graph_quantize(g, a.numbers);
  test_onnx_input(&a.graph, g->integers ? "f0" : "t0", 4, dims);
  for (int i = 0; i < g->n; i++) {
    if (i > 0) put(&a, i);
    if (g->integers) put_numbers(&a, i);
  }
  free(a.scales);
  for (int i = 1; i < g->n; i++) {
    char name[16];
    snprintf(name, sizeof name, "t%d", i);
    if (graph_is_output(g, i)) test_onnx_output(&a.graph, name, -1, NULL);
  }
  struct test_message m = test_onnx_model(&a.graph, 17);
  *n = m.n;
  return m.data;
}
