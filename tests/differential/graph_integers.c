/* Chooses the quantization of each map of a random graph, and bounds the differences that other
 * programs may find. The range of a quantized map contains most of the map's values, but not all,
 * so that some values are clamped. Called by random_graphs.c, graph_onnx.c and graph_tflite.c.
 * Touches only its arguments. */
#include "tests/differential/graph.h"

#include <math.h>

struct range {
  double least, most;
};

static double largest(struct range r)
{
  return fmax(-r.least, r.most);
}

static struct range both_sides(double most)
{
  return (struct range){-most, most};
}

static struct range times(struct range a, struct range b)
{
  const double p[4] = {a.least * b.least, a.least * b.most, a.most * b.least, a.most * b.most};
  return (struct range){fmin(fmin(p[0], p[1]), fmin(p[2], p[3])),
                        fmax(fmax(p[0], p[1]), fmax(p[2], p[3]))};
}

static struct range scaled(struct range r, double factor)
{
  return (struct range){r.least * factor, r.most * factor};
}

bool graph_keeps_numbers(const struct graph_node *o)
{
  switch (o->kind) {
  case GRAPH_MAX_POOL:
  case GRAPH_MEAN_POOL:
  case GRAPH_MAX:
  case GRAPH_MIN:
  case GRAPH_CONCAT:
  case GRAPH_PAD:
  case GRAPH_MIRROR:
  case GRAPH_NEAREST:
  case GRAPH_LINEAR:
  case GRAPH_SLICE:
  case GRAPH_STRIDED:
  case GRAPH_SPLIT:
  case GRAPH_SPLIT_REST:
  case GRAPH_TOPK:
  case GRAPH_GATHER:
  case GRAPH_TRANSPOSE:
  case GRAPH_RESHAPE:
  case GRAPH_SPACE_TO_DEPTH:
  case GRAPH_DEPTH_TO_SPACE: return true;
  case GRAPH_REDUCE: return o->how == GRAPH_LARGEST || o->how == GRAPH_LEAST;
  default: return false;
  }
}

/* Number of values that each output of a reduction combines. */
static double count_reduced(const struct random_graph *g, const struct graph_node *o)
{
  int extents[GRAPH_AXES];
  double n = 1;
  graph_extents(g->nodes[o->a].out, extents);
  for (int i = 0; i < GRAPH_AXES; i++)
    if (o->axes >> i & 1) n *= extents[i];
  return n;
}

static struct range range_of(const struct random_graph *g, const struct graph_node *o,
                             const struct range *ranges)
{
  const struct range a = ranges[o->a], b = ranges[o->b];
  switch (o->kind) {
  case GRAPH_INPUT: return both_sides(1);
  case GRAPH_MATMUL: return both_sides(largest(a) * largest(b) * sqrt(g->nodes[o->a].out.c));
  case GRAPH_ADD: return (struct range){a.least + b.least, a.most + b.most};
  case GRAPH_SUB: return (struct range){a.least - b.most, a.most - b.least};
  case GRAPH_MUL: return times(a, b);
  case GRAPH_ADD_CONSTANT: return (struct range){a.least - 1, a.most + 1};
  case GRAPH_SUB_FROM_CONSTANT: return (struct range){-1 - a.most, 1 - a.least};
  case GRAPH_MUL_CONSTANT: return both_sides(1.5 * largest(a));
  case GRAPH_PRELU: return both_sides(largest(a));
  case GRAPH_RELU:
  case GRAPH_ABS: return (struct range){0, o->kind == GRAPH_ABS ? largest(a) : a.most};
  case GRAPH_RELU6: return (struct range){0, fmin(a.most, 6)};
  case GRAPH_LEAKY: return times(a, (struct range){(double)o->alpha / 64, 1});
  case GRAPH_ELU: return (struct range){-1, a.most};
  case GRAPH_HARD_SWISH: return (struct range){-.4, a.most};
  case GRAPH_GLOBAL_MEAN: return scaled(a, .5);
  case GRAPH_REDUCE: return scaled(a, o->how == GRAPH_MEAN ? .5 : sqrt(count_reduced(g, o)));
  default: return both_sides(1.5 * largest(a)); /* windows, products */
  }
}

/* Limits a range to the outputs of a fused activation. fused: the activation's number in TFLite's
 * schema, 0 to 3; 0: none. */
static struct range clamp_range(struct range r, int fused)
{
  const struct range kept[] = {
      r, {0, r.most}, {fmax(r.least, -1), fmin(r.most, 1)}, {0, fmin(r.most, 6)}};
  return kept[fused];
}

/* True if TFLite prescribes the output's quantization. */
static bool is_prescribed(enum graph_kind kind, struct graph_numbers *numbers)
{
  switch (kind) {
  case GRAPH_LOGISTIC:
  case GRAPH_SOFTMAX: *numbers = (struct graph_numbers){1.0f / 256, -128}; return true;
  case GRAPH_TANH: *numbers = (struct graph_numbers){1.0f / 128, 0}; return true;
  case GRAPH_LOG_SOFTMAX: *numbers = (struct graph_numbers){16.0f / 256, 127}; return true;
  default: return false;
  }
}

static struct graph_numbers numbers_of(struct range r)
{
  const double narrowest = .02;
  double least = fmin(r.least, 0), most = fmax(fmax(r.most, 0), least + narrowest);
  float scale = (float)((most - least) / 255);
  long zero = lround(-128 - least / (double)scale);
  return (struct graph_numbers){scale, zero < -128 ? -128 : zero > 127 ? 127 : (int)zero};
}

void graph_quantize(const struct random_graph *g, struct graph_numbers numbers[GRAPH_NODES])
{
  struct range ranges[GRAPH_NODES];
  struct test_rng rng = graph_random(0x8b17000000 + g->number);
  for (int i = 0; i < g->n; i++) {
    const struct graph_node *o = &g->nodes[i];
    double jitter = (double)test_random_int(&rng, 50, 120) / 100;
    if (i > 0 && graph_keeps_numbers(o)) {
      numbers[i] = numbers[o->a];
      ranges[i] = ranges[o->a];
      continue;
    }
    ranges[i] = scaled(clamp_range(range_of(g, o, ranges), o->fused), jitter);
    if (!is_prescribed(o->kind, &numbers[i])) numbers[i] = numbers_of(ranges[i]);
    else
      ranges[i] = (struct range){(double)numbers[i].scale * (-128 - numbers[i].zero),
                                 (double)numbers[i].scale * (127 - numbers[i].zero)};
  }
}

/* ---- differences to other programs ---- */

static double most_of(struct graph_numbers n)
{
  return (double)n.scale * fmax(128 + n.zero, 127 - n.zero);
}

/* Upper bound of the factor by which a node amplifies an error of its input. */
static double gain(const struct random_graph *g, const struct graph_numbers *numbers,
                   const struct graph_node *o)
{
  switch (o->kind) {
  case GRAPH_CONV:
  case GRAPH_DEPTHWISE:
  case GRAPH_TRANSPOSED:
  case GRAPH_MATMUL_CONSTANT:
  case GRAPH_DENSE:
    return 2; /* weights of a filter are below 1.7 / sqrt(their number), and few inputs differ */
  case GRAPH_MUL: return fmax(most_of(numbers[o->a]), most_of(numbers[o->b]));
  case GRAPH_MUL_CONSTANT:
  case GRAPH_HARD_SWISH: return 2;
  case GRAPH_LEAKY:
  case GRAPH_SOFTMAX: return fmax(1, (double)o->alpha / 64);
  case GRAPH_REDUCE: return o->how == GRAPH_SUM ? count_reduced(g, o) : 1;
  default: return 1;
  }
}

/* True if another program may round the node's result differently. In ONNX, this holds for every
 * operator that computes: sums of floats in another order may round to another integer. */
static bool is_rounded_otherwise(const struct random_graph *g, const struct graph_node *o)
{
  if (!g->for_tflite)
    return !graph_keeps_numbers(o) || o->kind == GRAPH_MEAN_POOL || o->kind == GRAPH_LINEAR;
  switch (o->kind) {
  case GRAPH_LINEAR: return !g->is_signed;
  case GRAPH_SOFTMAX:
  case GRAPH_LOGISTIC:
  case GRAPH_TANH:
  case GRAPH_CONV:
  case GRAPH_MATMUL_CONSTANT:
  case GRAPH_DENSE:
  case GRAPH_GLOBAL_MEAN:
  case GRAPH_REDUCE: return true;
  default: return false;
  }
}

void graph_count_steps(const struct random_graph *g,
                       const struct graph_numbers numbers[GRAPH_NODES], double steps[GRAPH_NODES])
{
  steps[0] = 0;
  for (int i = 1; i < g->n; i++) {
    const struct graph_node *o = &g->nodes[i];
    double error = steps[o->a] * (double)numbers[o->a].scale;
    if (graph_reads_two(o->kind)) error += steps[o->b] * (double)numbers[o->b].scale;
    if (error > 0)
      error = gain(g, numbers, o) * error + /* rounding may add a step */
            (double)numbers[i].scale;
    steps[i] = error / (double)numbers[i].scale + is_rounded_otherwise(g, o);
    if (graph_keeps_numbers(o) && !graph_reads_two(o->kind) && o->kind != GRAPH_MEAN_POOL &&
        o->kind != GRAPH_LINEAR)
      steps[i] = steps[o->a];
  }
}
