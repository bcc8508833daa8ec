#include "tests/differential/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SIDE = 20, MOST_CHANNELS = 40, MOST_ELEMENTS = 12000, TRIES = 40 };

static const char *const names[GRAPH_KINDS] = {
    [GRAPH_INPUT] = "input", [GRAPH_CONV] = "conv", [GRAPH_DEPTHWISE] = "depthwise", [GRAPH_GROUPED] = "grouped", [GRAPH_TRANSPOSED] = "transposed",
    [GRAPH_MAX_POOL] = "max pool", [GRAPH_MEAN_POOL] = "mean pool", [GRAPH_GLOBAL_MEAN] = "global mean", [GRAPH_ADD] = "add", [GRAPH_SUB] = "sub",
    [GRAPH_MUL] = "mul", [GRAPH_MAX] = "max", [GRAPH_MIN] = "min", [GRAPH_ADD_CONSTANT] = "add constant", [GRAPH_SUB_FROM_CONSTANT] = "sub from constant",
    [GRAPH_MUL_CONSTANT] = "mul constant", [GRAPH_DIV_CONSTANT] = "div constant", [GRAPH_PRELU] = "prelu", [GRAPH_BATCH_NORM] = "batch norm",
    [GRAPH_RELU] = "relu", [GRAPH_RELU6] = "relu6", [GRAPH_LOGISTIC] = "logistic", [GRAPH_TANH] = "tanh", [GRAPH_LEAKY] = "leaky", [GRAPH_ELU] = "elu",
    [GRAPH_HARD_SWISH] = "hard swish", [GRAPH_ABS] = "abs", [GRAPH_NEG] = "neg", [GRAPH_SQUARE] = "square", [GRAPH_EXP] = "exp", [GRAPH_ERF] = "erf",
    [GRAPH_SOFTPLUS] = "softplus", [GRAPH_SQRT] = "sqrt", [GRAPH_CONCAT_CHANNELS] = "concat channels", [GRAPH_CONCAT_ROWS] = "concat rows",
    [GRAPH_PAD] = "pad", [GRAPH_MIRROR] = "mirror", [GRAPH_NEAREST] = "nearest", [GRAPH_BILINEAR] = "bilinear", [GRAPH_SLICE] = "slice",
    [GRAPH_STRIDED] = "strided slice", [GRAPH_SWAP] = "swap", [GRAPH_SPACE_TO_DEPTH] = "space to depth", [GRAPH_DEPTH_TO_SPACE] = "depth to space",
    [GRAPH_SOFTMAX] = "softmax", [GRAPH_MEAN_CHANNELS] = "mean of channels", [GRAPH_SUM_ROWS] = "sum of rows", [GRAPH_MAX_COLUMNS] = "max of columns",
    [GRAPH_DENSE] = "dense"};

/* Of seeds that follow each other a generator gives the same numbers, one place on: other seeds are as far apart as can be. */
struct test_rng graph_random(uint64_t number)
{
  struct test_rng first = test_rng(number);
  uint64_t high = test_random(&first);
  return test_rng(high << 32 | test_random(&first));
}

struct test_rng graph_constants(const struct graph *g, int node)
{
  return graph_random(g->number * GRAPH_NODES + (uint64_t)node);
}

float graph_constant(struct test_rng *rng)
{
  return (float)(int32_t)(test_random(rng) >> 7) / 16777216.0f - 1;
}

bool graph_is_output(const struct graph *g, int node)
{
  return node > 0 && g->nodes[node].readers == 0;
}

void graph_padding(const struct graph *g, int node, int axis, int *before, int *behind)
{
  const struct graph_node *o = &g->nodes[node];
  const struct graph_map *in = &g->nodes[o->a].out;
  int extent = axis ? in->w : in->h, out = axis ? o->out.w : o->out.h;
  int all = o->same ? (out - 1) * o->stride[axis] + (o->kernel[axis] - 1) * o->dilation[axis] + 1 - extent : 0;
  *before = all > 0 ? all / 2 : 0;
  *behind = all > 0 ? all - *before : 0;
}

/* ---- what a node makes of what it reads; false: it cannot ---- */

static bool is_same(struct graph_map a, struct graph_map b)
{
  return a.h == b.h && a.w == b.w && a.c == b.c;
}

static bool slide(struct graph_node *o, struct graph_map in, struct test_rng *rng)
{
  static const int kernels[] = {1, 1, 2, 3, 3, 3, 5};
  int extents[2] = {in.h, in.w}, out[2];
  o->same = test_random_chance(rng, 60);
  for (int i = 0; i < 2; i++) {
    o->kernel[i] = i && test_random_chance(rng, 75) ? o->kernel[0] : TEST_PICK(rng, kernels);
    o->stride[i] = i ? o->stride[0] : test_random_int(rng, 1, 5) < 4 ? 1 : 2;
    o->dilation[i] = i ? o->dilation[0] : 1;
  }
  if (o->kind == GRAPH_CONV && o->stride[0] == 1 && test_random_chance(rng, 15)) o->dilation[0] = o->dilation[1] = 2;
  if (o->kind == GRAPH_MAX_POOL || o->kind == GRAPH_MEAN_POOL) o->stride[0] = o->stride[1] = test_random_int(rng, 1, 3);
  for (int i = 0; i < 2; i++) {
    int reach = (o->kernel[i] - 1) * o->dilation[i] + 1;
    if (reach > extents[i]) return false;
    out[i] = (o->same ? extents[i] + o->stride[i] - 1 : extents[i] - reach + o->stride[i]) / o->stride[i];
  }
  o->out = (struct graph_map){out[0], out[1], in.c};
  return true;
}

static bool cut(struct graph_node *o, struct graph_map in, struct test_rng *rng)
{
  int extents[3] = {in.h, in.w, in.c};
  for (int i = 0; i < 3; i++) {
    o->begin[i] = test_random_int(rng, 0, (extents[i] - 1) / 2);
    o->end[i] = test_random_int(rng, o->begin[i] + 1, extents[i]);
    o->stride[i % 2] = o->kind == GRAPH_STRIDED ? test_random_int(rng, 1, 2) : 1;
  }
  for (int i = 0; i < 3; i++) {
    int step = i < 2 ? o->stride[i] : 1;
    o->size[i] = (o->end[i] - o->begin[i] + step - 1) / step;
  }
  o->out = (struct graph_map){o->size[0], o->size[1], o->size[2]};
  return true;
}

static bool surround(struct graph_node *o, struct graph_map in, struct test_rng *rng)
{
  int extents[2] = {in.h, in.w};
  for (int i = 0; i < 2; i++) {
    int most = o->kind == GRAPH_MIRROR && extents[i] - 1 < 3 ? extents[i] - 1 : 3;
    o->begin[i] = test_random_int(rng, 0, most);
    o->end[i] = test_random_int(rng, 0, most);
  }
  o->out = (struct graph_map){in.h + o->begin[0] + o->end[0], in.w + o->begin[1] + o->end[1], in.c};
  return true;
}

static bool infer(struct graph_node *o, struct graph_map a, struct graph_map b, struct test_rng *rng)
{
  o->out = a;
  switch (o->kind) {
  case GRAPH_CONV:
    if (!slide(o, a, rng)) return false;
    o->out.c = test_random_int(rng, 1, MOST_CHANNELS);
    return true;
  case GRAPH_GROUPED:
    if (a.c % 2 || a.c < 4 || !slide(o, a, rng)) return false;
    o->out.c = 2 * test_random_int(rng, 1, MOST_CHANNELS / 2);
    return true;
  case GRAPH_DEPTHWISE:
    if (!slide(o, a, rng)) return false;
    o->out.c = a.c * (test_random_chance(rng, 80) ? 1 : 2);
    return true;
  case GRAPH_TRANSPOSED:
    for (int i = 0; i < 2; i++) {
      o->stride[i] = 2;
      o->kernel[i] = i ? o->kernel[0] : test_random_int(rng, 2, 3);
    }
    o->out = (struct graph_map){(a.h - 1) * 2 + o->kernel[0], (a.w - 1) * 2 + o->kernel[1], test_random_int(rng, 1, 12)};
    return true;
  case GRAPH_MAX_POOL:
  case GRAPH_MEAN_POOL: return slide(o, a, rng);
  case GRAPH_GLOBAL_MEAN: o->out = (struct graph_map){1, 1, a.c}; return true;
  case GRAPH_ADD:
  case GRAPH_SUB:
  case GRAPH_MUL:
  case GRAPH_MAX:
  case GRAPH_MIN: return is_same(a, b) || (b.h == 1 && b.w == 1 && b.c == a.c);
  case GRAPH_CONCAT_CHANNELS: o->out.c = a.c + b.c; return a.h == b.h && a.w == b.w;
  case GRAPH_CONCAT_ROWS: o->out.h = a.h + b.h; return a.w == b.w && a.c == b.c;
  case GRAPH_PAD:
  case GRAPH_MIRROR: return surround(o, a, rng);
  case GRAPH_NEAREST: o->out = (struct graph_map){2 * a.h, 2 * a.w, a.c}; return true;
  case GRAPH_BILINEAR: o->out = (struct graph_map){test_random_int(rng, 1, MOST_SIDE), test_random_int(rng, 1, MOST_SIDE), a.c}; return true;
  case GRAPH_SLICE:
  case GRAPH_STRIDED: return cut(o, a, rng);
  case GRAPH_SWAP: o->out = (struct graph_map){a.w, a.h, a.c}; return true;
  case GRAPH_SPACE_TO_DEPTH: o->out = (struct graph_map){a.h / 2, a.w / 2, 4 * a.c}; return a.h % 2 == 0 && a.w % 2 == 0;
  case GRAPH_DEPTH_TO_SPACE: o->out = (struct graph_map){2 * a.h, 2 * a.w, a.c / 4}; return a.c % 4 == 0;
  case GRAPH_MEAN_CHANNELS: o->out.c = 1; return true;
  case GRAPH_SUM_ROWS: o->out.h = 1; return true;
  case GRAPH_MAX_COLUMNS: o->out.w = 1; return true;
  case GRAPH_DENSE: o->out = (struct graph_map){1, 1, test_random_int(rng, 1, 30)}; return true;
  default: return true;
  }
}

/* ---- a graph ---- */

static bool is_formats(enum graph_kind kind, bool tflite)
{
  return !tflite || (kind != GRAPH_GROUPED && kind != GRAPH_BATCH_NORM && kind != GRAPH_ERF && kind != GRAPH_SOFTPLUS);
}

/* Windows with weights are a third of all. */
static enum graph_kind draw_kind(struct test_rng *rng)
{
  if (test_random_chance(rng, 33)) return (enum graph_kind)test_random_int(rng, GRAPH_CONV, GRAPH_TRANSPOSED);
  return (enum graph_kind)test_random_int(rng, GRAPH_MAX_POOL, GRAPH_DENSE - 1);
}

/* The newest, more often than not. */
static int draw_map(struct test_rng *rng, int n)
{
  return test_random_chance(rng, 60) ? n - 1 : test_random_int(rng, 0, n - 1);
}

static bool reads_two(enum graph_kind kind)
{
  return (kind >= GRAPH_ADD && kind <= GRAPH_MIN) || kind == GRAPH_CONCAT_CHANNELS || kind == GRAPH_CONCAT_ROWS;
}

/* Exponents and roots are of what is between -1 and 1, and of what is not below 0: others would be infinite. */
static bool suits(const struct graph *g, enum graph_kind kind, int a)
{
  enum graph_kind before = g->nodes[a].kind;
  if (kind == GRAPH_EXP) return before == GRAPH_TANH || before == GRAPH_LOGISTIC || before == GRAPH_INPUT;
  if (kind == GRAPH_SQRT) return before == GRAPH_LOGISTIC;
  return kind != GRAPH_SQUARE || before != GRAPH_SQUARE;
}

static bool add_node(struct graph *g, enum graph_kind kind, struct test_rng *rng)
{
  for (int i = 0; i < TRIES; i++) {
    struct graph_node o = {.kind = kind, .a = draw_map(rng, g->n), .b = draw_map(rng, g->n), .stride = {1, 1}, .dilation = {1, 1}, .kernel = {1, 1}};
    if (!suits(g, kind, o.a) || !infer(&o, g->nodes[o.a].out, g->nodes[o.b].out, rng)) continue;
    if (o.out.h * o.out.w * o.out.c > MOST_ELEMENTS || o.out.c > 4 * MOST_CHANNELS || o.out.h < 1 || o.out.w < 1) continue;
    g->nodes[o.a].readers++;
    if (reads_two(kind)) g->nodes[o.b].readers++;
    g->nodes[g->n++] = o;
    return true;
  }
  return false;
}

struct graph graph_make(uint64_t number, bool for_tflite)
{
  struct graph g = {.number = number, .n = 1, .for_tflite = for_tflite};
  struct test_rng rng = graph_random(0x6a9f000000 + number);
  int n = test_random_int(&rng, 2, GRAPH_NODES - 2);
  g.nodes[0].out = (struct graph_map){test_random_int(&rng, 2, MOST_SIDE), test_random_int(&rng, 2, MOST_SIDE), test_random_int(&rng, 1, 20)};
  while (g.n < n) {
    enum graph_kind kind = draw_kind(&rng);
    if (is_formats(kind, for_tflite)) add_node(&g, kind, &rng);
  }
  if (test_random_chance(&rng, 20)) add_node(&g, GRAPH_DENSE, &rng);
  return g;
}

void graph_print(const struct graph *g)
{
  for (int i = 0; i < g->n; i++) {
    const struct graph_node *o = &g->nodes[i];
    printf("  t%d %s of t%d", i, names[o->kind], o->a);
    if (reads_two(o->kind)) printf(" t%d", o->b);
    printf(": %d x %d x %d", o->out.h, o->out.w, o->out.c);
    if (o->kernel[0] > 1 || o->kernel[1] > 1 || o->stride[0] > 1)
      printf(", %d x %d / %d %d, dilated by %d, %s", o->kernel[0], o->kernel[1], o->stride[0], o->stride[1], o->dilation[0], o->same ? "same" : "valid");
    printf("%s\n", graph_is_output(g, i) ? ", put out" : "");
  }
}
