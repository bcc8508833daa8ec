/* Writes a random graph as a TFLite file. Called by random_graphs.c. The caller frees the file. */
#include "tests/differential/graph.h"

#include "formats/tflite/model.h"
#include "formats/tflite/operators.h"
#include "tests/support/tflite_writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TENSORS = 8 * GRAPH_NODES, MOST_OPERATORS = 3 * GRAPH_NODES, LEAST = -128, MOST = 127 };
/* Numbers of the types of operators' options in TFLite's schema. */
enum {
  CONV = 1, DEPTHWISE = 2, POOL = 5, DENSE = 8, SOFTMAX = 9, CONCATENATION = 10, ADD = 11,
  BILINEAR = 15, SPACE_TO_DEPTH = 19, MUL = 21, RESHAPE = 17, PAD = 22, TRANSPOSE = 26,
  REDUCER = 27, SUB = 28, DIV = 29, STRIDED_SLICE = 32, GATHER = 23, LOG_SOFTMAX = 36, SLICE = 48,
  TRANSPOSE_CONV = 49, NEAREST = 74, LEAKY = 75, MIRROR = 77, SPLIT_V = 79, DEPTH_TO_SPACE = 94,
  MATMUL = 101, TOPK = 34,
  CAST = 37
};

struct author {
  const struct random_graph *g;
  struct test_tflite_tensor tensors[MOST_TENSORS]; /* the nodes' maps, then other tensors */
  struct test_tflite_operator operators[MOST_OPERATORS];
  char names[MOST_TENSORS][8];
  void *owned[3 * MOST_TENSORS];
  struct graph_numbers numbers[GRAPH_NODES]; /* quantization, in integer graphs */
  int n_tensors, n_operators, n_owned;
};

static int add_tensor(struct author *a, int type, int rank, const int32_t *dims, const void *data,
                      size_t bytes)
{
  int index = a->n_tensors++;
  snprintf(a->names[index], sizeof a->names[index], "t%d", index);
  a->tensors[index] = (struct test_tflite_tensor){
      .name = a->names[index], .type = type, .rank = rank, .data = data, .bytes = bytes};
  memcpy(a->tensors[index].shape, dims, (size_t)rank * sizeof *dims);
  return index;
}

static void *own(struct author *a, size_t bytes)
{
  void *all = malloc(bytes);
  if (!all) abort();
  return a->owned[a->n_owned++] = all;
}

static size_t count(int rank, const int32_t *dims)
{
  size_t n = 1;
  for (int i = 0; i < rank; i++) n *= (size_t)dims[i];
  return n;
}

static int add_floats(struct author *a, int rank, const int32_t *dims, struct test_rng *rng,
                      double scale, double shift)
{
  size_t n = count(rank, dims);
  float *values = own(a, n * sizeof *values);
  for (size_t i = 0; i < n; i++) values[i] = (float)((double)graph_constant(rng) * scale + shift);
  return add_tensor(a, MAFAT_TFLITE_FLOAT32, rank, dims, values, n * sizeof *values);
}

/* ---- integers ---- */

/* Sets n scales along a dimension, and one zero point for all. `zero` is for int8; for uint8 it
 * is 128 more. */
static void set_numbers(struct author *a, int tensor, int n, const float *scales, int zero,
                        int dimension)
{
  struct test_tflite_tensor *t = &a->tensors[tensor];
  float *own_scales = own(a, (size_t)n * sizeof *own_scales);
  int64_t *zeros = own(a, (size_t)n * sizeof *zeros);
  for (int i = 0; i < n; i++) {
    own_scales[i] = scales[i];
    zeros[i] = zero + (t->type == MAFAT_TFLITE_UINT8 ? -LEAST : 0);
  }
  t->scales = own_scales;
  t->zero_points = zeros;
  t->n_scales = t->n_zero_points = n;
  t->dimension = dimension;
}

static int map_type(const struct author *a)
{
  return !a->g->integers   ? MAFAT_TFLITE_FLOAT32
         : a->g->is_signed ? MAFAT_TFLITE_INT8
                           : MAFAT_TFLITE_UINT8;
}

/* Adds a map with the same quantization as the map of node `like`. */
static int add_map(struct author *a, int like, const int32_t dims[4])
{
  int tensor = add_tensor(a, map_type(a), 4, dims, NULL, 0);
  if (a->g->integers) set_numbers(a, tensor, 1, &a->numbers[like].scale, a->numbers[like].zero, 0);
  return tensor;
}

/* Adds a constant of random bytes that stand for values in -most to most. With int8 and a
 * dimension of at least 0, it has a scale for each position along that dimension; else one
 * scale. */
static int add_bytes(struct author *a, int rank, const int32_t *dims, struct test_rng *rng,
                     double most, int zero, int dimension)
{
  bool each = dimension >= 0 && a->g->is_signed;
  size_t n = count(rank, dims), n_scales = each ? (size_t)dims[dimension] : 1;
  int8_t *bytes = own(a, n);
  float *scales = own(a, n_scales * sizeof *scales);
  for (size_t i = 0; i < n; i++) {
    long number = lround((double)graph_constant(rng) * MOST) + zero;
    bytes[i] = (int8_t)(number < LEAST ? LEAST : number > MOST ? MOST : number);
    if (!a->g->is_signed) bytes[i] = (int8_t)(bytes[i] ^ LEAST);
  }
  for (size_t i = 0; i < n_scales; i++)
    scales[i] =
        (float)(most / MOST * (n_scales > 1 ? .6 + .4 * fabs((double)graph_constant(rng)) : 1));
  int tensor = add_tensor(a, map_type(a), rank, dims, bytes, n);
  set_numbers(a, tensor, (int)n_scales, scales, zero, each ? dimension : 0);
  return tensor;
}

/* Adds random weights between -most and most. */
static int add_weights(struct author *a, int rank, const int32_t *dims, struct test_rng *rng,
                       double most, int dimension)
{
  if (!a->g->integers) return add_floats(a, rank, dims, rng, most, 0);
  return add_bytes(a, rank, dims, rng, most, a->g->is_signed ? 0 : test_random_int(rng, -10, 10),
                   dimension);
}

/* Adds n random biases, whose scale is the input's scale times the weights' scale. */
static int add_biases(struct author *a, int input, int weights, int32_t n, struct test_rng *rng)
{
  const double most = .2;
  if (!a->g->integers) return add_floats(a, 1, &n, rng, most, 0);
  int32_t *biases = own(a, (size_t)n * sizeof *biases);
  int n_scales = a->tensors[weights].n_scales;
  float *scales = own(a, (size_t)n_scales * sizeof *scales);
  for (int i = 0; i < n_scales; i++)
    scales[i] = a->numbers[input].scale * a->tensors[weights].scales[i];
  for (int i = 0; i < n; i++)
    biases[i] =
        (int32_t)lround((double)graph_constant(rng) * most / (double)scales[n_scales > 1 ? i : 0]);
  int tensor = add_tensor(a, MAFAT_TFLITE_INT32, 1, &n, biases, (size_t)n * sizeof *biases);
  set_numbers(a, tensor, n_scales, scales, 0, 0);
  return tensor;
}

/* Adds a constant list of integers; with `pairs`, a list of pairs. */
static int add_ints(struct author *a, int n, const int32_t *values, bool pairs)
{
  int32_t *list = own(a, (size_t)n * sizeof *list);
  const int32_t dims[2] = {pairs ? n / 2 : n, 2};
  memcpy(list, values, (size_t)n * sizeof *list);
  return add_tensor(a, MAFAT_TFLITE_INT32, pairs ? 2 : 1, dims, list, (size_t)n * sizeof *list);
}

/* Adds an operator with n inputs, whose output is the node's map. */
static struct test_tflite_operator *add(struct author *a, int node, int code, int options, int n,
                                        int first, int second, int third)
{
  struct test_tflite_operator *o = &a->operators[a->n_operators++];
  *o = (struct test_tflite_operator){.code = code,
                                     .options = options,
                                     .n_inputs = n,
                                     .n_outputs = 1,
                                     .inputs = {first, second, third},
                                     .outputs = {node}};
  return o;
}

/* Returns the second map that a node reads. If TFLite requires that it has the output's
 * quantization, adds an operator that requantizes it. */
static int second(struct author *a, int node)
{
  const struct graph_node *o = &a->g->nodes[node];
  const struct graph_map b = a->g->nodes[o->b].out;
  const int32_t dims[4] = {1, b.h, b.w, b.c};
  if (!a->g->integers || !graph_keeps_numbers(o) ||
      memcmp(&a->numbers[o->b], &a->numbers[node], sizeof *a->numbers) == 0)
    return o->b;
  int tensor = add_map(a, node, dims);
  add(a, tensor, MAFAT_TFLITE_QUANTIZE, 0, 1, o->b, 0, 0);
  return tensor;
}

static void option(struct test_tflite_operator *o, int number, int bytes, int value)
{
  o->fields[o->n_fields++] =
      (struct test_tflite_field){.number = number, .bytes = bytes, .value = value};
}

/* Sets the options of an operator with windows. `fused` is the number of the activation's field
 * in the options; 0: they have none. */
static struct test_tflite_operator *window(struct test_tflite_operator *o,
                                           const struct graph_node *node, int fused)
{
  option(o, 0, 1, node->same ? MAFAT_TFLITE_SAME : MAFAT_TFLITE_VALID);
  option(o, 1, 4, node->stride[1]);
  option(o, 2, 4, node->stride[0]);
  if (node->fused && fused) option(o, fused, 1, node->fused);
  return o;
}

/* ---- nodes ---- */

static void put_convolution(struct author *a, int node)
{
  const struct graph_node *o = &a->g->nodes[node];
  struct test_rng rng = graph_constants(a->g, node);
  bool depthwise = o->kind == GRAPH_DEPTHWISE;
  int in = a->g->nodes[o->a].out.c;
  const int32_t dims[4] = {depthwise ? 1 : o->out.c, o->kernel[0], o->kernel[1],
                           depthwise ? o->out.c : in},
                biases = o->out.c;
  int w = add_weights(a, 4, dims, &rng,
                      1.7 / sqrt((double)(o->kernel[0] * o->kernel[1]) * (depthwise ? 1 : in)),
                      depthwise ? 3 : 0);
  int b = add_biases(a, o->a, w, biases, &rng);
  if (depthwise) {
    struct test_tflite_operator *each =
        window(add(a, node, MAFAT_TFLITE_DEPTHWISE_CONV_2D, DEPTHWISE, 3, o->a, w, b), o, 4);
    option(each, 3, 4, o->out.c / in);
    option(each, 5, 4, o->dilation[1]);
    option(each, 6, 4, o->dilation[0]);
    return;
  }
  struct test_tflite_operator *p =
      window(add(a, node, MAFAT_TFLITE_CONV_2D, CONV, 3, o->a, w, b), o, 3);
  option(p, 4, 4, o->dilation[1]);
  option(p, 5, 4, o->dilation[0]);
}

static void put_transposed(struct author *a, int node)
{
  const struct graph_node *o = &a->g->nodes[node];
  struct test_rng rng = graph_constants(a->g, node);
  int in = a->g->nodes[o->a].out.c;
  const int32_t dims[4] = {o->out.c, o->kernel[0], o->kernel[1], in},
                shape[4] = {1, o->out.h, o->out.w, o->out.c};
  int s = add_ints(a, 4, shape, false),
      w = add_weights(a, 4, dims, &rng, 1.7 / sqrt((double)(o->kernel[0] * o->kernel[1] * in)), 0);
  window(add(a, node, MAFAT_TFLITE_TRANSPOSE_CONV, TRANSPOSE_CONV, 3, s, w, o->a), o, 0);
}

static void put_pool(struct author *a, int node, int code)
{
  const struct graph_node *o = &a->g->nodes[node];
  struct test_tflite_operator *p = window(add(a, node, code, POOL, 1, o->a, 0, 0), o, 5);
  option(p, 3, 4, o->kernel[1]);
  option(p, 4, 4, o->kernel[0]);
}

/* Adds a constant that has the input's extent along `axes` and extent 1 along the others. Axis i
 * is dimension 1 + i of the file. */
static int along(struct author *a, int node, unsigned axes, double scale, double shift)
{
  struct test_rng rng = graph_constants(a->g, node);
  int extents[GRAPH_AXES];
  int32_t dims[GRAPH_AXES];
  graph_extents(a->g->nodes[a->g->nodes[node].a].out, extents);
  for (int i = 0; i < GRAPH_AXES; i++) dims[i] = axes >> i & 1 ? extents[i] : 1;
  if (a->g->integers)
    return add_bytes(a, axes ? GRAPH_AXES : 0, dims, &rng, scale, test_random_int(&rng, -40, 40),
                     -1);
  return add_floats(a, axes ? GRAPH_AXES : 0, dims, &rng, scale, shift);
}

/* Adds an operator that reads two operands; its options have the node's fused activation if any. */
static void put_sum(struct author *a, int node, int code, int options, int first, int second)
{
  struct test_tflite_operator *p = add(a, node, code, options, 2, first, second, 0);
  if (a->g->nodes[node].fused) option(p, 0, 1, a->g->nodes[node].fused);
}

static void put_reduced(struct author *a, int node)
{
  static const int codes[] = {MAFAT_TFLITE_MEAN, MAFAT_TFLITE_SUM, MAFAT_TFLITE_REDUCE_MAX,
                              MAFAT_TFLITE_REDUCE_MIN};
  const struct graph_node *o = &a->g->nodes[node];
  int32_t axes[GRAPH_AXES];
  int n = 0;
  for (int i = 0; i < GRAPH_AXES; i++)
    /* for even alpha, axes are negative: counted from the end */
    if (o->axes >> i & 1) axes[n++] = o->alpha % 2 ? 1 + i : i - 3;
  option(add(a, node, codes[o->how], REDUCER, 2, o->a, add_ints(a, n, axes, false), 0), 0, 1, 1);
}

static void put_split(struct author *a, int node)
{
  const struct graph_node *o = &a->g->nodes[node];
  const int32_t sizes[2] = {o->size[0], o->size[1]}, axis = 1 + o->axis;
  int extents[GRAPH_AXES], list = add_ints(a, 2, sizes, false),
                           along_axis = add_tensor(a, MAFAT_TFLITE_INT32, 0, NULL, NULL, 0);
  int32_t *number = own(a, sizeof *number), dims[4] = {1};
  *number = axis;
  a->tensors[along_axis].data = number;
  a->tensors[along_axis].bytes = sizeof *number;
  graph_extents(a->g->nodes[o->a].out, extents);
  extents[o->axis] = o->size[!o->how];
  for (int i = 0; i < GRAPH_AXES; i++) dims[1 + i] = extents[i];
  int second = graph_second_output(a->g, node), rest = second ? second : add_map(a, node, dims);
  struct test_tflite_operator *p =
      add(a, node, MAFAT_TFLITE_SPLIT_V, SPLIT_V, 3, o->a, list, along_axis);
  p->n_outputs = 2;
  p->outputs[o->how] = node;
  p->outputs[!o->how] = rest;
  option(p, 0, 4, 2);
}

/* Adds TopK. If the graph has a node for TopK's positions, adds a cast of them to floats. */
static void put_best(struct author *a, int node)
{
  const struct graph_node *o = &a->g->nodes[node];
  const int32_t dims[4] = {1, o->out.h, o->out.w, o->out.c};
  int32_t *k = own(a, sizeof *k);
  *k = o->size[0];
  int best = add_tensor(a, MAFAT_TFLITE_INT32, 0, NULL, k, sizeof *k);
  int places = add_tensor(a, MAFAT_TFLITE_INT32, 4, dims, NULL, 0);
  struct test_tflite_operator *p = add(a, node, MAFAT_TFLITE_TOPK_V2, TOPK, 2, o->a, best, 0);
  p->n_outputs = 2;
  p->outputs[1] = places;
  int second = graph_second_output(a->g, node);
  if (!second) return;
  p = add(a, second, MAFAT_TFLITE_CAST, CAST, 1, places, 0, 0);
  option(p, 0, 1, MAFAT_TFLITE_INT32);
  option(p, 1, 1, MAFAT_TFLITE_FLOAT32);
}

static void put_gathered(struct author *a, int node)
{
  const struct graph_node *o = &a->g->nodes[node];
  struct test_rng rng = graph_constants(a->g, node);
  int extents[GRAPH_AXES];
  int64_t places[GRAPH_PLACES];
  int32_t list[GRAPH_PLACES];
  graph_extents(a->g->nodes[o->a].out, extents);
  graph_places(&rng, extents[o->axis], o->size[0], places, false);
  for (int i = 0; i < o->size[0]; i++) list[i] = (int32_t)places[i];
  option(add(a, node, MAFAT_TFLITE_GATHER, GATHER, 2, o->a, add_ints(a, o->size[0], list, false),
             0),
         0, 4, 1 + o->axis);
}

/* Adds a matrix product of the channels with constant weights. */
static void put_product(struct author *a, int node)
{
  const struct graph_node *o = &a->g->nodes[node];
  struct test_rng rng = graph_constants(a->g, node);
  int extents[GRAPH_AXES];
  graph_extents(a->g->nodes[o->a].out, extents);
  const int32_t dims[2] = {o->out.c, extents[GRAPH_CHANNELS]};
  option(add(a, node, MAFAT_TFLITE_FULLY_CONNECTED, DENSE, 2, o->a,
             add_weights(a, 2, dims, &rng, 1.7 / sqrt((double)dims[1]), -1), 0),
         2, 1, 1);
}

static void put_cut(struct author *a, int node)
{
  const struct graph_node *o = &a->g->nodes[node];
  const int32_t begin[4] = {0, o->begin[0], o->begin[1], o->begin[2]},
                size[4] = {1, o->size[0], o->size[1], o->size[2]};
  const int32_t end[4] = {1, o->end[0], o->end[1], o->end[2]},
                steps[4] = {1, o->stride[0], o->stride[1], 1};
  int b = add_ints(a, 4, begin, false),
      e = add_ints(a, 4, o->kind == GRAPH_SLICE ? size : end, false);
  if (o->kind == GRAPH_SLICE) {
    add(a, node, MAFAT_TFLITE_SLICE, SLICE, 3, o->a, b, e);
    return;
  }
  struct test_tflite_operator *p =
      add(a, node, MAFAT_TFLITE_STRIDED_SLICE, STRIDED_SLICE, 3, o->a, b, e);
  p->inputs[p->n_inputs++] = add_ints(a, 4, steps, false);
}

static void put_surroundings(struct author *a, int node)
{
  const struct graph_node *o = &a->g->nodes[node];
  const int32_t pads[8] = {0, 0, o->begin[0], o->end[0], o->begin[1], o->end[1], 0, 0};
  int p = add_ints(a, 8, pads, true);
  if (o->kind == GRAPH_PAD) add(a, node, MAFAT_TFLITE_PAD, PAD, 2, o->a, p, 0);
  else option(add(a, node, MAFAT_TFLITE_MIRROR_PAD, MIRROR, 2, o->a, p, 0), 0, 1, o->how);
}

static void put_resized(struct author *a, int node)
{
  const struct graph_node *o = &a->g->nodes[node];
  const int32_t size[2] = {o->out.h, o->out.w};
  int s = add_ints(a, 2, size, false);
  bool nearest = o->kind == GRAPH_NEAREST;
  struct test_tflite_operator *p =
      add(a, node, nearest ? MAFAT_TFLITE_RESIZE_NEAREST_NEIGHBOR : MAFAT_TFLITE_RESIZE_BILINEAR,
          nearest ? NEAREST : BILINEAR, 2, o->a, s, 0);
  option(p, nearest ? 0 : 2, 1, o->how == 1); /* align_corners */
  option(p, nearest ? 1 : 3, 1, o->how == 2); /* half_pixel_centers */
}

static void put_dense(struct author *a, int node)
{
  const struct graph_node *o = &a->g->nodes[node];
  const struct graph_map in = a->g->nodes[o->a].out;
  struct test_rng rng = graph_constants(a->g, node);
  const int32_t dims[2] = {o->out.c, in.h * in.w * in.c}, biases = o->out.c, out[2] = {1, o->out.c};
  int w = add_weights(a, 2, dims, &rng, 1.7 / sqrt((double)dims[1]), -1),
      b = add_biases(a, o->a, w, biases, &rng);
  a->tensors[node].rank = 2;
  memcpy(a->tensors[node].shape, out, sizeof out);
  add(a, node, MAFAT_TFLITE_FULLY_CONNECTED, DENSE, 3, o->a, w, b);
}

static void put(struct author *a, int node)
{
  static const struct {
    int code, options, n; /* n: number of inputs; 0: not in this table */
  } plain[GRAPH_KINDS] = {[GRAPH_MAX] = {MAFAT_TFLITE_MAXIMUM, 0, 2},
                          [GRAPH_MIN] = {MAFAT_TFLITE_MINIMUM, 0, 2},
                          [GRAPH_RELU] = {MAFAT_TFLITE_RELU, 0, 1},
                          [GRAPH_RELU6] = {MAFAT_TFLITE_RELU6, 0, 1},
                          [GRAPH_LOGISTIC] = {MAFAT_TFLITE_LOGISTIC, 0, 1},
                          [GRAPH_TANH] = {MAFAT_TFLITE_TANH, 0, 1},
                          [GRAPH_ELU] = {MAFAT_TFLITE_ELU, 0, 1},
                          [GRAPH_HARD_SWISH] = {MAFAT_TFLITE_HARD_SWISH, 0, 1},
                          [GRAPH_ABS] = {MAFAT_TFLITE_ABS, 0, 1},
                          [GRAPH_NEG] = {MAFAT_TFLITE_NEG, 0, 1},
                          [GRAPH_SQUARE] = {MAFAT_TFLITE_SQUARE, 0, 1},
                          [GRAPH_EXP] = {MAFAT_TFLITE_EXP, 0, 1},
                          [GRAPH_SQRT] = {MAFAT_TFLITE_SQRT, 0, 1}};
  const struct graph_node *o = &a->g->nodes[node];
  const int32_t order[4] = {0, 1 + o->order[0], 1 + o->order[1], 1 + o->order[2]};
  const int32_t plane[2] = {1, 2}, dims[4] = {1, o->out.h, o->out.w, o->out.c};
  struct test_tflite_operator *p;
  float *three;
  switch (o->kind) {
  case GRAPH_CONV:
  case GRAPH_DEPTHWISE: put_convolution(a, node); break;
  case GRAPH_TRANSPOSED: put_transposed(a, node); break;
  case GRAPH_MAX_POOL: put_pool(a, node, MAFAT_TFLITE_MAX_POOL_2D); break;
  case GRAPH_MEAN_POOL: put_pool(a, node, MAFAT_TFLITE_AVERAGE_POOL_2D); break;
  case GRAPH_GLOBAL_MEAN:
    option(add(a, node, MAFAT_TFLITE_MEAN, REDUCER, 2, o->a, add_ints(a, 2, plane, false), 0), 0, 1,
           1);
    break;
  case GRAPH_REDUCE: put_reduced(a, node); break;
  case GRAPH_ADD: put_sum(a, node, MAFAT_TFLITE_ADD, ADD, o->a, o->b); break;
  case GRAPH_SUB: put_sum(a, node, MAFAT_TFLITE_SUB, SUB, o->a, o->b); break;
  case GRAPH_MUL: put_sum(a, node, MAFAT_TFLITE_MUL, MUL, o->a, o->b); break;
  case GRAPH_ADD_CONSTANT:
    put_sum(a, node, MAFAT_TFLITE_ADD, ADD, o->a, along(a, node, o->axes, 1, 0));
    break;
  case GRAPH_SUB_FROM_CONSTANT:
    put_sum(a, node, MAFAT_TFLITE_SUB, SUB, along(a, node, o->axes, 1, 0), o->a);
    break;
  case GRAPH_MUL_CONSTANT:
    put_sum(a, node, MAFAT_TFLITE_MUL, MUL, o->a, along(a, node, o->axes, 1.5, 0));
    break;
  case GRAPH_DIV_CONSTANT:
    put_sum(a, node, MAFAT_TFLITE_DIV, DIV, o->a, along(a, node, o->axes, .5, 1));
    break;
  case GRAPH_PRELU:
    add(a, node, MAFAT_TFLITE_PRELU, 0, 2, o->a, along(a, node, 1 << GRAPH_CHANNELS, 1, 0), 0);
    break;
  case GRAPH_CLIP:
    add(a, node, o->alpha % 2 ? MAFAT_TFLITE_RELU_N1_TO_1 : MAFAT_TFLITE_RELU_0_TO_1, 0, 1, o->a, 0,
        0);
    break;
  case GRAPH_CUBE:
    three = own(a, sizeof *three);
    *three = 3;
    add(a, node, MAFAT_TFLITE_POW, 0, 2, o->a,
        add_tensor(a, MAFAT_TFLITE_FLOAT32, 0, NULL, three, sizeof *three), 0);
    break;
  case GRAPH_LEAKY:
    p = add(a, node, MAFAT_TFLITE_LEAKY_RELU, LEAKY, 1, o->a, 0, 0);
    p->fields[p->n_fields++] =
        (struct test_tflite_field){.number = 0, .bytes = 4, .real = (float)o->alpha / 64};
    break;
  case GRAPH_SOFTMAX:
    p = add(a, node, MAFAT_TFLITE_SOFTMAX, SOFTMAX, 1, o->a, 0, 0);
    p->fields[p->n_fields++] =
        (struct test_tflite_field){.number = 0, .bytes = 4, .real = (float)o->alpha / 64};
    break;
  case GRAPH_LOG_SOFTMAX: add(a, node, MAFAT_TFLITE_LOG_SOFTMAX, LOG_SOFTMAX, 1, o->a, 0, 0); break;
  case GRAPH_CONCAT:
    p = add(a, node, MAFAT_TFLITE_CONCATENATION, CONCATENATION, 2, o->a, second(a, node), 0);
    option(p, 0, 4, 1 + o->axis);
    if (o->fused) option(p, 1, 1, o->fused);
    break;
  case GRAPH_SPLIT: put_split(a, node); break;
  case GRAPH_GATHER: put_gathered(a, node); break;
  case GRAPH_TOPK: put_best(a, node); break;
  case GRAPH_SPLIT_REST:
  case GRAPH_TOPK_PLACES: break; /* written together with the GRAPH_TOPK node before it */
  case GRAPH_MATMUL: add(a, node, MAFAT_TFLITE_BATCH_MATMUL, MATMUL, 2, o->a, o->b, 0); break;
  case GRAPH_MATMUL_CONSTANT: put_product(a, node); break;
  case GRAPH_PAD:
  case GRAPH_MIRROR: put_surroundings(a, node); break;
  case GRAPH_NEAREST:
  case GRAPH_LINEAR: put_resized(a, node); break;
  case GRAPH_SLICE:
  case GRAPH_STRIDED: put_cut(a, node); break;
  case GRAPH_TRANSPOSE:
    add(a, node, MAFAT_TFLITE_TRANSPOSE, TRANSPOSE, 2, o->a, add_ints(a, 4, order, false), 0);
    break;
  case GRAPH_RESHAPE:
    add(a, node, MAFAT_TFLITE_RESHAPE, RESHAPE, 2, o->a, add_ints(a, 4, dims, false), 0);
    break;
  case GRAPH_SPACE_TO_DEPTH:
    option(add(a, node, MAFAT_TFLITE_SPACE_TO_DEPTH, SPACE_TO_DEPTH, 1, o->a, 0, 0), 0, 4, 2);
    break;
  case GRAPH_DEPTH_TO_SPACE:
    option(add(a, node, MAFAT_TFLITE_DEPTH_TO_SPACE, DEPTH_TO_SPACE, 1, o->a, 0, 0), 0, 4, 2);
    break;
  case GRAPH_DENSE: put_dense(a, node); break;
  default:
    if (!plain[o->kind].n) abort();
    add(a, node, plain[o->kind].code, plain[o->kind].options, plain[o->kind].n, o->a,
        plain[o->kind].n > 1 ? second(a, node) : 0, 0);
  }
}

/* Puts QUANTIZE after a new float input, or DEQUANTIZE before a new float output (`in`: input),
 * so that the file has floats only. Returns the float tensor. */
static int put_floats(struct author *a, int node, bool in)
{
  const struct test_tflite_tensor *t = &a->tensors[node];
  int floats = add_tensor(a, MAFAT_TFLITE_FLOAT32, t->rank, t->shape, NULL, 0);
  if (in) add(a, node, MAFAT_TFLITE_QUANTIZE, 0, 1, floats, 0, 0);
  else add(a, floats, MAFAT_TFLITE_DEQUANTIZE, 0, 1, node, 0, 0);
  return floats;
}

char *graph_write_tflite(const struct random_graph *g, size_t *n)
{
  struct author a = {.g = g};
  struct test_tflite_model m = {
      .tensors = a.tensors, .operators = a.operators, .n_inputs = 1, .inputs = {0}};
  if (g->integers) graph_quantize(g, a.numbers);
  for (int i = 0; i < g->n; i++) {
    const struct graph_map s = g->nodes[i].out;
    const int32_t dims[4] = {1, s.h, s.w, s.c};
    add_map(&a, i, dims);
    if (graph_is_output(g, i) && m.n_outputs < TEST_TFLITE_LIST) m.outputs[m.n_outputs++] = i;
  }
  if (g->integers) m.inputs[0] = put_floats(&a, 0, true);
  for (int i = 1; i < g->n; i++) put(&a, i);
  for (int i = 0; g->integers && i < m.n_outputs; i++)
    m.outputs[i] = put_floats(&a, m.outputs[i], false);
  m.n_tensors = a.n_tensors;
  m.n_operators = a.n_operators;
  char *data = test_tflite_write(&m, n);
  for (int i = 0; i < a.n_owned; i++) free(a.owned[i]);
  return data;
}
