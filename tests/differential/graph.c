/* Makes random graphs: operators, shapes and values from a seed. Called by this folder's files
 * and tests/oracle/oracle_random.c. graph_print writes to stdout; everything else touches only
 * its arguments. */
#include "tests/differential/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SIDE = 20, MOST_CHANNELS = 40, MANY_CHANNELS = 100, MOST_ELEMENTS = 12000, TRIES = 40 };

static const char *const names[GRAPH_KINDS] = {
    [GRAPH_INPUT] = "input", [GRAPH_CONV] = "conv", [GRAPH_DEPTHWISE] = "depthwise",
    [GRAPH_GROUPED] = "grouped", [GRAPH_TRANSPOSED] = "transposed", [GRAPH_MAX_POOL] = "max pool",
    [GRAPH_MEAN_POOL] = "mean pool", [GRAPH_GLOBAL_MEAN] = "global mean", [GRAPH_ADD] = "add",
    [GRAPH_SUB] = "sub", [GRAPH_MUL] = "mul", [GRAPH_MAX] = "max", [GRAPH_MIN] = "min",
    [GRAPH_ADD_CONSTANT] = "add constant", [GRAPH_SUB_FROM_CONSTANT] = "sub from constant",
    [GRAPH_MUL_CONSTANT] = "mul constant", [GRAPH_DIV_CONSTANT] = "div constant",
    [GRAPH_PRELU] = "prelu", [GRAPH_BATCH_NORM] = "batch norm", [GRAPH_RELU] = "relu",
    [GRAPH_RELU6] = "relu6", [GRAPH_LOGISTIC] = "logistic", [GRAPH_TANH] = "tanh",
    [GRAPH_LEAKY] = "leaky", [GRAPH_ELU] = "elu", [GRAPH_HARD_SWISH] = "hard swish",
    [GRAPH_ABS] = "abs", [GRAPH_NEG] = "neg", [GRAPH_SQUARE] = "square", [GRAPH_EXP] = "exp",
    [GRAPH_ERF] = "erf", [GRAPH_SOFTPLUS] = "softplus", [GRAPH_SQRT] = "sqrt",
    [GRAPH_SELU] = "selu", [GRAPH_CELU] = "celu", [GRAPH_HARD_SIGMOID] = "hard sigmoid",
    [GRAPH_SOFTSIGN] = "softsign", [GRAPH_SIN] = "sin", [GRAPH_COS] = "cos", [GRAPH_CLIP] = "clip",
    [GRAPH_CUBE] = "cube", [GRAPH_CONCAT] = "concat", [GRAPH_PAD] = "pad",
    [GRAPH_MIRROR] = "mirror", [GRAPH_EDGE] = "edge", [GRAPH_NEAREST] = "nearest",
    [GRAPH_LINEAR] = "linear", [GRAPH_CUBIC] = "cubic", [GRAPH_SLICE] = "slice",
    [GRAPH_STRIDED] = "strided slice", [GRAPH_SPLIT] = "split", [GRAPH_GATHER] = "gather",
    [GRAPH_TRANSPOSE] = "transpose", [GRAPH_RESHAPE] = "reshape",
    [GRAPH_SPACE_TO_DEPTH] = "space to depth", [GRAPH_DEPTH_TO_SPACE] = "depth to space",
    [GRAPH_SOFTMAX] = "softmax", [GRAPH_LOG_SOFTMAX] = "log softmax",
    [GRAPH_LAYER_NORM] = "layer norm", [GRAPH_REDUCE] = "reduce", [GRAPH_MATMUL] = "matmul",
    [GRAPH_MATMUL_CONSTANT] = "matmul constant", [GRAPH_DENSE] = "dense", [GRAPH_TOPK] = "topk",
    [GRAPH_SPLIT_REST] = "rest", [GRAPH_TOPK_PLACES] = "places"};

/* Seeds number and number + 1 would give the same sequence, shifted by one. So the generator is
 * seeded with random numbers drawn from `number`. */
struct test_rng graph_random(uint64_t number)
{
  struct test_rng first = test_rng(number);
  uint64_t high = test_random(&first);
  return test_rng(high << 32 | test_random(&first));
}

struct test_rng graph_constants(const struct random_graph *g, int node)
{
  return graph_random(g->number * GRAPH_NODES + (uint64_t)node);
}

float graph_constant(struct test_rng *rng)
{
  return (float)(int32_t)(test_random(rng) >> 7) / 16777216.0f - 1;
}

bool graph_is_output(const struct random_graph *g, int node)
{
  return node > 0 && (g->nodes[node].readers == 0 || g->nodes[node].put_out);
}

int graph_second_output(const struct random_graph *g, int node)
{
  for (int i = node + 1; i < g->n; i++)
    if (g->nodes[i].kind >= GRAPH_SPLIT_REST && g->nodes[i].a == node) return i;
  return 0;
}

void graph_places(struct test_rng *rng, int extent, int n, int64_t *places, bool from_end)
{
  for (int i = 0; i < n; i++) {
    places[i] = test_random_int(rng, 0, extent - 1);
    if (from_end && test_random_chance(rng, 30)) places[i] -= extent;
  }
}

void graph_extents(struct graph_map map, int extents[GRAPH_AXES])
{
  extents[GRAPH_ROWS] = map.h;
  extents[GRAPH_COLUMNS] = map.w;
  extents[GRAPH_CHANNELS] = map.c;
}

void graph_padding(const struct random_graph *g, int node, int axis, int *before, int *after)
{
  const struct graph_node *o = &g->nodes[node];
  if (o->given) {
    *before = o->begin[axis];
    *after = o->end[axis];
    return;
  }
  const struct graph_map *in = &g->nodes[o->a].out;
  int extent = axis ? in->w : in->h, out = axis ? o->out.w : o->out.h;
  int all =
      o->same ? (out - 1) * o->stride[axis] + (o->kernel[axis] - 1) * o->dilation[axis] + 1 - extent
              : 0;
  *before = all > 0 ? all / 2 : 0;
  *after = all > 0 ? all - *before : 0;
}

/* ---- shapes of outputs; a function returns false if the node cannot read these inputs ---- */

static struct graph_map map_of(const int extents[GRAPH_AXES])
{
  return (struct graph_map){extents[GRAPH_ROWS], extents[GRAPH_COLUMNS], extents[GRAPH_CHANNELS]};
}

static bool is_pool(enum graph_kind kind)
{
  return kind == GRAPH_MAX_POOL || kind == GRAPH_MEAN_POOL;
}

/* ONNX's rule: no window begins past the end of the input. */
static int count_windows(int extent, int before, int after, int reach, int stride, bool ceil)
{
  int left = extent + before + after - reach, n = (ceil ? left + stride - 1 : left) / stride + 1;
  return ceil && (n - 1) * stride >= extent + before ? n - 1 : n;
}

/* Draws padding for each side, as ONNX allows. In pools it is less than the kernel size; in other
 * kinds it may be up to 2 more than the kernel size. */
static void draw_padding(struct graph_node *o, struct test_rng *rng)
{
  int more = !is_pool(o->kind) && test_random_chance(rng, 20) ? 3 : 0;
  o->same = false;
  o->given = true;
  for (int i = 0; i < 2; i++) {
    o->begin[i] = test_random_int(rng, 0, o->kernel[i] - 1 + more);
    o->end[i] = test_random_int(rng, 0, o->kernel[i] - 1 + more);
  }
  o->ceil = is_pool(o->kind) && test_random_chance(rng, 40);
  o->counted = o->kind == GRAPH_MEAN_POOL && test_random_chance(rng, 40);
}

static bool slide(struct graph_node *o, struct graph_map in, bool tflite, struct test_rng *rng)
{
  static const int kernels[] = {1, 1, 2, 3, 3, 3, 5};
  const bool uneven = !tflite && test_random_chance(rng, 20);
  int extents[2] = {in.h, in.w}, out[2];
  o->same = test_random_chance(rng, 60);
  for (int i = 0; i < 2; i++) {
    o->kernel[i] = i && test_random_chance(rng, 75) ? o->kernel[0] : TEST_PICK(rng, kernels);
    o->stride[i] = i && !uneven                     ? o->stride[0]
                   : test_random_chance(rng, 5)     ? test_random_int(rng, 3, 4)
                   : test_random_int(rng, 1, 5) < 4 ? 1
                                                    : 2;
    o->dilation[i] = i ? o->dilation[0] : 1;
  }
  if (!is_pool(o->kind) && o->stride[0] == 1 && o->stride[1] == 1 && test_random_chance(rng, 15))
    for (int i = 0; i < 2; i++)
      o->dilation[i] =
          i && test_random_chance(rng, 60) ? o->dilation[0] : test_random_int(rng, 1, 3);
  if (is_pool(o->kind))
    for (int i = 0; i < 2; i++)
      o->stride[i] = i && !uneven ? o->stride[0] : test_random_int(rng, 1, 3);
  if (!tflite && test_random_chance(rng, 35)) draw_padding(o, rng);
  for (int i = 0; i < 2; i++) {
    int reach = (o->kernel[i] - 1) * o->dilation[i] + 1;
    /* only with SAME padding may the window be larger than the padded map */
    if (reach > extents[i] + (o->given ? o->begin[i] + o->end[i] : 0) && !o->same)
      return false;
    out[i] = o->given
                 ? count_windows(extents[i], o->begin[i], o->end[i], reach, o->stride[i], o->ceil)
             : o->same ? (extents[i] + o->stride[i] - 1) / o->stride[i]
                       : count_windows(extents[i], 0, 0, reach, o->stride[i], false);
  }
  o->out = (struct graph_map){out[0], out[1], in.c};
  return true;
}

static bool slide_back(struct graph_node *o, struct graph_map in, bool tflite, struct test_rng *rng)
{
  int extents[2] = {in.h, in.w}, out[2];
  o->same = tflite && test_random_chance(rng, 40);
  o->given = !tflite && test_random_chance(rng, 50);
  for (int i = 0; i < 2; i++) {
    o->stride[i] = i ? o->stride[0] : test_random_int(rng, 1, 3);
    o->kernel[i] = i ? o->kernel[0] : test_random_int(rng, o->stride[0] > 1 ? o->stride[0] : 1, 4);
    if (o->given) {
      o->begin[i] = test_random_int(rng, 0, o->kernel[i] - 1);
      o->end[i] = test_random_int(rng, 0, o->kernel[i] - 1);
    }
    out[i] = o->same ? extents[i] * o->stride[i]
                     : (extents[i] - 1) * o->stride[i] + o->kernel[i] - o->begin[i] - o->end[i];
  }
  o->out = (struct graph_map){out[0], out[1], test_random_int(rng, 1, 12)};
  return true;
}

/* Computes the output's extents. Each axis on which one of the two maps has extent 1 is
 * broadcast. */
static bool broadcast(struct graph_node *o, struct graph_map a, struct graph_map b)
{
  int of_a[GRAPH_AXES], of_b[GRAPH_AXES], out[GRAPH_AXES];
  graph_extents(a, of_a);
  graph_extents(b, of_b);
  for (int i = 0; i < GRAPH_AXES; i++) {
    if (of_a[i] != of_b[i] && of_a[i] != 1 && of_b[i] != 1) return false;
    out[i] = of_a[i] > of_b[i] ? of_a[i] : of_b[i];
  }
  o->out = map_of(out);
  return true;
}

/* Concatenates: all extents but one are equal. */
static bool join(struct graph_node *o, struct graph_map a, struct graph_map b, struct test_rng *rng)
{
  int of_a[GRAPH_AXES], of_b[GRAPH_AXES];
  graph_extents(a, of_a);
  graph_extents(b, of_b);
  o->axis = test_random_int(rng, 0, GRAPH_AXES - 1);
  for (int i = 0; i < GRAPH_AXES; i++)
    if (i != o->axis && of_a[i] != of_b[i]) return false;
  of_a[o->axis] += of_b[o->axis];
  o->out = map_of(of_a);
  return true;
}

/* Split: the output is one of two parts. Gather: it has random positions, in any order and
 * possibly repeated. */
static bool split_or_gather(struct graph_node *o, struct graph_map in, struct test_rng *rng)
{
  int extents[GRAPH_AXES];
  graph_extents(in, extents);
  o->axis = test_random_int(rng, 0, GRAPH_AXES - 1);
  o->how = test_random_int(rng, 0, 1);
  if (extents[o->axis] > GRAPH_PLACES - 3) return false;
  if (o->kind == GRAPH_SPLIT) {
    if (extents[o->axis] < 2) return false;
    o->size[0] = test_random_int(rng, 1, extents[o->axis] - 1);
    o->size[1] = extents[o->axis] - o->size[0];
    extents[o->axis] = o->size[o->how];
  } else {
    extents[o->axis] = o->size[0] = test_random_int(rng, 1, extents[o->axis] + 3);
  }
  o->out = map_of(extents);
  return true;
}

/* TopK along an axis. In TFLite, always the largest values, along the channels. */
static bool rank(struct graph_node *o, struct graph_map in, bool tflite, struct test_rng *rng)
{
  enum { MOST_BEST = 20 };
  int extents[GRAPH_AXES];
  graph_extents(in, extents);
  o->axis = tflite ? GRAPH_CHANNELS : test_random_int(rng, 0, GRAPH_AXES - 1);
  o->how = !tflite && test_random_chance(rng, 40); /* 1: the smallest values; 0: the largest */
  const int most = extents[o->axis] < MOST_BEST ? extents[o->axis] : MOST_BEST;
  extents[o->axis] = o->size[0] = test_random_int(rng, 1, most);
  o->out = map_of(extents);
  return true;
}

static bool reduce(struct graph_node *o, struct graph_map in, bool tflite, bool integers,
                   struct test_rng *rng)
{
  enum { MOST_FACTORS = 16 };
  int extents[GRAPH_AXES], n = 1;
  graph_extents(in, extents);
  o->how =
      integers ? GRAPH_MEAN : test_random_int(rng, 0, tflite ? GRAPH_LEAST : GRAPH_REDUCTIONS - 1);
  o->axes = (unsigned)test_random_int(rng, 1, (1 << GRAPH_AXES) - 1);
  for (int i = 0; i < GRAPH_AXES; i++) {
    if (!(o->axes >> i & 1)) continue;
    n *= extents[i];
    extents[i] = 1;
  }
  o->out = map_of(extents);
  return o->how != GRAPH_PRODUCT || n <= MOST_FACTORS; /* a product of more factors would become
                                                        * infinite */
}

static bool transpose(struct graph_node *o, struct graph_map in, struct test_rng *rng)
{
  int extents[GRAPH_AXES], out[GRAPH_AXES];
  graph_extents(in, extents);
  for (int i = 0; i < GRAPH_AXES; i++) o->order[i] = i;
  for (int i = GRAPH_AXES - 1; i > 0; i--) {
    int k = test_random_int(rng, 0, i), other = o->order[i];
    o->order[i] = o->order[k];
    o->order[k] = other;
  }
  for (int i = 0; i < GRAPH_AXES; i++) out[i] = extents[o->order[i]];
  o->out = map_of(out);
  return true;
}

/* A random divisor of n. */
static int draw_factor(struct test_rng *rng, int n)
{
  int factor = 1, found = 0;
  for (int i = 1; i <= n; i++)
    if (n % i == 0 && test_random_int(rng, 0, found++) == 0) factor = i;
  return factor;
}

/* A random shape with as many elements as the input. */
static bool reshape(struct graph_node *o, struct graph_map in, struct test_rng *rng)
{
  int n = in.h * in.w * in.c, first = draw_factor(rng, n), second = draw_factor(rng, n / first);
  o->out = (struct graph_map){first, second, n / first / second};
  return first <= MANY_CHANNELS && second <= MANY_CHANNELS;
}

/* True if some output pixel maps exactly to the border between two input pixels. There programs
 * choose different nearest pixels: 2 x 14 / 4 is 7, but slightly less in floats. */
static bool is_on_the_edge(const struct graph_node *o, int in, int out)
{
  /* GRAPH_NEAREST: `how`, and the largest `rounding` of the half kind */
  enum { ALIGNED = 1, PREFER_CEIL = 1 };
  const bool halves = o->how > ALIGNED;
  const int times = halves              ? 2 * in
                    : o->how == ALIGNED ? in - 1
                                        : in,
            plus = halves ? in - out : 0,
            parts = halves              ? 2 * out
                    : o->how == ALIGNED ? out - 1
                                        : out;
  for (int i = 1; i < out; i++) {
    int twice = 2 * (times * i + plus);
    if (twice % parts == 0 && (o->rounding <= PREFER_CEIL) == (twice / parts % 2 != 0)) return true;
  }
  return false;
}

/* Resizes to twice the size or to a random one. */
static bool resize(struct graph_node *o, struct graph_map in, bool tflite, struct test_rng *rng)
{
  bool twice = test_random_chance(rng, 40);
  o->how = test_random_int(rng, 0, tflite ? 2 : 3);
  o->rounding = test_random_int(rng, 0, 3);
  o->out = (struct graph_map){twice ? 2 * in.h : test_random_int(rng, 1, MOST_SIDE),
                              twice ? 2 * in.w : test_random_int(rng, 1, MOST_SIDE), in.c};
  return tflite || twice || o->kind != GRAPH_NEAREST ||
         !(is_on_the_edge(o, in.h, o->out.h) || is_on_the_edge(o, in.w, o->out.w));
}

static bool slice(struct graph_node *o, struct graph_map in, struct test_rng *rng)
{
  int extents[GRAPH_AXES];
  graph_extents(in, extents);
  for (int i = 0; i < GRAPH_AXES; i++) {
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

static bool surround(struct graph_node *o, struct graph_map in, bool tflite, struct test_rng *rng)
{
  o->how = test_random_int(
      rng, 0, 1); /* TFLite's mirror: 1: symmetric; mafat supports it with at most 1 row */
  int extents[2] = {in.h, in.w};
  for (int i = 0; i < 2; i++) {
    int most = o->kind == GRAPH_MIRROR && tflite && o->how     ? 1
               : o->kind == GRAPH_MIRROR && extents[i] - 1 < 3 ? extents[i] - 1
                                                               : 3;
    o->begin[i] = test_random_int(rng, 0, most);
    o->end[i] = test_random_int(rng, 0, most);
  }
  o->out = (struct graph_map){in.h + o->begin[0] + o->end[0], in.w + o->begin[1] + o->end[1], in.c};
  return true;
}

static bool infer(struct graph_node *o, const struct random_graph *g, struct test_rng *rng)
{
  const struct graph_map a = g->nodes[o->a].out, b = g->nodes[o->b].out;
  const bool tflite = g->for_tflite;
  o->out = a;
  switch (o->kind) {
  case GRAPH_CONV:
    if (!slide(o, a, tflite, rng)) return false;
    o->out.c = test_random_int(rng, 1, test_random_chance(rng, 10) ? MANY_CHANNELS : MOST_CHANNELS);
    return true;
  case GRAPH_GROUPED:
    o->groups = draw_factor(rng, a.c);
    if (o->groups < 2 || o->groups > MOST_CHANNELS || !slide(o, a, tflite, rng)) return false;
    o->out.c = o->groups * test_random_int(rng, 1, MOST_CHANNELS / o->groups);
    return true;
  case GRAPH_DEPTHWISE:
    if (!slide(o, a, tflite, rng)) return false;
    o->out.c = a.c * (test_random_chance(rng, 80) ? 1 : 2);
    return true;
  case GRAPH_TRANSPOSED: return slide_back(o, a, tflite, rng);
  case GRAPH_MAX_POOL:
  case GRAPH_MEAN_POOL: return slide(o, a, tflite, rng);
  case GRAPH_GLOBAL_MEAN: o->out = (struct graph_map){1, 1, a.c}; return true;
  case GRAPH_ADD:
  case GRAPH_SUB:
  case GRAPH_MUL:
  case GRAPH_MAX:
  case GRAPH_MIN: return broadcast(o, a, b);
  case GRAPH_ADD_CONSTANT:
  case GRAPH_SUB_FROM_CONSTANT:
  case GRAPH_MUL_CONSTANT:
  case GRAPH_DIV_CONSTANT:
    o->axes = test_random_chance(rng, 60)
                  ? 1 << GRAPH_CHANNELS
                  : (unsigned)test_random_int(rng, 0, (1 << GRAPH_AXES) - 1);
    return true;
  case GRAPH_CONCAT: return join(o, a, b, rng);
  case GRAPH_PAD:
  case GRAPH_EDGE:
  case GRAPH_MIRROR: return surround(o, a, tflite, rng);
  case GRAPH_NEAREST:
  case GRAPH_CUBIC:
  case GRAPH_LINEAR: return resize(o, a, tflite, rng);
  case GRAPH_SPLIT:
  case GRAPH_GATHER: return split_or_gather(o, a, rng);
  case GRAPH_TOPK: return rank(o, a, tflite, rng);
  case GRAPH_TRANSPOSE: return transpose(o, a, rng);
  case GRAPH_RESHAPE: return reshape(o, a, rng);
  case GRAPH_REDUCE: return reduce(o, a, tflite, g->integers, rng);
  case GRAPH_SOFTMAX:
  case GRAPH_LOG_SOFTMAX:
    o->axis = tflite ? GRAPH_CHANNELS : test_random_int(rng, 0, GRAPH_AXES - 1);
    return true;
  case GRAPH_MATMUL: /* multiplies the last two dimensions */
    o->out = tflite ? (struct graph_map){a.h, a.w, b.c} : (struct graph_map){a.h, b.w, a.c};
    return tflite ? a.h == b.h && a.c == b.w : a.c == b.c && a.w == b.h;
  case GRAPH_MATMUL_CONSTANT:
    *(tflite ? &o->out.c : &o->out.w) = test_random_int(rng, 1, MOST_SIDE);
    return true;
  case GRAPH_SLICE:
  case GRAPH_STRIDED: return slice(o, a, rng);
  case GRAPH_SPACE_TO_DEPTH:
    o->out = (struct graph_map){a.h / 2, a.w / 2, 4 * a.c};
    return a.h % 2 == 0 && a.w % 2 == 0;
  case GRAPH_DEPTH_TO_SPACE:
    o->out = (struct graph_map){2 * a.h, 2 * a.w, a.c / 4};
    return a.c % 4 == 0;
  case GRAPH_DENSE: o->out = (struct graph_map){1, 1, test_random_int(rng, 1, 30)}; return true;
  default: return true;
  }
}

/* ---- a graph ---- */

static bool is_supported(enum graph_kind kind, const struct random_graph *g)
{
  static const enum graph_kind floats[] = {GRAPH_BATCH_NORM,  GRAPH_LAYER_NORM, GRAPH_EXP,
                                           GRAPH_CUBE,        GRAPH_SQUARE,     GRAPH_SQRT,
                                           GRAPH_DIV_CONSTANT};
  static const enum graph_kind onnx_integers[] = {GRAPH_NEG,         GRAPH_CLIP,  GRAPH_MAX,
                                                  GRAPH_MIN,         GRAPH_ABS,   GRAPH_ELU,
                                                  GRAPH_LOG_SOFTMAX, GRAPH_MATMUL};
  static const enum graph_kind onnx[] = {GRAPH_GROUPED,      GRAPH_BATCH_NORM, GRAPH_ERF,
                                         GRAPH_SOFTPLUS,     GRAPH_SELU,       GRAPH_CELU,
                                         GRAPH_HARD_SIGMOID, GRAPH_SOFTSIGN,   GRAPH_SIN,
                                         GRAPH_COS,          GRAPH_EDGE,       GRAPH_CUBIC,
                                         GRAPH_LAYER_NORM};
  for (size_t i = 0; g->integers && i < sizeof floats / sizeof *floats; i++)
    if (kind == floats[i]) return false;
  for (size_t i = 0;
       g->for_tflite && g->integers && i < sizeof onnx_integers / sizeof *onnx_integers; i++)
    if (kind == onnx_integers[i]) return false;
  for (size_t i = 0; g->for_tflite && i < sizeof onnx / sizeof *onnx; i++)
    if (kind == onnx[i]) return false;
  return true;
}

/* Draws a kind of node: a third are convolutions and the like (windows with weights), a tenth
 * have two outputs. */
static enum graph_kind draw_kind(struct test_rng *rng)
{
  if (test_random_chance(rng, 10)) return test_random_chance(rng, 50) ? GRAPH_TOPK : GRAPH_SPLIT;
  if (test_random_chance(rng, 33))
    return (enum graph_kind)test_random_int(rng, GRAPH_CONV, GRAPH_TRANSPOSED);
  return (enum graph_kind)test_random_int(rng, GRAPH_MAX_POOL, GRAPH_DENSE - 1);
}

/* Draws the map that a node reads: the newest one in 60 % of cases, else any. */
static int draw_map(struct test_rng *rng, int n)
{
  return test_random_chance(rng, 60) ? n - 1 : test_random_int(rng, 0, n - 1);
}

bool graph_reads_two(enum graph_kind kind)
{
  return (kind >= GRAPH_ADD && kind <= GRAPH_MIN) || kind == GRAPH_CONCAT || kind == GRAPH_MATMUL;
}

/* True if all programs compute the same bits for the node. TopK reads only such nodes, so that
 * all programs choose the same positions. */
static bool is_exact(const struct random_graph *g, int node)
{
  const struct graph_node *o = &g->nodes[node];
  switch (o->kind) {
  case GRAPH_INPUT: return true;
  case GRAPH_PAD:
  case GRAPH_MIRROR:
  case GRAPH_EDGE:
  case GRAPH_SLICE:
  case GRAPH_STRIDED:
  case GRAPH_SPLIT:
  case GRAPH_SPLIT_REST:
  case GRAPH_GATHER:
  case GRAPH_TOPK:
  case GRAPH_TRANSPOSE:
  case GRAPH_RESHAPE:
  case GRAPH_SPACE_TO_DEPTH:
  case GRAPH_DEPTH_TO_SPACE: return is_exact(g, o->a);
  case GRAPH_MAX_POOL:
  case GRAPH_RELU:
  case GRAPH_RELU6:
  case GRAPH_ABS:
  case GRAPH_NEG:
  case GRAPH_TOPK_PLACES: return !g->integers && is_exact(g, o->a);
  case GRAPH_MAX:
  case GRAPH_MIN:
  case GRAPH_CONCAT: return !g->integers && is_exact(g, o->a) && is_exact(g, o->b);
  default: return false;
  }
}

/* True if the kind can read node a. Exponentials, cubes, sines and cosines need inputs in -1..1,
 * and roots need inputs of 0 or more; other inputs would give infinite values or amplify small
 * errors. TopK needs exact inputs. */
static bool suits(const struct random_graph *g, enum graph_kind kind, int a)
{
  enum graph_kind before = g->nodes[a].kind;
  bool small = before == GRAPH_TANH || before == GRAPH_LOGISTIC || before == GRAPH_SOFTSIGN ||
               before == GRAPH_SIN || before == GRAPH_COS;
  if (kind == GRAPH_EXP || kind == GRAPH_CUBE || kind == GRAPH_SIN || kind == GRAPH_COS)
    return small || before == GRAPH_INPUT;
  if (kind == GRAPH_SQRT) return before == GRAPH_LOGISTIC;
  if (kind == GRAPH_TOPK) return is_exact(g, a);
  return kind != GRAPH_SQUARE || before != GRAPH_SQUARE;
}

static bool add_node(struct random_graph *g, enum graph_kind kind, struct test_rng *rng)
{
  for (int i = 0; i < TRIES; i++) {
    struct graph_node o = {.kind = kind,
                           .a = draw_map(rng, g->n),
                           .b = draw_map(rng, g->n),
                           .stride = {1, 1},
                           .dilation = {1, 1},
                           .kernel = {1, 1}};
    if (!suits(g, kind, o.a) || !infer(&o, g, rng)) continue;
    o.alpha = test_random_int(rng, 1, 128);
    o.beta = test_random_int(rng, 1, 128);
    o.fused = g->for_tflite && test_random_chance(rng, 20) ? test_random_int(rng, 1, 3) : 0;
    if (g->integers && kind == GRAPH_CONCAT) o.fused = 0; /* TFLite refuses it */
    if (o.out.h * o.out.w * o.out.c > MOST_ELEMENTS || o.out.c > 4 * MOST_CHANNELS || o.out.h < 1 ||
        o.out.w < 1)
      continue;
    g->nodes[o.a].readers++;
    if (graph_reads_two(kind)) g->nodes[o.b].readers++;
    g->nodes[g->n++] = o;
    return true;
  }
  return false;
}

/* In 80 % of cases, adds the second output of a split or TopK. TopK's positions are left out of
 * integer graphs, since they are not 8-bit integers. */
static void add_second_output(struct random_graph *g, struct test_rng *rng)
{
  const struct graph_node *first = &g->nodes[g->n - 1];
  const bool splits = first->kind == GRAPH_SPLIT, ranks = first->kind == GRAPH_TOPK && !g->integers;
  struct graph_node o = {.kind = splits ? GRAPH_SPLIT_REST : GRAPH_TOPK_PLACES, .a = g->n - 1,
                         .stride = {1, 1}, .dilation = {1, 1}, .kernel = {1, 1}};
  int extents[GRAPH_AXES];
  if ((!splits && !ranks) || !test_random_chance(rng, 80)) return;
  graph_extents(first->out, extents);
  if (splits) extents[first->axis] = first->size[!first->how];
  o.out = map_of(extents);
  g->nodes[g->n++] = o;
}

struct random_graph graph_make(uint64_t number, enum graph_format format)
{
  struct random_graph g = {.number = number,
                    .n = 1,
                    .for_tflite = format == GRAPH_TFLITE || format == GRAPH_TFLITE_INTEGERS,
                    .integers = format == GRAPH_ONNX_INTEGERS || format == GRAPH_TFLITE_INTEGERS};
  struct test_rng rng = graph_random(0x6a9f000000 + number);
  int n = test_random_int(&rng, 2, GRAPH_NODES - 2);
  int least = test_random_chance(&rng, 25) ? 1 : 2;
  g.nodes[0].out =
      (struct graph_map){test_random_int(&rng, least, MOST_SIDE),
                         test_random_int(&rng, least, MOST_SIDE), test_random_int(&rng, 1, 20)};
  if (test_random_chance(&rng, 5))
    *(test_random_chance(&rng, 50) ? &g.nodes[0].out.h : &g.nodes[0].out.w) = 1;
  while (g.n < n) {
    enum graph_kind kind = draw_kind(&rng);
    if (is_supported(kind, &g) && add_node(&g, kind, &rng)) add_second_output(&g, &rng);
  }
  if (test_random_chance(&rng, 20)) add_node(&g, GRAPH_DENSE, &rng);
  for (int i = 1; i < g.n; i++) g.nodes[i].put_out = test_random_chance(&rng, 5);
  g.is_signed = g.integers && test_random_chance(&rng, 75);
  return g;
}

void graph_print(const struct random_graph *g)
{
  if (g->integers) printf("  of %s\n", g->is_signed ? "int8" : "uint8");
  for (int i = 0; i < g->n; i++) {
    const struct graph_node *o = &g->nodes[i];
    printf("  t%d %s of t%d", i, names[o->kind], o->a);
    if (graph_reads_two(o->kind)) printf(" t%d", o->b);
    printf(": %d x %d x %d, axis %d, axes %u, way %d, %d, %d/64 %d/64%s%s%s", o->out.h, o->out.w,
           o->out.c, o->axis, o->axes, o->how, o->rounding, o->alpha, o->beta,
           o->given ? ", padding given" : "", o->ceil ? ", ceil" : "",
           o->counted ? ", padding counted" : "");
    if (o->fused) printf(", activation %d", o->fused);
    if (o->groups) printf(", %d groups", o->groups);
    if (o->given)
      printf(", %d %d before, %d %d behind", o->begin[0], o->begin[1], o->end[0], o->end[1]);
    if (o->kernel[0] > 1 || o->kernel[1] > 1 || o->stride[0] > 1)
      printf(", %d x %d / %d %d, dilated by %d, %s", o->kernel[0], o->kernel[1], o->stride[0],
             o->stride[1], o->dilation[0], o->same ? "same" : "valid");
    printf("%s\n", graph_is_output(g, i) ? ", put out" : "");
  }
}
