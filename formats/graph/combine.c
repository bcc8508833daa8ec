/* Imports elementwise operators of two values, such as additions. Called by the importers in
 * formats/onnx and formats/tflite. Adds layers to the graph; if both values are constants, computes
 * the result, which may read the model's files. */
#include "formats/graph/compute.h"
#include "formats/graph/shape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double apply(enum mafat_graph_binary op, double a, double b)
{
  switch (op) {
  case MAFAT_GRAPH_ADD: return a + b;
  case MAFAT_GRAPH_SUB: return a - b;
  case MAFAT_GRAPH_MUL: return a * b;
  case MAFAT_GRAPH_DIV: return a / b;
  case MAFAT_GRAPH_MAX: return a > b ? a : b;
  case MAFAT_GRAPH_MIN: return a < b ? a : b;
  case MAFAT_GRAPH_POW: return pow(a, b);
  default: return a >= 0 ? a : a * b;
  }
}

/* ---- constants ---- */

/* Computes a op b for two constants. dims: dimensions of the result, to which dimensions of size 1
 * are broadcast. */
static int combine_numbers(struct mafat_graph *g, struct mafat_value *out,
                           enum mafat_graph_binary op, const struct mafat_value *a,
                           const struct mafat_value *b, const long long *dims)
{
  enum { MOST = 1 << 22 };
  double *x = NULL, *y = NULL;
  int n_dims = a->view.n_dims, code = mafat_value_numbers(g, a, MOST, &x);
  if (code == MAFAT_OK) code = mafat_value_numbers(g, b, MOST, &y);
  if (code == MAFAT_OK) code = mafat_value_make_numbers(g, out, n_dims, dims);
  long long n = code ? 0 : mafat_value_elements(out);
  for (long long i = 0; i < n; i++) {
    long long at[2] = {0, 0}, step[2] = {1, 1}, rest = i;
    for (int k = n_dims; k-- > 0; rest /= dims[k]) {
      at[0] += a->view.dims[k] == 1 ? 0 : rest % dims[k] * step[0];
      at[1] += b->view.dims[k] == 1 ? 0 : rest % dims[k] * step[1];
      step[0] *= a->view.dims[k];
      step[1] *= b->view.dims[k];
    }
    out->numbers[i] = apply(op, x[at[0]], y[at[1]]);
  }
  free(x);
  free(y);
  return code;
}

/* ---- a map and a constant ---- */

/* Replaces each value of a constant by op(first, value). */
static int change_numbers(struct mafat_graph *g, struct mafat_value *out,
                          enum mafat_graph_binary op, double first, const struct mafat_value *v)
{
  double *numbers;
  int code = mafat_value_numbers(g, v, 1 << 22, &numbers);
  if (code == MAFAT_OK) code = mafat_value_make_numbers(g, out, v->view.n_dims, v->view.dims);
  for (long long i = 0; code == MAFAT_OK && i < mafat_value_elements(v); i++)
    out->numbers[i] = apply(op, first, numbers[i]);
  free(numbers);
  return code;
}

/* True if x op c (c op x if reversed) can be computed as x * scale + bias. */
static bool is_affine(enum mafat_graph_binary op, bool reversed)
{
  return op == MAFAT_GRAPH_ADD || op == MAFAT_GRAPH_SUB || op == MAFAT_GRAPH_MUL ||
         (op == MAFAT_GRAPH_DIV && !reversed);
}

/* Computes x op c (c op x if reversed) for constant c, as x * scale + bias. The operator must be
 * affine (is_affine). */
static int combine_affine(struct mafat_graph *g, struct mafat_value *out,
                          enum mafat_graph_binary op, const struct mafat_value *x,
                          const struct mafat_value *c, bool reversed)
{
  struct mafat_value changed = {.maker = -1}, minus = {.maker = -1};
  struct mafat_graph_affine affine = {0};
  int code = MAFAT_OK;
  if (op == MAFAT_GRAPH_SUB && !reversed)
    code = change_numbers(g, &changed, MAFAT_GRAPH_MUL, -1, c);
  if (op == MAFAT_GRAPH_DIV) code = change_numbers(g, &changed, MAFAT_GRAPH_DIV, 1, c);
  if (op == MAFAT_GRAPH_SUB && reversed) {
    static const long long one = 1;
    code = mafat_value_make_numbers(g, &minus, 1, &one);
    if (code == MAFAT_OK) *minus.numbers = -1, affine.scales = &minus;
  }
  const struct mafat_value *numbers = changed.form == MAFAT_VALUE_NONE ? c : &changed;
  *(op == MAFAT_GRAPH_MUL || op == MAFAT_GRAPH_DIV ? &affine.scales : &affine.biases) = numbers;
  if (code == MAFAT_OK) code = mafat_graph_normalize(g, out, x, &affine);
  mafat_value_clear(&changed);
  mafat_value_clear(&minus);
  return code;
}

/* True if the constant has one value per channel, or a single one. axes[k] is the axis of dimension
 * k of the map. */
static bool is_by_channel(const struct mafat_value *map, const struct mafat_value *c,
                          const int *axes)
{
  bool one = mafat_value_elements(c) == 1;
  for (int i = 0; i < map->view.n_dims && !one; i++) {
    bool whole = c->view.dims[i] == map->view.dims[i];
    if (axes[i] == MAFAT_AXIS_C ? !whole : c->view.dims[i] != 1) return false;
  }
  return true;
}

/* Finds an activation that is equivalent to the operator with one constant operand. */
static bool find_activation(enum mafat_graph_binary op, bool reversed, float number,
                            struct mafat_activating *activation)
{
  switch (op) {
  case MAFAT_GRAPH_MAX:
    *activation = (struct mafat_activating){MAFAT_CLIP, number, INFINITY};
    return true;
  case MAFAT_GRAPH_MIN:
    *activation = (struct mafat_activating){MAFAT_CLIP, -INFINITY, number};
    return true;
  case MAFAT_GRAPH_PRELU: *activation = mafat_activating_sloped(number); return !reversed;
  case MAFAT_GRAPH_POW:
    *activation = (struct mafat_activating){MAFAT_POW, number, 0};
    return !reversed;
  default: return false;
  }
}

/* True if the result is larger than the map. */
static bool grows(const struct mafat_value *map, const struct mafat_value *c)
{
  for (int i = 0; i < map->view.n_dims; i++)
    if (c->view.dims[i] > map->view.dims[i]) return true;
  return false;
}

/* Combines a map with a constant by an activation, or by scales and biases, so that the constant
 * does not become a map. *done false: that is not possible, and nothing was added. */
static int combine_constant(struct mafat_graph *g, struct mafat_value *out,
                            enum mafat_graph_binary op, const struct mafat_value *map,
                            const struct mafat_value *c, bool reversed, bool *done)
{
  struct mafat_activating activation;
  int axes[MAFAT_VIEW_DIMS], code = MAFAT_OK;
  *done = false;
  if (grows(map, c) || mafat_value_is_integer(g, map)) return MAFAT_OK;
  if (mafat_value_elements(c) == 1 && !is_affine(op, reversed)) {
    double number;
    if ((code = mafat_value_number(g, c, &number))) return code;
    *done = find_activation(op, reversed, (float)number, &activation);
    return *done ? mafat_graph_activate(g, out, map, activation) : MAFAT_OK;
  }
  mafat_graph_axes(map, axes);
  if (!is_affine(op, reversed) || !is_by_channel(map, c, axes)) return MAFAT_OK;
  *done = true;
  struct mafat_value laid = {.maker = -1};
  if (mafat_value_elements(c) == 1) return combine_affine(g, out, op, map, c, reversed);
  code = mafat_graph_lay(g, &laid, map, axes);
  if (code == MAFAT_OK) code = combine_affine(g, out, op, &laid, c, reversed);
  mafat_value_clear(&laid);
  return code;
}

/* ---- two maps ---- */

/* Parameters of the layer that computes an operator. */
struct blending {
  enum mafat_blend blend;
  float alpha, beta;
};

/* reversed: the first operand of the layer is the second one of the operator. */
static struct blending parameters_of(enum mafat_graph_binary op, bool reversed)
{
  switch (op) {
  case MAFAT_GRAPH_SUB:
    return (struct blending){MAFAT_BLEND_ADD, reversed ? -1 : 1, reversed ? 1 : -1};
  case MAFAT_GRAPH_MUL: return (struct blending){MAFAT_BLEND_MUL, 1, 1};
  case MAFAT_GRAPH_DIV:
    return (struct blending){reversed ? MAFAT_BLEND_RDIV : MAFAT_BLEND_DIV, 1, 1};
  case MAFAT_GRAPH_MAX: return (struct blending){MAFAT_BLEND_MAX, 1, 1};
  case MAFAT_GRAPH_MIN: return (struct blending){MAFAT_BLEND_MIN, 1, 1};
  case MAFAT_GRAPH_POW:
    return (struct blending){reversed ? MAFAT_BLEND_RPOW : MAFAT_BLEND_POW, 1, 1};
  case MAFAT_GRAPH_PRELU: return (struct blending){MAFAT_BLEND_PRELU, 1, 1};
  default: return (struct blending){MAFAT_BLEND_ADD, 1, 1};
  }
}

/* True if map z can be broadcast to x: each axis is equal or 1. */
static bool can_broadcast(const struct mafat_shape *x, const struct mafat_shape *z)
{
  return (z->h == x->h || z->h == 1) && (z->w == x->w || z->w == 1) && (z->c == x->c || z->c == 1);
}

static bool is_same(const struct mafat_shape *x, const struct mafat_shape *z)
{
  return x->h == z->h && x->w == z->w && x->c == z->c;
}

static int blend(struct mafat_graph *g, struct mafat_value *out, struct blending how,
                 const struct mafat_value *x, const struct mafat_value *z)
{
  struct mafat_layer *l = mafat_graph_begin(g, MAFAT_SHORTCUT, x);
  int code = l ? mafat_graph_add_operand(g, l, z) : MAFAT_EUNSUPPORTED;
  if (code) return code;
  l->blend = how.blend;
  l->alpha = how.alpha;
  l->beta = how.beta;
  l->operands[1].broadcast = !is_same(&x->shape, &z->shape);
  code = mafat_graph_end_layer(g, l);
  return code ? code : mafat_graph_output(g, out, l, &x->view);
}

/* Combines map x, which has all dimensions of the result, with z, which may be broadcast. */
static int combine_laid(struct mafat_graph *g, struct mafat_value *out, struct blending how,
                        const struct mafat_value *x, const struct mafat_value *z)
{
  struct mafat_value a = {.maker = -1}, b = {.maker = -1}, whole = {.maker = -1};
  int axes[MAFAT_VIEW_DIMS];
  mafat_graph_axes(x, axes);
  int code = mafat_graph_lay(g, &a, x, axes);
  if (code == MAFAT_OK)
    code = z->form == MAFAT_VALUE_MAP ? mafat_graph_lay(g, &b, z, axes)
                                      : mafat_graph_constant_map(g, &b, z, axes);
  if (code == MAFAT_OK && !can_broadcast(&a.shape, &b.shape)) {
    code = mafat_graph_expand(g, &whole, &b, a.view.dims); /* may choose other axes */
    mafat_value_clear(&b);
    if (code == MAFAT_OK) code = mafat_graph_lay(g, &b, &whole, axes);
    mafat_value_clear(&whole);
  }
  if (code == MAFAT_OK) code = blend(g, out, how, &a, &b);
  mafat_value_clear(&a);
  mafat_value_clear(&b);
  return code;
}

static bool has_dims(const struct mafat_value *v, const long long *dims)
{
  return memcmp(v->view.dims, dims, (size_t)v->view.n_dims * sizeof *dims) == 0;
}

static int combine_maps(struct mafat_graph *g, struct mafat_value *out, enum mafat_graph_binary op,
                        const struct mafat_value *a, const struct mafat_value *b,
                        const long long *dims)
{
  struct mafat_value whole = {.maker = -1};
  bool map_a = a->form == MAFAT_VALUE_MAP, map_b = b->form == MAFAT_VALUE_MAP;
  if (map_a && map_b && mafat_view_equals(&a->view, &b->view) && is_same(&a->shape, &b->shape))
    return blend(g, out, parameters_of(op, false), a, b);
  if (map_a && has_dims(a, dims)) return combine_laid(g, out, parameters_of(op, false), a, b);
  if (map_b && has_dims(b, dims) && op != MAFAT_GRAPH_PRELU)
    return combine_laid(g, out, parameters_of(op, true), b, a);
  int code = map_a ? mafat_graph_expand(g, &whole, a, dims) : MAFAT_OK;
  if (!map_a) {
    struct mafat_value map = {.maker = -1};
    int axes[MAFAT_VIEW_DIMS];
    mafat_graph_axes(b, axes);
    code = mafat_graph_constant_map(g, &map, a, axes);
    if (code == MAFAT_OK) code = mafat_graph_expand(g, &whole, &map, dims);
    mafat_value_clear(&map);
  }
  if (code == MAFAT_OK) code = combine_laid(g, out, parameters_of(op, false), &whole, b);
  mafat_value_clear(&whole);
  return code;
}

/* ---- dimensions ---- */

/* Adds leading dimensions of size 1, up to n_dims. */
static int lengthen(struct mafat_graph *g, struct mafat_value *out, const struct mafat_value *v,
                    int n_dims)
{
  long long dims[MAFAT_VIEW_DIMS];
  int more = n_dims - v->view.n_dims;
  for (int i = 0; i < n_dims; i++) dims[i] = i < more ? 1 : v->view.dims[i - more];
  return mafat_graph_reshape(g, out, v, n_dims, dims);
}

/* Finds the dimensions of the result of a and b, which have the same number of dimensions. */
static int find_dims(struct mafat_graph *g, const struct mafat_value *a,
                     const struct mafat_value *b, long long *dims)
{
  for (int i = 0; i < a->view.n_dims; i++) {
    long long x = a->view.dims[i], y = b->view.dims[i];
    if (x != y && x != 1 && y != 1)
      return mafat_graph_fail(g, MAFAT_EFORMAT,
                              "dimension %d: one input has %lld elements, the other %lld", i, x,
                              y);
    dims[i] = x == 1 ? y : x;
  }
  return MAFAT_OK;
}

/* Combines two values with the same number of dimensions. */
static int combine_equal(struct mafat_graph *g, struct mafat_value *out, enum mafat_graph_binary op,
                         const struct mafat_value *a, const struct mafat_value *b)
{
  long long dims[MAFAT_VIEW_DIMS] = {0};
  bool constant_a = mafat_value_is_constant(a), constant_b = mafat_value_is_constant(b),
       done = false;
  int code = find_dims(g, a, b, dims);
  if (code) return code;
  if (constant_a && constant_b) return combine_numbers(g, out, op, a, b, dims);
  if (constant_a || constant_b)
    code = combine_constant(g, out, op, constant_a ? b : a, constant_a ? a : b, constant_a, &done);
  return code || done ? code : combine_maps(g, out, op, a, b, dims);
}

int mafat_graph_combine(struct mafat_graph *g, struct mafat_value *out, enum mafat_graph_binary op,
                        const struct mafat_value *a, const struct mafat_value *b)
{
  int n_dims = a->view.n_dims > b->view.n_dims ? a->view.n_dims : b->view.n_dims;
  if (a->view.n_dims == b->view.n_dims) return combine_equal(g, out, op, a, b);
  struct mafat_value longer = {.maker = -1};
  bool first = a->view.n_dims < n_dims;
  int code = lengthen(g, &longer, first ? a : b, n_dims);
  longer.readers = (first ? a : b)->readers;
  if (code == MAFAT_OK) code = combine_equal(g, out, op, first ? &longer : a, first ? b : &longer);
  mafat_value_clear(&longer);
  return code;
}

int mafat_graph_combine_number(struct mafat_graph *g, struct mafat_value *out,
                               enum mafat_graph_binary op, const struct mafat_value *a, double b)
{
  struct mafat_value number = {.maker = -1};
  int code = mafat_value_make_numbers(g, &number, 0, NULL);
  if (code == MAFAT_OK) *number.numbers = b;
  if (code == MAFAT_OK) code = mafat_graph_combine(g, out, op, a, &number);
  mafat_value_clear(&number);
  return code;
}
