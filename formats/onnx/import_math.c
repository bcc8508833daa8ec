/* Imports elementwise ONNX operators of one and of several values. Called by formats/onnx
 * (import.c, computing.c, integers.c, import_dynamic.c) through the table of operators. Adds layers
 * to the graph, or computes constants. */
#include "formats/onnx/importer.h"

/* ---- one operand ---- */

enum unary {
  RELU,
  LEAKY_RELU,
  SIGMOID,
  TANH,
  ELU,
  SELU,
  CELU,
  HARD_SIGMOID,
  HARD_SWISH,
  SOFTPLUS,
  SOFTSIGN,
  THRESHOLDED,
  MISH,
  GELU,
  EXP,
  LOG,
  SQRT,
  RECIPROCAL,
  ERF,
  ABS,
  NEG,
  CEIL,
  FLOOR,
  ROUND,
  SIGN,
  SIN,
  COS
};

/* The activation of each unary operator, and the names and defaults of its attributes. */
static const struct unary_operator {
  enum mafat_activation kind;
  const char *names[2];
  float values[2];
} unary_operators[] = {
    [RELU] = {MAFAT_RELU, {NULL, NULL}, {0, 0}},
    [SIGMOID] = {MAFAT_LOGISTIC, {NULL, NULL}, {0, 0}},
    [TANH] = {MAFAT_EXACT_TANH, {NULL, NULL}, {0, 0}},
    [ELU] = {MAFAT_SCALED_ELU, {"alpha", NULL}, {1, 1}},
    [SELU] = {MAFAT_SCALED_ELU,
              {"alpha", "gamma"},
              {1.67326319217681884765625f, 1.05070102214813232421875f}},
    [CELU] = {MAFAT_CELU, {"alpha", NULL}, {1, 0}},
    [HARD_SIGMOID] = {MAFAT_HARD_SIGMOID, {"alpha", "beta"}, {.2f, .5f}},
    [HARD_SWISH] = {MAFAT_HARD_SWISH, {NULL, NULL}, {0, 0}},
    [SOFTPLUS] = {MAFAT_SOFTPLUS, {NULL, NULL}, {0, 0}},
    [SOFTSIGN] = {MAFAT_SOFTSIGN, {NULL, NULL}, {0, 0}},
    [THRESHOLDED] = {MAFAT_THRESHOLDED, {"alpha", NULL}, {1, 0}},
    [MISH] = {MAFAT_MISH, {NULL, NULL}, {0, 0}},
    [GELU] = {MAFAT_GELU, {NULL, NULL}, {0, 0}},
    [EXP] = {MAFAT_EXP, {NULL, NULL}, {0, 0}},
    [LOG] = {MAFAT_LOG, {NULL, NULL}, {0, 0}},
    [SQRT] = {MAFAT_SQRT, {NULL, NULL}, {0, 0}},
    [RECIPROCAL] = {MAFAT_RECIPROCAL, {NULL, NULL}, {0, 0}},
    [ERF] = {MAFAT_ERF, {NULL, NULL}, {0, 0}},
    [ABS] = {MAFAT_ABS, {NULL, NULL}, {0, 0}},
    [NEG] = {MAFAT_NEG, {NULL, NULL}, {0, 0}},
    [CEIL] = {MAFAT_CEIL, {NULL, NULL}, {0, 0}},
    [FLOOR] = {MAFAT_FLOOR, {NULL, NULL}, {0, 0}},
    [ROUND] = {MAFAT_ROUND, {NULL, NULL}, {0, 0}},
    [SIGN] = {MAFAT_SIGN, {NULL, NULL}, {0, 0}},
    [SIN] = {MAFAT_SIN, {NULL, NULL}, {0, 0}},
    [COS] = {MAFAT_COS, {NULL, NULL}, {0, 0}},
};

/* Applies an operator to a number. False: the operator is not supported on constants; only those
 * that shape arithmetic needs are. */
static bool apply(enum unary which, double *x)
{
  switch (which) {
  case EXP: *x = exp(*x); return true;
  case LOG: *x = log(*x); return true;
  case SQRT: *x = sqrt(*x); return true;
  case RECIPROCAL: *x = 1 / *x; return true;
  case ABS: *x = fabs(*x); return true;
  case NEG: *x = -*x; return true;
  case CEIL: *x = ceil(*x); return true;
  case FLOOR: *x = floor(*x); return true;
  case ROUND: *x = rint(*x); return true;
  default: return false;
  }
}

static int activate_numbers(struct mafat_onnx_importer *i, enum unary which)
{
  const struct mafat_value *in = mafat_onnx_in(i, 0);
  struct mafat_value *out = mafat_onnx_out(i, 0);
  double *numbers, test = 1;
  if (!apply(which, &test))
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "expected a tensor computed at run time, found a constant");
  int code = mafat_value_numbers(i->g, in, 1 << 22, &numbers);
  if (code == MAFAT_OK) code = mafat_value_make_numbers(i->g, out, in->view.n_dims, in->view.dims);
  for (long long k = 0; code == MAFAT_OK && k < mafat_value_elements(in); k++) {
    out->numbers[k] = numbers[k];
    apply(which, &out->numbers[k]);
  }
  free(numbers);
  return code;
}

/* True if exactly one node makes the value, and has not been imported. */
static bool can_be_made(const struct mafat_onnx_importer *i, const struct mafat_onnx_value *v)
{
  return v && v->makers == 1 && !v->initializer && i->values[v->index].form == MAFAT_VALUE_NONE;
}

/* Finds the Mul of x * Sigmoid(x), where the current node is the Sigmoid and x has no third reader.
 * Both become one activation. The Mul is skipped later, because its output is already made. */
static const struct mafat_onnx_node *product_of(const struct mafat_onnx_importer *i)
{
  const struct mafat_onnx_value *x = i->node->inputs[0], *y = i->node->outputs[0];
  int index = (int)(i->node - i->model->nodes);
  if (i->values[x->index].readers != 2 || i->values[y->index].readers != 1) return NULL;
  for (int k = index + 1; k < i->model->n_nodes && k < index + 8; k++) {
    const struct mafat_onnx_node *n = &i->model->nodes[k];
    if (strcmp(n->op_type, "Mul") != 0 || n->n_inputs != 2 || n->n_outputs != 1 || *n->domain ||
        !can_be_made(i, n->outputs[0]))
      continue;
    if ((n->inputs[0] == x && n->inputs[1] == y) || (n->inputs[0] == y && n->inputs[1] == x))
      return n;
  }
  return NULL;
}

static int swish(struct mafat_onnx_importer *i, const struct mafat_onnx_node *product,
                 enum mafat_activation kind)
{
  struct mafat_value *in = &i->values[i->node->inputs[0]->index],
                     *out = &i->values[product->outputs[0]->index];
  int readers = out->readers, in_readers = in->readers;
  in->readers = 1;
  int code = mafat_graph_activate(i->g, out, in, mafat_activating(kind));
  in->readers = in_readers;
  out->readers = readers;
  return code;
}

static int import_unary(struct mafat_onnx_importer *i)
{
  enum unary which = (enum unary)mafat_onnx_variant(i);
  const struct unary_operator *o = &unary_operators[which];
  struct mafat_activating activation = {o->kind, o->values[0], o->values[1]};
  const struct mafat_value *in = mafat_onnx_in(i, 0);
  const char *approximate;
  int code = MAFAT_OK;
  if (mafat_value_is_constant(in)) return activate_numbers(i, which);
  if (in->form != MAFAT_VALUE_MAP)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "input 0 is left out");
  if (o->names[0]) code = mafat_onnx_float(i, o->names[0], o->values[0], &activation.a);
  if (code == MAFAT_OK && o->names[1])
    code = mafat_onnx_float(i, o->names[1], o->values[1], &activation.b);
  if (code == MAFAT_OK && which == GELU) {
    code = mafat_onnx_string(i, "approximate", "none", &approximate);
    if (code == MAFAT_OK && strcmp(approximate, "tanh") == 0) activation.kind = MAFAT_GELU_TANH;
    else if (code == MAFAT_OK && strcmp(approximate, "none") != 0)
      code = mafat_graph_fail(i->g, MAFAT_EFORMAT,
                              "attribute approximate: expected none or tanh, found '%.40s'",
                              approximate);
  }
  if (code) return code;
  const struct mafat_onnx_node *product = which == SIGMOID ? product_of(i) : NULL;
  return product ? swish(i, product, MAFAT_SWISH)
                 : mafat_graph_activate(i->g, mafat_onnx_out(i, 0), in, activation);
}

static int import_leaky(struct mafat_onnx_importer *i)
{
  float slope;
  int code = mafat_onnx_float(i, "alpha", .01f, &slope);
  if (code == MAFAT_OK && mafat_onnx_in(i, 0)->form != MAFAT_VALUE_MAP)
    code = mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "expected a tensor computed at run time");
  return code ? code
              : mafat_graph_activate(i->g, mafat_onnx_out(i, 0), mafat_onnx_in(i, 0),
                                     mafat_activating_sloped(slope));
}

/* Reads a bound from input `index` or, in older opsets, from an attribute. */
static int read_bound(struct mafat_onnx_importer *i, const char *name, int index, float otherwise,
                      float *value)
{
  double number = 0;
  if (!mafat_onnx_has(i, index)) return mafat_onnx_float(i, name, otherwise, value);
  int code = mafat_value_number(i->g, mafat_onnx_in(i, index), &number);
  *value = (float)number;
  return code;
}

int mafat_onnx_bounds(struct mafat_onnx_importer *i, float *least, float *most)
{
  int code = read_bound(i, "min", 1, -INFINITY, least);
  return code ? code : read_bound(i, "max", 2, INFINITY, most);
}

static int import_clip(struct mafat_onnx_importer *i)
{
  struct mafat_activating clip = {.kind = MAFAT_CLIP};
  const struct mafat_value *in = mafat_onnx_in(i, 0);
  int code = mafat_onnx_bounds(i, &clip.a, &clip.b);
  if (code == MAFAT_OK && in->form != MAFAT_VALUE_MAP)
    code = mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "expected a tensor computed at run time");
  if (code) return code;
  if (clip.a == 0 && clip.b == 6) clip.kind = MAFAT_RELU6;
  return mafat_graph_activate(i->g, mafat_onnx_out(i, 0), in, clip);
}

/* ---- several operands ---- */

/* Aligns the second operand for opsets before 7: its dimensions start at `axis` of the first.
 * Slopes of PRelu are per channel. */
static int align_old(struct mafat_onnx_importer *i, const struct mafat_value *a,
                     const struct mafat_value *b, struct mafat_value *own)
{
  long long axis, dims[MAFAT_VIEW_DIMS];
  bool of_channels = strcmp(i->node->op_type, "PRelu") == 0; /* slopes per channel */
  int first,
      code = mafat_onnx_int(i, "axis", of_channels ? 1 : a->view.n_dims - b->view.n_dims, &axis);
  if (code == MAFAT_OK) code = mafat_onnx_axis(i, axis, a->view.n_dims + 1, &first);
  if (code) return code;
  for (int k = 0; k < a->view.n_dims; k++)
    dims[k] = k >= first && k - first < b->view.n_dims ? b->view.dims[k - first] : 1;
  return mafat_graph_reshape(i->g, own, b, a->view.n_dims, dims);
}

/* Truncates constant quotients and powers of integers towards 0. */
static int cut_fractions(struct mafat_onnx_importer *i, struct mafat_value *out)
{
  bool divides = mafat_onnx_variant(i) == MAFAT_GRAPH_DIV;
  /* powers of integers that are computed at run time are assumed to have no fractions */
  if (out->form != MAFAT_VALUE_NUMBERS && !divides) return MAFAT_OK;
  if (out->form != MAFAT_VALUE_NUMBERS)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "divides integers computed at run time, which is not run");
  for (long long k = 0; k < mafat_value_elements(out); k++)
    out->numbers[k] = trunc(out->numbers[k]);
  return MAFAT_OK;
}

static int import_binary(struct mafat_onnx_importer *i)
{
  enum mafat_graph_binary op = (enum mafat_graph_binary)mafat_onnx_variant(i);
  const struct mafat_value *a = mafat_onnx_in(i, 0), *b = mafat_onnx_in(i, 1);
  struct mafat_value own = {.maker = -1}, *out = mafat_onnx_out(i, 0);
  if (a->form == MAFAT_VALUE_NONE || b->form == MAFAT_VALUE_NONE)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "expected two inputs");
  bool folded = false;
  int code =
      op == MAFAT_GRAPH_MUL || op == MAFAT_GRAPH_DIV ? mafat_onnx_fold_gelu(i, &folded) : MAFAT_OK;
  if (code || folded) return code;
  if (i->opset < 7 && a->view.n_dims > b->view.n_dims) {
    code = align_old(i, a, b, &own);
    b = &own;
  }
  if (code == MAFAT_OK) code = mafat_graph_combine(i->g, out, op, a, b);
  bool cuts = mafat_onnx_is_whole(i, 0) &&
              (op == MAFAT_GRAPH_POW || (op == MAFAT_GRAPH_DIV && mafat_onnx_is_whole(i, 1)));
  if (code == MAFAT_OK && cuts) code = cut_fractions(i, out);
  mafat_value_clear(&own);
  return code;
}

/* Combines the operands one after the other. */
static int import_many(struct mafat_onnx_importer *i)
{
  enum mafat_graph_binary op = (enum mafat_graph_binary)mafat_onnx_variant(i);
  struct mafat_value sum = {.maker = -1}, next = {.maker = -1};
  int n = i->node->n_inputs, code = n < 1 ? mafat_graph_fail(i->g, MAFAT_EFORMAT, "has no input")
                                          : mafat_value_copy(i->g, &sum, mafat_onnx_in(i, 0));
  for (int k = 1; k < n && code == MAFAT_OK; k++) {
    sum.readers = k == 1 ? mafat_onnx_in(i, 0)->readers : 0;
    code = mafat_graph_combine(i->g, &next, op, &sum, mafat_onnx_in(i, k));
    mafat_value_clear(&sum);
    sum = next;
    next = (struct mafat_value){.maker = -1};
  }
  if (code == MAFAT_OK && strcmp(i->node->op_type, "Mean") == 0 && n > 1) {
    code = mafat_graph_combine_number(i->g, &next, MAFAT_GRAPH_DIV, &sum, n);
    mafat_value_clear(&sum);
    sum = next;
  }
  if (code == MAFAT_OK) *mafat_onnx_out(i, 0) = sum;
  else mafat_value_clear(&sum);
  return code;
}

const struct mafat_onnx_operator mafat_onnx_math_operators[] = {
    {"Relu", import_unary, RELU},
    {"Sigmoid", import_unary, SIGMOID},
    {"Tanh", import_unary, TANH},
    {"Elu", import_unary, ELU},
    {"Selu", import_unary, SELU},
    {"Celu", import_unary, CELU},
    {"HardSigmoid", import_unary, HARD_SIGMOID},
    {"HardSwish", import_unary, HARD_SWISH},
    {"Softplus", import_unary, SOFTPLUS},
    {"Softsign", import_unary, SOFTSIGN},
    {"ThresholdedRelu", import_unary, THRESHOLDED},
    {"Mish", import_unary, MISH},
    {"Gelu", import_unary, GELU},
    {"Exp", import_unary, EXP},
    {"Log", import_unary, LOG},
    {"Sqrt", import_unary, SQRT},
    {"Reciprocal", import_unary, RECIPROCAL},
    {"Erf", import_unary, ERF},
    {"Abs", import_unary, ABS},
    {"Neg", import_unary, NEG},
    {"Ceil", import_unary, CEIL},
    {"Floor", import_unary, FLOOR},
    {"Round", import_unary, ROUND},
    {"Sign", import_unary, SIGN},
    {"Sin", import_unary, SIN},
    {"Cos", import_unary, COS},
    {"LeakyRelu", import_leaky, 0},
    {"Clip", import_clip, 0},
    {"Add", import_binary, MAFAT_GRAPH_ADD},
    {"Sub", import_binary, MAFAT_GRAPH_SUB},
    {"Mul", import_binary, MAFAT_GRAPH_MUL},
    {"Div", import_binary, MAFAT_GRAPH_DIV},
    {"Pow", import_binary, MAFAT_GRAPH_POW},
    {"PRelu", import_binary, MAFAT_GRAPH_PRELU},
    {"Max", import_many, MAFAT_GRAPH_MAX},
    {"Min", import_many, MAFAT_GRAPH_MIN},
    {"Sum", import_many, MAFAT_GRAPH_ADD},
    {"Mean", import_many, MAFAT_GRAPH_ADD},
    {NULL, NULL, 0}};
