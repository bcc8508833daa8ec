/* Makes random models of 8-bit integers and computes their outputs in plain C. Called by suites
 * of integer models and by fuzz targets. The graph owns the memory it allocates; close frees it. */
#include "tests/support/integer_graph.h"

#include "formats/tflite/model.h"
#include "tests/kernels/integer_rule.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct test_integer_graph graph;
typedef struct test_integer_map map;

/* ---- tensors ---- */

static void *own(graph *g, size_t bytes)
{
  void *memory = calloc(1, bytes + 1);
  if (!memory || g->n_owned == (int)(sizeof g->owned / sizeof *g->owned)) abort();
  return g->owned[g->n_owned++] = memory;
}

static int least(const graph *g) { return g->is_signed ? -128 : 0; }
static int most(const graph *g) { return least(g) + 255; }
static int any_number(graph *g) { return test_random_int(&g->rng, least(g), most(g)); }

/* Sets the tensor's scale and zero point. The model refers to memory of the graph. */
static void set_quantization(graph *g, int tensor, float scale, int zero)
{
  struct test_tflite_tensor *t = &g->tensors[tensor];
  float *scales = own(g, sizeof *scales);
  int64_t *zeros = own(g, sizeof *zeros);
  *scales = scale, *zeros = zero;
  t->scales = scales, t->zero_points = zeros;
  t->n_scales = t->n_zero_points = 1;
}

static int any_zero(graph *g)
{
  int how = test_random_int(&g->rng, 0, 9);
  return how == 0 ? least(g) : how == 1 ? most(g) : how < 5 ? least(g) + 128 : any_number(g);
}

static float any_scale(graph *g)
{
  /* A statement of its own, because the order in which a call's arguments are evaluated depends on
   * the compiler. */
  float fraction = (float)test_random_int(&g->rng, 0, 1000) / 1001;
  return ldexpf(1 + fraction, test_random_int(&g->rng, -8, -3));
}

static int add_tensor(graph *g, int type, int rank, const int *shape)
{
  int tensor = g->model.n_tensors++;
  if (tensor == TEST_INTEGER_TENSORS) abort();
  struct test_tflite_tensor *t = &g->tensors[tensor];
  snprintf(g->names[tensor], sizeof g->names[tensor], "t%d", tensor);
  *t = (struct test_tflite_tensor){.name = g->names[tensor], .type = type, .rank = rank};
  for (int k = 0; k < rank; k++) t->shape[k] = shape[k];
  return tensor;
}

static int type_of(const graph *g)
{
  return g->is_signed ? MAFAT_TFLITE_INT8 : MAFAT_TFLITE_UINT8;
}

/* Adds a constant tensor of n 32-bit integers. */
static int add_ints(graph *g, int n, const int *numbers)
{
  int tensor = add_tensor(g, MAFAT_TFLITE_INT32, 1, &n);
  int32_t *data = own(g, (size_t)n * sizeof *data);
  for (int i = 0; i < n; i++) data[i] = numbers[i];
  g->tensors[tensor].data = data, g->tensors[tensor].bytes = (size_t)n * sizeof *data;
  return tensor;
}

static int add_bytes(graph *g, int rank, const int *shape, const int16_t *numbers)
{
  int tensor = add_tensor(g, type_of(g), rank, shape);
  size_t n = 1;
  for (int k = 0; k < rank; k++) n *= (size_t)shape[k];
  char *data = own(g, n);
  for (size_t i = 0; i < n; i++) data[i] = (char)numbers[i];
  g->tensors[tensor].data = data, g->tensors[tensor].bytes = n;
  return tensor;
}

/* Adds a computed map, the output of the operator that is added next. */
static map *add_map(graph *g, int h, int w, int c, bool flat, float scale, int zero)
{
  const int four[] = {1, h, w, c}, two[] = {1, c};
  map *m = &g->maps[g->n_maps++];
  *m = (map){.h = h, .w = w, .c = c, .scale = scale, .zero = zero, .flat = flat};
  m->tensor = add_tensor(g, type_of(g), flat ? 2 : 4, flat ? two : four);
  m->at = own(g, (size_t)(h * w * c) * sizeof *m->at);
  set_quantization(g, m->tensor, scale, zero);
  return m;
}

static int16_t *at(const map *m, int y, int x, int c)
{
  return &m->at[(y * m->w + x) * m->c + c];
}

static int elements(const map *m)
{
  return m->h * m->w * m->c;
}

/* ---- operators ---- */

static struct test_tflite_operator *add_operator(graph *g, int code, int options)
{
  struct test_tflite_operator *o = &g->operators[g->model.n_operators++];
  *o = (struct test_tflite_operator){.code = code, .options = options, .n_outputs = 1};
  return o;
}

static void take(struct test_tflite_operator *o, int tensor)
{
  o->inputs[o->n_inputs++] = tensor;
}

static void set_field(struct test_tflite_operator *o, int number, int bytes, int value)
{
  o->fields[o->n_fields++] =
      (struct test_tflite_field){.number = number, .bytes = bytes, .value = value};
}

static void set_real(struct test_tflite_operator *o, int number, float real)
{
  o->fields[o->n_fields++] = (struct test_tflite_field){.number = number, .bytes = 4, .real = real};
}

/* Returns the range of the map's values after the activation that is fused into its operator. */
static struct mafat_rule_output bounds_of(const graph *g, const map *m, int fused)
{
  struct mafat_rule_output out = {m->zero, least(g), most(g)};
  static const int none = MAFAT_TFLITE_FUSED_NONE;
  int low = m->zero + (int)roundf((fused == MAFAT_TFLITE_FUSED_RELU_N1_TO_1 ? -1 : 0) / m->scale);
  double top = fused == MAFAT_TFLITE_FUSED_RELU6          ? 6
               : fused == MAFAT_TFLITE_FUSED_RELU_N1_TO_1 ? 1
                                                          : INFINITY;
  double high = m->zero + round((double)((float)top / m->scale));
  if (fused != none && low > out.least) out.least = low;
  if (fused != none && high < out.most) out.most = (int)high;
  return out;
}

static int any_fused(graph *g)
{
  return test_random_chance(&g->rng, 50) ? MAFAT_TFLITE_FUSED_NONE : test_random_int(&g->rng, 1, 3);
}

static map *any_map(graph *g)
{
  map *m = &g->maps[test_random_chance(&g->rng, 70) ? g->n_maps - 1
                                                    : test_random_int(&g->rng, 0, g->n_maps - 1)];
  return m->places ? &g->maps[0] : m;
}

static struct mafat_rule_map as_rule(const map *m)
{
  return (struct mafat_rule_map){m->at, m->h, m->w, m->c, m->zero};
}

/* ---- windows ---- */

struct axis {
  int size, stride, dilation, pad, outputs;
};

static struct axis any_axis(graph *g, int in, bool same, bool dilated)
{
  struct axis a = {.size = test_random_int(&g->rng, 1, 4)};
  a.stride = test_random_int(&g->rng, 1, 3);
  a.dilation = dilated ? test_random_int(&g->rng, 1, 2) : 1;
  while (!same && (a.size - 1) * a.dilation + 1 > in) a.size--;
  int reach = (a.size - 1) * a.dilation + 1;
  a.outputs = same ? (in + a.stride - 1) / a.stride : (in - reach) / a.stride + 1;
  int all = (a.outputs - 1) * a.stride + reach - in;
  a.pad = same && all > 0 ? all / 2 : 0;
  return a;
}

struct window {
  struct axis y, x;
  bool same;
};

static struct window any_window(graph *g, const map *m, bool dilated)
{
  struct window w = {.same = test_random_chance(&g->rng, 60)};
  w.y = any_axis(g, m->h, w.same, dilated);
  w.x = any_axis(g, m->w, w.same, dilated);
  return w;
}

static struct mafat_rule_window rule_window(const struct window *w)
{
  return (struct mafat_rule_window){w->y.size,     w->x.size,     w->y.stride, w->x.stride,
                                    w->y.dilation, w->x.dilation, w->y.pad,    w->x.pad};
}

static void set_window(struct test_tflite_operator *o, const struct window *w)
{
  set_field(o, 0, 1, w->same ? MAFAT_TFLITE_SAME : MAFAT_TFLITE_VALID);
  set_field(o, 1, 4, w->x.stride);
  set_field(o, 2, 4, w->y.stride);
}

/* ---- convolutions, fully connected layers ---- */

/* A weight matrix: n weights for each filter, one scale for all or for each filter, and biases. */
struct matrix {
  int16_t *weights;
  float *scales;
  int n_scales, zero;
  int32_t *bias;
};

static struct matrix any_matrix(graph *g, int filters, int n)
{
  struct matrix m = {own(g, (size_t)n * sizeof *m.weights),
                     own(g, (size_t)filters * sizeof *m.scales), 1, 0,
                     own(g, (size_t)filters * sizeof *m.bias)};
  bool nasty = test_random_chance(&g->rng, 15);
  if (g->is_signed && filters > 1 && test_random_chance(&g->rng, 80)) m.n_scales = filters;
  if (!g->is_signed) m.zero = any_number(g);
  for (int i = 0; i < n; i++)
    m.weights[i] =
        (int16_t)(nasty ? (test_random_chance(&g->rng, 50) ? least(g) : most(g)) : any_number(g));
  for (int f = 0; f < filters; f++) {
    m.scales[f] = any_scale(g);
    m.bias[f] = test_random_int(&g->rng, -100000, 100000);
    if (test_random_chance(&g->rng, 3))
      m.bias[f] = (test_random_chance(&g->rng, 50) ? 1 : -1) * (1 << 30);
    if (m.n_scales > 1 && test_random_chance(&g->rng, 5))
      m.scales[f] *= -1; /* a batch normalization's factor may be negative */
  }
  return m;
}

static int add_weights(graph *g, const struct matrix *m, int rank, const int *shape, int dimension)
{
  int tensor = add_bytes(g, rank, shape, m->weights);
  struct test_tflite_tensor *t = &g->tensors[tensor];
  int64_t *zeros = own(g, (size_t)m->n_scales * sizeof *zeros);
  for (int i = 0; i < m->n_scales; i++) zeros[i] = m->zero;
  t->scales = m->scales, t->zero_points = zeros;
  t->n_scales = t->n_zero_points = m->n_scales;
  t->dimension = dimension;
  return tensor;
}

static int add_bias(graph *g, const struct matrix *m, int filters)
{
  int tensor = add_tensor(g, MAFAT_TFLITE_INT32, 1, &filters);
  g->tensors[tensor].data = m->bias, g->tensors[tensor].bytes = (size_t)filters * sizeof *m->bias;
  return tensor;
}

/* Adds the map of a convolution's or matrix's sums, which are stored [pixel][filter]. Its scale
 * is chosen so that most sums are in range. */
static map *finish_sums(graph *g, const map *x, const struct matrix *m, const int32_t *sums, int h,
                        int w, int filters, bool flat, int fused)
{
  double largest = 0;
  for (int i = 0; i < h * w * filters; i++) {
    double real = fabs((double)sums[i] * (double)x->scale *
                       (double)m->scales[m->n_scales > 1 ? i % filters : 0]);
    if (fabs((double)sums[i]) < 1 << 29 && real > largest) largest = real;
  }
  float scale = largest > 0 ? (float)(largest / test_random_int(&g->rng, 60, 300)) : 1;
  if (test_random_chance(&g->rng, 5)) scale *= test_random_chance(&g->rng, 50) ? 1e-5f : 1e3f;
  map *out = add_map(g, h, w, filters, flat, scale, any_zero(g));
  struct mafat_rule_output to = bounds_of(g, out, fused);
  bool single = m->n_scales == 1 && (flat || !g->is_signed);
  for (int i = 0; i < h * w * filters; i++) {
    float of = m->scales[m->n_scales > 1 ? i % filters : 0], product = x->scale * of;
    double real = (single ? (double)product : (double)x->scale * (double)of) / (double)scale;
    out->at[i] = (int16_t)mafat_rule_finish(sums[i], mafat_rule_scale_of(real), to);
  }
  return out;
}

/* Adds a convolution; if multiplier > 0, a depthwise one. m->bias NULL: no bias. */
static struct test_tflite_operator *add_convolution(graph *g, const map *x, const struct matrix *m,
                                                    const int shape[4], const struct window *w,
                                                    int fused, int multiplier)
{
  bool each = multiplier > 0;
  int dimension = each ? 3 : 0, field = 3;
  struct test_tflite_operator *o =
      add_operator(g, each ? MAFAT_TFLITE_DEPTHWISE_CONV_2D : MAFAT_TFLITE_CONV_2D, each ? 2 : 1);
  take(o, x->tensor);
  take(o, add_weights(g, m, 4, shape, dimension));
  if (m->bias) take(o, add_bias(g, m, shape[dimension]));
  set_window(o, w);
  if (each) set_field(o, field++, 4, multiplier);
  set_field(o, field++, 1, fused);
  set_field(o, field++, 4, w->x.dilation);
  set_field(o, field, 4, w->y.dilation);
  return o;
}

static bool convolve(graph *g)
{
  map *x = any_map(g);
  if (x->flat) return false;
  int filters = test_random_int(&g->rng, 1, 40), groups = 1;
  if (x->c % 2 == 0 && test_random_chance(&g->rng, 15))
    groups = 2, filters = 2 * ((filters + 1) / 2);
  struct window w = any_window(g, x, true);
  int channels = x->c / groups, taps = w.y.size * w.x.size, h = w.y.outputs, cols = w.x.outputs,
      fused = any_fused(g);
  const int shape[] = {filters, w.y.size, w.x.size, channels};
  struct matrix m = any_matrix(g, filters, filters * taps * channels);
  if (!test_random_chance(&g->rng, 85)) m.bias = NULL;
  struct mafat_rule_conv rule = {as_rule(x), rule_window(&w), m.weights, m.bias,
                                 m.zero,     filters,         groups};
  int32_t *sums = own(g, (size_t)(h * cols * filters) * sizeof *sums), *sum = sums;
  for (int y = 0; y < h; y++)
    for (int col = 0; col < cols; col++)
      for (int f = 0; f < filters; f++) *sum++ = mafat_rule_conv(&rule, y, col, f);
  struct test_tflite_operator *o = add_convolution(g, x, &m, shape, &w, fused, 0);
  o->outputs[0] = finish_sums(g, x, &m, sums, h, cols, filters, false, fused)->tensor;
  return true;
}

static bool convolve_depthwise(graph *g)
{
  map *x = any_map(g);
  int multiplier = test_random_chance(&g->rng, 80) ? 1 : test_random_int(&g->rng, 2, 3),
      filters = x->c * multiplier;
  if (x->flat || filters > 64) return false;
  struct window w = any_window(g, x, true);
  int h = w.y.outputs, cols = w.x.outputs, fused = any_fused(g);
  const int shape[] = {1, w.y.size, w.x.size, filters};
  struct matrix m = any_matrix(g, filters, filters * w.y.size * w.x.size);
  struct mafat_rule_depthwise rule = {as_rule(x), rule_window(&w), m.weights,
                                      m.bias,     m.zero,          multiplier};
  int32_t *sums = own(g, (size_t)(h * cols * filters) * sizeof *sums), *sum = sums;
  for (int y = 0; y < h; y++)
    for (int col = 0; col < cols; col++)
      for (int f = 0; f < filters; f++) *sum++ = mafat_rule_depthwise(&rule, y, col, f);
  struct test_tflite_operator *o = add_convolution(g, x, &m, shape, &w, fused, multiplier);
  o->outputs[0] = finish_sums(g, x, &m, sums, h, cols, filters, false, fused)->tensor;
  return true;
}

static bool connect(graph *g)
{
  map *x = any_map(g);
  int n = elements(x), filters = test_random_int(&g->rng, 1, 40), fused = any_fused(g);
  const int shape[] = {filters, n};
  if (n > 3000) return false;
  struct matrix m = any_matrix(g, filters, filters * n);
  struct mafat_rule_conv rule = {
      {x->at, 1, 1, n, x->zero}, {1, 1, 1, 1, 1, 1, 0, 0}, m.weights, m.bias, m.zero, filters, 1};
  int32_t *sums = own(g, (size_t)filters * sizeof *sums);
  for (int f = 0; f < filters; f++) sums[f] = mafat_rule_conv(&rule, 0, 0, f);
  struct test_tflite_operator *o = add_operator(g, MAFAT_TFLITE_FULLY_CONNECTED, 8);
  take(o, x->tensor);
  take(o, add_weights(g, &m, 2, shape, 0));
  take(o, add_bias(g, &m, filters));
  set_field(o, 0, 1, fused);
  o->outputs[0] = finish_sums(g, x, &m, sums, 1, 1, filters, true, fused)->tensor;
  return true;
}

/* ---- pools, means, argmax ---- */

static bool pool(graph *g)
{
  map *x = any_map(g);
  bool mean = test_random_chance(&g->rng, 50);
  if (x->flat) return false;
  struct window w = any_window(g, x, false);
  struct mafat_rule_window window = rule_window(&w);
  struct mafat_rule_map in = as_rule(x);
  int fused = any_fused(g);
  struct test_tflite_operator *o =
      add_operator(g, mean ? MAFAT_TFLITE_AVERAGE_POOL_2D : MAFAT_TFLITE_MAX_POOL_2D, 5);
  take(o, x->tensor);
  set_window(o, &w);
  set_field(o, 3, 4, w.x.size);
  set_field(o, 4, 4, w.y.size);
  set_field(o, 5, 1, fused);
  map *out = add_map(g, w.y.outputs, w.x.outputs, x->c, false, x->scale, x->zero);
  o->outputs[0] = out->tensor;
  struct mafat_rule_output to = bounds_of(g, out, fused);
  for (int y = 0; y < out->h; y++)
    for (int col = 0; col < out->w; col++)
      for (int c = 0; c < out->c; c++)
        *at(out, y, col, c) = (int16_t)(mean ? mafat_rule_avgpool(&in, &window, y, col, c, to)
                                             : mafat_rule_maxpool(&in, &window, y, col, c, to));
  return true;
}

static bool average(graph *g)
{
  map *x = any_map(g);
  int axes[3], n_axes = 0, which = test_random_int(&g->rng, 1, 7), n = 1;
  if (x->flat) return false;
  const int extents[] = {x->h, x->w, x->c};
  for (int a = 0; a < 3; a++)
    if (which >> a & 1) axes[n_axes++] = a + 1, n *= extents[a];
  bool rows = which & 1, cols = which & 2, channels = which & 4;
  struct test_tflite_operator *o = add_operator(g, MAFAT_TFLITE_MEAN, 27);
  take(o, x->tensor);
  take(o, add_ints(g, n_axes, axes));
  set_field(o, 0, 1, 1);
  float mean = x->scale * any_scale(g) * 16;
  map *out =
      add_map(g, rows ? 1 : x->h, cols ? 1 : x->w, channels ? 1 : x->c, false, mean, any_zero(g));
  o->outputs[0] = out->tensor;
  struct mafat_rule_scale scale = mafat_rule_scale_of((double)x->scale / (double)out->scale);
  for (int y = 0; y < out->h; y++)
    for (int col = 0; col < out->w; col++)
      for (int c = 0; c < out->c; c++) {
        int64_t sum = 0;
        for (int iy = rows ? 0 : y; iy < (rows ? x->h : y + 1); iy++)
          for (int ix = cols ? 0 : col; ix < (cols ? x->w : col + 1); ix++)
            for (int ic = channels ? 0 : c; ic < (channels ? x->c : c + 1); ic++)
              sum += *at(x, iy, ix, ic);
        *at(out, y, col, c) = (int16_t)mafat_rule_mean(sum, n, x->zero, scale,
                                                       bounds_of(g, out, MAFAT_TFLITE_FUSED_NONE));
      }
  return true;
}

/* Adds an argmax along rows, columns or channels. Of equal values the first one counts. */
static bool find_largest(graph *g)
{
  map *x = any_map(g);
  int axis = test_random_int(&g->rng, 0, 2), dim = axis + 1;
  if (x->flat) return false;
  const int n[] = {x->h, x->w, x->c};
  struct test_tflite_operator *o = add_operator(g, MAFAT_TFLITE_ARG_MAX, 40);
  take(o, x->tensor);
  take(o, add_ints(g, 1, &dim));
  set_field(o, 0, 1, MAFAT_TFLITE_INT32);
  map *out =
      add_map(g, axis == 0 ? 1 : x->h, axis == 1 ? 1 : x->w, axis == 2 ? 1 : x->c, false, 1, 0);
  struct test_tflite_tensor *t = &g->tensors[out->tensor];
  *t = (struct test_tflite_tensor){.name = t->name, .type = MAFAT_TFLITE_INT32, .rank = 3};
  t->shape[0] = 1;
  for (int a = 0, k = 1; a < 3; a++)
    if (a != axis) t->shape[k++] = n[a];
  out->places = true;
  o->outputs[0] = out->tensor;
  for (int y = 0; y < out->h; y++)
    for (int col = 0; col < out->w; col++)
      for (int c = 0; c < out->c; c++) {
        int place = 0, best = -1000;
        for (int i = 0; i < n[axis]; i++) {
          int value = *at(x, axis == 0 ? i : y, axis == 1 ? i : col, axis == 2 ? i : c);
          if (value > best) best = value, place = i;
        }
        *at(out, y, col, c) = (int16_t)place;
      }
  return true;
}

/* ---- two operands ---- */

/* True if z can be broadcast to m: each extent is equal or 1. */
static bool can_broadcast(const map *m, const map *z)
{
  return m != z && !m->flat && !z->flat && !z->places && (z->h == m->h || z->h == 1) &&
         (z->w == m->w || z->w == 1) && (z->c == m->c || z->c == 1);
}

/* Makes a constant operand: a scalar, a value for each channel, or a map. It is not added to
 * g->maps. */
static map any_constant(graph *g, const map *x)
{
  int how = test_random_int(&g->rng, 0, 2);
  map m = {.h = how == 2 ? x->h : 1,
           .w = how == 2 ? x->w : 1,
           .c = how ? x->c : 1,
           .scale = any_scale(g)};
  m.zero = any_zero(g);
  const int shape[] = {1, m.h, m.w, m.c};
  m.at = own(g, (size_t)elements(&m) * sizeof *m.at);
  for (int i = 0; i < elements(&m); i++) m.at[i] = (int16_t)any_number(g);
  m.tensor = add_bytes(g, 4, shape, m.at);
  set_quantization(g, m.tensor, m.scale, m.zero);
  return m;
}

static int broadcast_at(const map *m, int y, int x, int c)
{
  return *at(m, m->h == 1 ? 0 : y, m->w == 1 ? 0 : x, m->c == 1 ? 0 : c);
}

static int combine_two(int code, const map *a, const map *b, const map *out, int x, int z,
                       struct mafat_rule_output to)
{
  struct mafat_rule_add add = mafat_rule_add_of(a->scale, b->scale, out->scale);
  double product = (double)(a->scale * b->scale / out->scale);
  add.x_zero = a->zero, add.z_zero = b->zero, add.out = to;
  add.subtract = code == MAFAT_TFLITE_SUB;
  if (code == MAFAT_TFLITE_MUL)
    return mafat_rule_multiply(x, a->zero, z, b->zero, mafat_rule_scale_of(product), to);
  if (code == MAFAT_TFLITE_PRELU)
    return mafat_rule_prelu(x, a->zero, z, b->zero,
                            mafat_rule_scale_of((double)(a->scale / out->scale)),
                            mafat_rule_scale_of(product), to);
  return mafat_rule_add(&add, x, z);
}

static bool combine(graph *g)
{
  static const struct { int code, options;
  } rows[] = {{MAFAT_TFLITE_ADD, 11},
              {MAFAT_TFLITE_ADD, 11},
              {MAFAT_TFLITE_SUB, 28},
              {MAFAT_TFLITE_MUL, 21},
              {MAFAT_TFLITE_PRELU, 0}};
  int which = test_random_int(&g->rng, 0, 4), code = rows[which].code;
  map *x = any_map(g), *other = any_map(g), constant;
  if (x->flat) return false;
  if (!can_broadcast(x, other) || code == MAFAT_TFLITE_PRELU)
    constant = any_constant(g, x), other = &constant;
  const map *pair[] = {x, other};
  bool turned = code != MAFAT_TFLITE_PRELU && test_random_chance(&g->rng, 50);
  const map *a = pair[turned], *b = pair[!turned];
  int fused = code == MAFAT_TFLITE_PRELU ? MAFAT_TFLITE_FUSED_NONE : any_fused(g);
  float sum = x->scale > other->scale ? x->scale : other->scale;
  float scale = (code == MAFAT_TFLITE_MUL ? x->scale * other->scale * 64 : sum * 2) *
                (float)test_random_int(&g->rng, 5, 15) / 10;
  struct test_tflite_operator *o = add_operator(g, code, rows[which].options);
  take(o, a->tensor);
  take(o, b->tensor);
  if (rows[which].options) set_field(o, 0, 1, fused);
  map *out = add_map(g, x->h, x->w, x->c, false, scale, any_zero(g));
  o->outputs[0] = out->tensor;
  struct mafat_rule_output to = bounds_of(g, out, fused);
  for (int y = 0; y < out->h; y++)
    for (int col = 0; col < out->w; col++)
      for (int c = 0; c < out->c; c++)
        *at(out, y, col, c) = (int16_t)combine_two(code, a, b, out, broadcast_at(a, y, col, c),
                                                   broadcast_at(b, y, col, c), to);
  return true;
}

static int join_one(const graph *g, const map *from, const map *to, int q)
{
  int shift = g->is_signed ? 128 : 0;
  return mafat_rule_join(q + shift, from->zero + shift, from->scale, to->zero + shift, to->scale) -
         shift;
}

static bool join(graph *g)
{
  map *x = any_map(g), *z = any_map(g);
  bool rows = x->c == z->c && test_random_chance(&g->rng, 30);
  if (x->flat || z->flat || x->w != z->w || (!rows && x->h != z->h) || x->c + z->c > 64 ||
      x->h + z->h > 24)
    return false;
  struct test_tflite_operator *o = add_operator(g, MAFAT_TFLITE_CONCATENATION, 10);
  take(o, x->tensor);
  take(o, z->tensor);
  set_field(o, 0, 4, rows ? 1 : test_random_chance(&g->rng, 50) ? 3 : -1);
  bool same = test_random_chance(&g->rng, 40);
  map *out = add_map(g, rows ? x->h + z->h : x->h, x->w, rows ? x->c : x->c + z->c, false,
                     same ? x->scale : 1.5f * x->scale, same ? x->zero : any_zero(g));
  o->outputs[0] = out->tensor;
  for (int y = 0; y < out->h; y++)
    for (int col = 0; col < out->w; col++)
      for (int c = 0; c < out->c; c++) {
        bool second = rows ? y >= x->h : c >= x->c;
        const map *from = second ? z : x;
        int q = *at(from, rows && second ? y - x->h : y, col, !rows && second ? c - x->c : c);
        *at(out, y, col, c) = (int16_t)join_one(g, from, out, q);
      }
  return true;
}

/* ---- elementwise ---- */

enum function { LOGISTIC, TANH, HARD_SWISH, LEAKY, CLIP, CLIP_6, RESCALE, N_FUNCTIONS };

static int function_of(const graph *g, enum function f, const map *x, const map *out, int q,
                       float slope)
{
  int shift = g->is_signed ? 0 : 128;
  struct mafat_rule_output to = bounds_of(g, out,
                                          f == CLIP     ? MAFAT_TFLITE_FUSED_RELU
                                          : f == CLIP_6 ? MAFAT_TFLITE_FUSED_RELU6
                                                        : MAFAT_TFLITE_FUSED_NONE);
  switch (f) {
  case LOGISTIC: return mafat_rule_logistic(q, x->zero, x->scale) + shift;
  case TANH: return mafat_rule_tanh(q, x->zero, x->scale) + shift;
  case HARD_SWISH: {
    struct mafat_rule_hard_swish h = mafat_rule_hard_swish_of(x->scale, out->scale);
    h.zero = x->zero, h.out = to;
    return mafat_rule_hard_swish(&h, q);
  }
  case LEAKY:
    return mafat_rule_leaky(q, x->zero, mafat_rule_scale_of((double)(x->scale / out->scale)),
                            mafat_rule_scale_of((double)(x->scale * slope / out->scale)), to);
  case CLIP:
  case CLIP_6:
    return mafat_rule_requantise(q, x->zero, mafat_rule_scale_of((double)(x->scale / out->scale)),
                                 to);
  default:
    return mafat_rule_requantise(q, x->zero,
                                 mafat_rule_scale_of((double)x->scale / (double)out->scale), to);
  }
}

static bool apply_function(graph *g)
{
  static const int codes[] = {MAFAT_TFLITE_LOGISTIC,   MAFAT_TFLITE_TANH, MAFAT_TFLITE_HARD_SWISH,
                              MAFAT_TFLITE_LEAKY_RELU, MAFAT_TFLITE_RELU, MAFAT_TFLITE_RELU6,
                              MAFAT_TFLITE_QUANTIZE};
  map *x = any_map(g);
  enum function f = (enum function)test_random_int(&g->rng, 0, N_FUNCTIONS - 1);
  float slope = (float)test_random_int(&g->rng, -50, 150) / 100,
        scale = x->scale * (float)test_random_int(&g->rng, 3, 20) / 10;
  if (f == LOGISTIC) scale = 1 / 256.0f;
  if (f == TANH) scale = 1 / 128.0f;
  if (f == HARD_SWISH && (x->scale > 100 || x->scale < 1e-4f)) return false;
  struct test_tflite_operator *o = add_operator(g, codes[f], f == LEAKY ? 75 : 0);
  take(o, x->tensor);
  if (f == LEAKY) set_real(o, 0, slope);
  map *out = add_map(g, x->h, x->w, x->c, x->flat, scale,
                     f == LOGISTIC ? least(g)
                     : f == TANH   ? least(g) + 128
                                   : any_zero(g));
  o->outputs[0] = out->tensor;
  if (f == LEAKY && slope == 0) slope = o->fields[0].real = .1f;
  for (int i = 0; i < elements(out); i++)
    out->at[i] = (int16_t)function_of(g, f, x, out, x->at[i], slope);
  return true;
}

static bool apply_softmax(graph *g)
{
  map *x = any_map(g);
  float beta = (float)test_random_int(&g->rng, 1, 30) / 10;
  struct test_tflite_operator *o = add_operator(g, MAFAT_TFLITE_SOFTMAX, 9);
  take(o, x->tensor);
  set_real(o, 0, beta);
  map *out = add_map(g, x->h, x->w, x->c, x->flat, 1 / 256.0f, least(g));
  o->outputs[0] = out->tensor;
  for (int i = 0; i < elements(out); i += x->c) {
    mafat_rule_softmax(x->at + i, out->at + i, x->c, x->scale, beta);
    for (int c = 0; c < x->c && !g->is_signed; c++)
      out->at[i + c] = (int16_t)(out->at[i + c] + 128);
  }
  return true;
}

/* ---- padding, transposing, resizing ---- */

static bool pad_map(graph *g)
{
  map *x = any_map(g);
  int pads[8] = {0};
  const int two[] = {4, 2};
  if (x->flat) return false;
  for (int k = 2; k < 6; k++) pads[k] = test_random_int(&g->rng, 0, 2);
  if (test_random_chance(&g->rng, 20))
    pads[6] = test_random_int(&g->rng, 0, 3), pads[7] = test_random_int(&g->rng, 0, 3);
  bool fills = test_random_chance(&g->rng, 40);
  int fill = fills ? any_number(g) : x->zero;
  struct test_tflite_operator *o =
      add_operator(g, fills ? MAFAT_TFLITE_PADV2 : MAFAT_TFLITE_PAD, 0);
  take(o, x->tensor);
  int list = add_ints(g, 8, pads);
  g->tensors[list].rank = 2;
  for (int k = 0; k < 2; k++) g->tensors[list].shape[k] = two[k];
  take(o, list);
  if (fills) {
    static const int one = 1;
    int16_t number = (int16_t)fill;
    take(o, add_bytes(g, 1, &one, &number));
    set_quantization(g, o->inputs[2], x->scale, x->zero);
  }
  map *out = add_map(g, x->h + pads[2] + pads[3], x->w + pads[4] + pads[5],
                     x->c + pads[6] + pads[7], false, x->scale, x->zero);
  o->outputs[0] = out->tensor;
  for (int y = 0; y < out->h; y++)
    for (int col = 0; col < out->w; col++)
      for (int c = 0; c < out->c; c++) {
        int iy = y - pads[2], ix = col - pads[4], ic = c - pads[6];
        bool inside = iy >= 0 && iy < x->h && ix >= 0 && ix < x->w && ic >= 0 && ic < x->c;
        *at(out, y, col, c) = (int16_t)(inside ? *at(x, iy, ix, ic) : fill);
      }
  return true;
}

/* Adds a transposition that exchanges rows and columns. */
static bool transpose(graph *g)
{
  static const int order[] = {0, 2, 1, 3};
  map *x = any_map(g);
  if (x->flat) return false;
  struct test_tflite_operator *o = add_operator(g, MAFAT_TFLITE_TRANSPOSE, 0);
  take(o, x->tensor);
  take(o, add_ints(g, 4, order));
  map *out = add_map(g, x->w, x->h, x->c, false, x->scale, x->zero);
  o->outputs[0] = out->tensor;
  for (int y = 0; y < out->h; y++)
    for (int col = 0; col < out->w; col++)
      for (int c = 0; c < out->c; c++) *at(out, y, col, c) = *at(x, col, y, c);
  return true;
}

/* Adds a resize by nearest or linear interpolation. Linear weights are multiples of 1/1024 for
 * int8, and floats for uint8. */
static bool resize(graph *g)
{
  enum { MOST = 20 };
  map *x = any_map(g);
  bool nearest = test_random_chance(&g->rng, 50);
  int grid = test_random_int(&g->rng, 0, 2), first = nearest ? 0 : 2;
  int size[2];
  for (int i = 0; i < 2; i++) size[i] = test_random_int(&g->rng, 1, MOST);
  if (x->flat) return false;
  struct test_tflite_operator *o = nearest
                                       ? add_operator(g, MAFAT_TFLITE_RESIZE_NEAREST_NEIGHBOR, 74)
                                       : add_operator(g, MAFAT_TFLITE_RESIZE_BILINEAR, 15);
  take(o, x->tensor);
  take(o, add_ints(g, 2, size));
  if (grid != MAFAT_RULE_ASYMMETRIC)
    set_field(o, grid == MAFAT_RULE_CORNERS ? first : first + 1, 1, 1);
  map *out = add_map(g, size[0], size[1], x->c, false, x->scale, x->zero);
  o->outputs[0] = out->tensor;
  const struct mafat_rule_map in = as_rule(x);
  for (int y = 0; y < out->h; y++)
    for (int col = 0; col < out->w; col++)
      for (int c = 0; c < out->c; c++) {
        int from_y = mafat_rule_nearest((enum mafat_rule_grid)grid, x->h, out->h, y);
        int from_x = mafat_rule_nearest((enum mafat_rule_grid)grid, x->w, out->w, col);
        int between = (g->is_signed ? mafat_rule_bilinear : mafat_rule_bilinear_single)(
            &in, (enum mafat_rule_grid)grid, out->h, out->w, y, col, c);
        *at(out, y, col, c) = (int16_t)(nearest ? *at(x, from_y, from_x, c) : between);
      }
  return true;
}

/* ---- models ---- */

/* The outputs are the last map, every argmax, and some other maps. */
static void choose_outputs(graph *g)
{
  struct test_tflite_model *m = &g->model;
  for (int i = g->n_maps - 1; i > 0 && m->n_outputs < TEST_TFLITE_LIST; i--)
    if (i == g->n_maps - 1 || g->maps[i].places || test_random_chance(&g->rng, 15))
      m->outputs[m->n_outputs++] = g->maps[i].tensor;
}

void test_integer_graph_open(struct test_integer_graph *g, uint64_t seed)
{
  static bool (*const add[])(
      graph * g) = {convolve, convolve, convolve, convolve_depthwise, convolve_depthwise, connect,
                    pool,     average,      find_largest, combine,       combine,       join,
                    join,     apply_function, apply_softmax, pad_map, transpose, resize};
  enum { N = sizeof add / sizeof *add };
  *g = (graph){.rng = test_rng(seed)};
  g->is_signed = test_random_chance(&g->rng, 60);
  g->model =
      (struct test_tflite_model){.tensors = g->tensors, .operators = g->operators, .n_inputs = 1};
  int h = test_random_int(&g->rng, 1, 14), w = test_random_int(&g->rng, 1, 14),
      c = test_random_int(&g->rng, 1, 40);
  float scale = any_scale(g);
  map *in = add_map(g, h, w, c, false, scale, any_zero(g));
  for (int i = 0; i < elements(in); i++) in->at[i] = (int16_t)any_number(g);
  g->model.inputs[0] = in->tensor;
  int wanted = test_random_int(&g->rng, 1, 8);
  while (g->model.n_operators < wanted || g->n_maps < 2)
    if (g->model.n_tensors + 8 > TEST_INTEGER_TENSORS ||
        !add[test_random_int(&g->rng, 0, N - 1)](g))
      wanted -= g->n_maps > 1 && test_random_chance(&g->rng, 5);
  choose_outputs(g);
}

void test_integer_graph_close(struct test_integer_graph *g)
{
  for (int i = 0; i < g->n_owned; i++) free(g->owned[i]);
  g->n_owned = 0;
}

char *test_integer_graph_write(unsigned number, size_t *n)
{
  static graph g;
  test_integer_graph_open(&g, number * UINT64_C(0x9e3779b97f4a7c15));
  char *data = test_tflite_write(&g.model, n);
  test_integer_graph_close(&g);
  return data;
}

const struct test_integer_map *test_integer_graph_output(const struct test_integer_graph *g,
                                                         int index)
{
  for (int i = 0; i < g->n_maps; i++)
    if (g->maps[i].tensor == g->model.outputs[index]) return &g->maps[i];
  return NULL;
}
