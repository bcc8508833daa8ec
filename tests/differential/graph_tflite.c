#include "tests/differential/graph.h"

#include "formats/tflite/model.h"
#include "formats/tflite/operators.h"
#include "tests/support/tflite_writer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TENSORS = 4 * GRAPH_NODES };
/* As the schema numbers options. */
enum { CONV = 1, DEPTHWISE = 2, POOL = 5, DENSE = 8, SOFTMAX = 9, CONCATENATION = 10, ADD = 11, BILINEAR = 15, SPACE_TO_DEPTH = 19, MUL = 21, PAD = 22, TRANSPOSE = 26,
       REDUCER = 27, SUB = 28, DIV = 29, STRIDED_SLICE = 32, SLICE = 48, TRANSPOSE_CONV = 49, NEAREST = 74, LEAKY = 75, MIRROR = 77, DEPTH_TO_SPACE = 94 };

struct author {
  const struct graph *g;
  struct test_tflite_tensor tensors[MOST_TENSORS]; /* the first are the nodes' maps */
  struct test_tflite_operator operators[GRAPH_NODES];
  char names[MOST_TENSORS][8];
  void *owned[MOST_TENSORS];
  int n_tensors, n_operators, n_owned;
};

static int add_tensor(struct author *a, int type, int rank, const int32_t *dims, const void *data, size_t bytes)
{
  int index = a->n_tensors++;
  snprintf(a->names[index], sizeof a->names[index], "t%d", index);
  a->tensors[index] = (struct test_tflite_tensor){.name = a->names[index], .type = type, .rank = rank, .data = data, .bytes = bytes};
  memcpy(a->tensors[index].shape, dims, (size_t)rank * sizeof *dims);
  return index;
}

static void *own(struct author *a, size_t bytes)
{
  void *all = malloc(bytes);
  if (!all) abort();
  return a->owned[a->n_owned++] = all;
}

static int add_floats(struct author *a, int rank, const int32_t *dims, struct test_rng *rng, double scale, double shift)
{
  size_t n = 1;
  for (int i = 0; i < rank; i++) n *= (size_t)dims[i];
  float *values = own(a, n * sizeof *values);
  for (size_t i = 0; i < n; i++) values[i] = (float)((double)graph_constant(rng) * scale + shift);
  return add_tensor(a, MAFAT_TFLITE_FLOAT32, rank, dims, values, n * sizeof *values);
}

/* A list, or a list of pairs. */
static int add_ints(struct author *a, int n, const int32_t *values, bool pairs)
{
  int32_t *list = own(a, (size_t)n * sizeof *list);
  const int32_t dims[2] = {pairs ? n / 2 : n, 2};
  memcpy(list, values, (size_t)n * sizeof *list);
  return add_tensor(a, MAFAT_TFLITE_INT32, pairs ? 2 : 1, dims, list, (size_t)n * sizeof *list);
}

/* Of node's map, by so many inputs. */
static struct test_tflite_operator *add(struct author *a, int node, int code, int options, int n, int first, int second, int third)
{
  struct test_tflite_operator *o = &a->operators[a->n_operators++];
  *o = (struct test_tflite_operator){.code = code, .options = options, .n_inputs = n, .n_outputs = 1, .inputs = {first, second, third}, .outputs = {node}};
  return o;
}

static void option(struct test_tflite_operator *o, int number, int bytes, int value)
{
  o->fields[o->n_fields++] = (struct test_tflite_field){.number = number, .bytes = bytes, .value = value};
}

static struct test_tflite_operator *window(struct test_tflite_operator *o, const struct graph_node *node)
{
  option(o, 0, 1, node->same ? MAFAT_TFLITE_SAME : MAFAT_TFLITE_VALID);
  option(o, 1, 4, node->stride[1]);
  option(o, 2, 4, node->stride[0]);
  return o;
}

/* ---- nodes ---- */

static void put_convolution(struct author *a, int node)
{
  const struct graph_node *o = &a->g->nodes[node];
  struct test_rng rng = graph_constants(a->g, node);
  bool depthwise = o->kind == GRAPH_DEPTHWISE;
  int in = a->g->nodes[o->a].out.c;
  const int32_t dims[4] = {depthwise ? 1 : o->out.c, o->kernel[0], o->kernel[1], depthwise ? o->out.c : in}, biases = o->out.c;
  int w = add_floats(a, 4, dims, &rng, 1.7 / sqrt((double)(o->kernel[0] * o->kernel[1]) * (depthwise ? 1 : in)), 0), b = add_floats(a, 1, &biases, &rng, .2, 0);
  if (depthwise) {
    option(window(add(a, node, MAFAT_TFLITE_DEPTHWISE_CONV_2D, DEPTHWISE, 3, o->a, w, b), o), 3, 4, o->out.c / in);
    return;
  }
  struct test_tflite_operator *p = window(add(a, node, MAFAT_TFLITE_CONV_2D, CONV, 3, o->a, w, b), o);
  option(p, 4, 4, o->dilation[1]);
  option(p, 5, 4, o->dilation[0]);
}

static void put_transposed(struct author *a, int node)
{
  const struct graph_node *o = &a->g->nodes[node];
  struct test_rng rng = graph_constants(a->g, node);
  int in = a->g->nodes[o->a].out.c;
  const int32_t dims[4] = {o->out.c, o->kernel[0], o->kernel[1], in}, shape[4] = {1, o->out.h, o->out.w, o->out.c};
  int s = add_ints(a, 4, shape, false), w = add_floats(a, 4, dims, &rng, 1.7 / sqrt((double)(o->kernel[0] * o->kernel[1] * in)), 0);
  window(add(a, node, MAFAT_TFLITE_TRANSPOSE_CONV, TRANSPOSE_CONV, 3, s, w, o->a), o);
}

static void put_pool(struct author *a, int node, int code)
{
  const struct graph_node *o = &a->g->nodes[node];
  struct test_tflite_operator *p = window(add(a, node, code, POOL, 1, o->a, 0, 0), o);
  option(p, 3, 4, o->kernel[1]);
  option(p, 4, 4, o->kernel[0]);
}

static int by_channel(struct author *a, int node, int rank, double scale, double shift)
{
  struct test_rng rng = graph_constants(a->g, node);
  const int32_t dims[3] = {rank == 3 ? 1 : a->g->nodes[node].out.c, 1, a->g->nodes[node].out.c};
  return add_floats(a, rank, dims, &rng, scale, shift);
}

static void put_reduced(struct author *a, int node, int code, int first, int second)
{
  const int32_t axes[2] = {first, second};
  option(add(a, node, code, REDUCER, 2, a->g->nodes[node].a, add_ints(a, second ? 2 : 1, axes, false), 0), 0, 1, 1);
}

static void put_cut(struct author *a, int node)
{
  const struct graph_node *o = &a->g->nodes[node];
  const int32_t begin[4] = {0, o->begin[0], o->begin[1], o->begin[2]}, size[4] = {1, o->size[0], o->size[1], o->size[2]};
  const int32_t end[4] = {1, o->end[0], o->end[1], o->end[2]}, steps[4] = {1, o->stride[0], o->stride[1], 1};
  int b = add_ints(a, 4, begin, false), e = add_ints(a, 4, o->kind == GRAPH_SLICE ? size : end, false);
  if (o->kind == GRAPH_SLICE) {
    add(a, node, MAFAT_TFLITE_SLICE, SLICE, 3, o->a, b, e);
    return;
  }
  struct test_tflite_operator *p = add(a, node, MAFAT_TFLITE_STRIDED_SLICE, STRIDED_SLICE, 3, o->a, b, e);
  p->inputs[p->n_inputs++] = add_ints(a, 4, steps, false);
}

static void put_surroundings(struct author *a, int node)
{
  const struct graph_node *o = &a->g->nodes[node];
  const int32_t pads[8] = {0, 0, o->begin[0], o->end[0], o->begin[1], o->end[1], 0, 0};
  int p = add_ints(a, 8, pads, true);
  if (o->kind == GRAPH_PAD) add(a, node, MAFAT_TFLITE_PAD, PAD, 2, o->a, p, 0);
  else option(add(a, node, MAFAT_TFLITE_MIRROR_PAD, MIRROR, 2, o->a, p, 0), 0, 1, 0);
}

static void put_resized(struct author *a, int node)
{
  const struct graph_node *o = &a->g->nodes[node];
  const int32_t size[2] = {o->out.h, o->out.w};
  int s = add_ints(a, 2, size, false);
  bool nearest = o->kind == GRAPH_NEAREST;
  struct test_tflite_operator *p = add(a, node, nearest ? MAFAT_TFLITE_RESIZE_NEAREST_NEIGHBOR : MAFAT_TFLITE_RESIZE_BILINEAR, nearest ? NEAREST : BILINEAR, 2, o->a, s, 0);
  option(p, nearest ? 0 : 2, 1, 0);
  option(p, nearest ? 1 : 3, 1, !nearest);
}

static void put_dense(struct author *a, int node)
{
  const struct graph_node *o = &a->g->nodes[node];
  const struct graph_map in = a->g->nodes[o->a].out;
  struct test_rng rng = graph_constants(a->g, node);
  const int32_t dims[2] = {o->out.c, in.h * in.w * in.c}, biases = o->out.c, out[2] = {1, o->out.c};
  int w = add_floats(a, 2, dims, &rng, 1.7 / sqrt((double)dims[1]), 0), b = add_floats(a, 1, &biases, &rng, .2, 0);
  a->tensors[node].rank = 2;
  memcpy(a->tensors[node].shape, out, sizeof out);
  add(a, node, MAFAT_TFLITE_FULLY_CONNECTED, DENSE, 3, o->a, w, b);
}

static void put(struct author *a, int node)
{
  static const struct {
    int code, options, n; /* n: 0: of no kind that is put so */
  } plain[GRAPH_KINDS] = {
      [GRAPH_ADD] = {MAFAT_TFLITE_ADD, ADD, 2}, [GRAPH_SUB] = {MAFAT_TFLITE_SUB, SUB, 2}, [GRAPH_MUL] = {MAFAT_TFLITE_MUL, MUL, 2},
      [GRAPH_MAX] = {MAFAT_TFLITE_MAXIMUM, 0, 2}, [GRAPH_MIN] = {MAFAT_TFLITE_MINIMUM, 0, 2}, [GRAPH_RELU] = {MAFAT_TFLITE_RELU, 0, 1},
      [GRAPH_RELU6] = {MAFAT_TFLITE_RELU6, 0, 1}, [GRAPH_LOGISTIC] = {MAFAT_TFLITE_LOGISTIC, 0, 1}, [GRAPH_TANH] = {MAFAT_TFLITE_TANH, 0, 1},
      [GRAPH_ELU] = {MAFAT_TFLITE_ELU, 0, 1}, [GRAPH_HARD_SWISH] = {MAFAT_TFLITE_HARD_SWISH, 0, 1}, [GRAPH_ABS] = {MAFAT_TFLITE_ABS, 0, 1},
      [GRAPH_NEG] = {MAFAT_TFLITE_NEG, 0, 1}, [GRAPH_SQUARE] = {MAFAT_TFLITE_SQUARE, 0, 1}, [GRAPH_EXP] = {MAFAT_TFLITE_EXP, 0, 1},
      [GRAPH_SQRT] = {MAFAT_TFLITE_SQRT, 0, 1}};
  const struct graph_node *o = &a->g->nodes[node];
  const int32_t swap[4] = {0, 2, 1, 3};
  struct test_tflite_operator *p;
  switch (o->kind) {
  case GRAPH_CONV:
  case GRAPH_DEPTHWISE: put_convolution(a, node); break;
  case GRAPH_TRANSPOSED: put_transposed(a, node); break;
  case GRAPH_MAX_POOL: put_pool(a, node, MAFAT_TFLITE_MAX_POOL_2D); break;
  case GRAPH_MEAN_POOL: put_pool(a, node, MAFAT_TFLITE_AVERAGE_POOL_2D); break;
  case GRAPH_GLOBAL_MEAN: put_reduced(a, node, MAFAT_TFLITE_MEAN, 1, 2); break;
  case GRAPH_MEAN_CHANNELS: put_reduced(a, node, MAFAT_TFLITE_MEAN, 3, 0); break;
  case GRAPH_SUM_ROWS: put_reduced(a, node, MAFAT_TFLITE_SUM, 1, 0); break;
  case GRAPH_MAX_COLUMNS: put_reduced(a, node, MAFAT_TFLITE_REDUCE_MAX, 2, 0); break;
  case GRAPH_ADD_CONSTANT: add(a, node, MAFAT_TFLITE_ADD, ADD, 2, o->a, by_channel(a, node, 1, 1, 0), 0); break;
  case GRAPH_SUB_FROM_CONSTANT: add(a, node, MAFAT_TFLITE_SUB, SUB, 2, by_channel(a, node, 1, 1, 0), o->a, 0); break;
  case GRAPH_MUL_CONSTANT: add(a, node, MAFAT_TFLITE_MUL, MUL, 2, o->a, by_channel(a, node, 1, 1.5, 0), 0); break;
  case GRAPH_DIV_CONSTANT: add(a, node, MAFAT_TFLITE_DIV, DIV, 2, o->a, by_channel(a, node, 1, .5, 1), 0); break;
  case GRAPH_PRELU: add(a, node, MAFAT_TFLITE_PRELU, 0, 2, o->a, by_channel(a, node, 3, 1, 0), 0); break;
  case GRAPH_LEAKY:
    p = add(a, node, MAFAT_TFLITE_LEAKY_RELU, LEAKY, 1, o->a, 0, 0);
    p->fields[p->n_fields++] = (struct test_tflite_field){.number = 0, .bytes = 4, .real = .125f};
    break;
  case GRAPH_SOFTMAX:
    p = add(a, node, MAFAT_TFLITE_SOFTMAX, SOFTMAX, 1, o->a, 0, 0);
    p->fields[p->n_fields++] = (struct test_tflite_field){.number = 0, .bytes = 4, .real = 1};
    break;
  case GRAPH_CONCAT_CHANNELS: option(add(a, node, MAFAT_TFLITE_CONCATENATION, CONCATENATION, 2, o->a, o->b, 0), 0, 4, 3); break;
  case GRAPH_CONCAT_ROWS: option(add(a, node, MAFAT_TFLITE_CONCATENATION, CONCATENATION, 2, o->a, o->b, 0), 0, 4, 1); break;
  case GRAPH_PAD:
  case GRAPH_MIRROR: put_surroundings(a, node); break;
  case GRAPH_NEAREST:
  case GRAPH_BILINEAR: put_resized(a, node); break;
  case GRAPH_SLICE:
  case GRAPH_STRIDED: put_cut(a, node); break;
  case GRAPH_SWAP: add(a, node, MAFAT_TFLITE_TRANSPOSE, TRANSPOSE, 2, o->a, add_ints(a, 4, swap, false), 0); break;
  case GRAPH_SPACE_TO_DEPTH: option(add(a, node, MAFAT_TFLITE_SPACE_TO_DEPTH, SPACE_TO_DEPTH, 1, o->a, 0, 0), 0, 4, 2); break;
  case GRAPH_DEPTH_TO_SPACE: option(add(a, node, MAFAT_TFLITE_DEPTH_TO_SPACE, DEPTH_TO_SPACE, 1, o->a, 0, 0), 0, 4, 2); break;
  case GRAPH_DENSE: put_dense(a, node); break;
  default:
    if (!plain[o->kind].n) abort();
    add(a, node, plain[o->kind].code, plain[o->kind].options, plain[o->kind].n, o->a, o->b, 0);
  }
}

char *graph_write_tflite(const struct graph *g, size_t *n)
{
  struct author a = {.g = g};
  struct test_tflite_model m = {.tensors = a.tensors, .operators = a.operators, .n_inputs = 1, .inputs = {0}};
  for (int i = 0; i < g->n; i++) {
    const struct graph_map s = g->nodes[i].out;
    const int32_t dims[4] = {1, s.h, s.w, s.c};
    add_tensor(&a, MAFAT_TFLITE_FLOAT32, 4, dims, NULL, 0);
    if (graph_is_output(g, i) && m.n_outputs < TEST_TFLITE_LIST) m.outputs[m.n_outputs++] = i;
  }
  for (int i = 1; i < g->n; i++) put(&a, i);
  m.n_tensors = a.n_tensors;
  m.n_operators = a.n_operators;
  char *data = test_tflite_write(&m, n);
  for (int i = 0; i < a.n_owned; i++) free(a.owned[i]);
  return data;
}
