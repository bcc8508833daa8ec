/* Operators among whole numbers. A DequantizeLinear makes no floats: its output is the same map, which stands for them, until an
 * operator asks for floats. One that only moves elements passes them on; one that computes, between DequantizeLinear and
 * QuantizeLinear, does so with whole numbers, and with all of it one layer is made; of all others the floats are made, which is
 * what ONNX says of each of them. */
#include "formats/graph/places.h"
#include "formats/graph/shape.h"
#include "formats/onnx/importer.h"

enum { MOST_OPERANDS = 3 };

/* ---- what an operator reads ---- */

static bool is_map(const struct mafat_onnx_importer *i, const struct mafat_value *v)
{
  return mafat_value_is_integer(i->g, v);
}

/* Of 8 bits. */
static bool is_constant(const struct mafat_value *v)
{
  return mafat_value_is_quantized(v) && v->place.type != MAFAT_I32;
}

static bool stands(const struct mafat_onnx_importer *i, int index)
{
  if (i->operands || !mafat_onnx_has(i, index)) return true;
  return i->stands[i->node->inputs[index]->index] || !is_map(i, mafat_onnx_in(i, index));
}

static float scale_of(const struct mafat_onnx_importer *i, const struct mafat_value *v)
{
  return mafat_value_is_quantized(v) ? v->scales.scale : mafat_value_meaning(i->g, v).numbers.scale;
}

/* Can sums at that scale come to the output's? */
static bool fits(float in, const struct mafat_meaning *to)
{
  return mafat_multiplier_can((double)(in / to->numbers.scale));
}

/* ---- operators that compute ---- */

/* Of so many filters along that dimension. */
static bool are_weights(const struct mafat_onnx_importer *i, const struct mafat_value *w, int n_dims, int dimension,
                        const struct mafat_meaning *to)
{
  if (!is_constant(w) || (n_dims && w->view.n_dims != n_dims) || !is_map(i, mafat_onnx_in(i, 0))) return false;
  if (w->scales.list.n > 1 && w->scales.dimension != dimension) return false;
  return fits(scale_of(i, mafat_onnx_in(i, 0)) * w->scales.scale, to);
}

static bool takes_conv(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  return are_weights(i, mafat_onnx_in(i, 1), 0, 0, to);
}

static bool takes_matmul(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  return are_weights(i, mafat_onnx_in(i, 1), 2, 1, to);
}

static bool takes_gemm(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  long long trans_a, trans_b;
  float alpha, beta;
  int code = mafat_onnx_int(i, "transA", 0, &trans_a);
  if (code == MAFAT_OK) code = mafat_onnx_int(i, "transB", 0, &trans_b);
  if (code == MAFAT_OK) code = mafat_onnx_float(i, "alpha", 1, &alpha);
  if (code == MAFAT_OK) code = mafat_onnx_float(i, "beta", 1, &beta);
  return code == MAFAT_OK && !trans_a && alpha == 1 && beta == 1 && are_weights(i, mafat_onnx_in(i, 1), 2, !trans_b, to);
}

/* Maps and constants of one scale, at least one map. */
static bool are_operands(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  bool any = false;
  for (int k = 0; k < mafat_onnx_n_inputs(i); k++) {
    const struct mafat_value *v = mafat_onnx_in(i, k);
    bool map = is_map(i, v);
    if (!map && !(is_constant(v) && v->scales.list.n == 1)) return false;
    if (!fits(scale_of(i, v), to)) return false;
    any |= map;
  }
  return any;
}

static bool takes_add(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  return mafat_onnx_n_inputs(i) == 2 && are_operands(i, to);
}

static bool takes_mul(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  return takes_add(i, to) && fits(scale_of(i, mafat_onnx_in(i, 0)) * scale_of(i, mafat_onnx_in(i, 1)), to);
}

/* Slopes are constants, which one side has alone. */
static bool takes_prelu(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  return takes_mul(i, to) && is_map(i, mafat_onnx_in(i, 0)) && is_constant(mafat_onnx_in(i, 1));
}

static bool takes_map(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  return is_map(i, mafat_onnx_in(i, 0)) && fits(scale_of(i, mafat_onnx_in(i, 0)), to);
}

/* Means of what lies inside the map. */
static bool takes_average(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  long long count;
  return mafat_onnx_int(i, "count_include_pad", 0, &count) == MAFAT_OK && !count && takes_map(i, to);
}

/* Do these dimensions lie apart from the others? Some are more than 1. */
static bool lie_apart(const struct mafat_value *in, const bool *over)
{
  int axes[MAFAT_VIEW_DIMS];
  bool any = false;
  mafat_graph_axes(in, axes);
  for (int a = 0; a < in->view.n_dims; a++)
    for (int b = 0; over[a] && in->view.dims[a] > 1 && b < in->view.n_dims; b++) {
      any = true;
      if (!over[b] && in->view.dims[b] > 1 && axes[b] == axes[a]) return false;
    }
  return any;
}

static bool takes_global(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  const struct mafat_value *in = mafat_onnx_in(i, 0);
  bool over[MAFAT_VIEW_DIMS] = {false};
  long long channels_last;
  if (mafat_onnx_int(i, "channels_last", 0, &channels_last) || channels_last || !takes_map(i, to)) return false;
  for (int k = 2; k < in->view.n_dims; k++) over[k] = true;
  return lie_apart(in, over);
}

static bool takes_mean(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  const struct mafat_value *in = mafat_onnx_in(i, 0);
  bool over[MAFAT_VIEW_DIMS] = {false};
  long long axes[MAFAT_VIEW_DIMS];
  int n;
  if (!takes_map(i, to) || mafat_onnx_list(i, "axes", 1, MAFAT_VIEW_DIMS, axes, &n) != MAFAT_OK) return false;
  for (int k = 0; k < n; k++) {
    long long dim = axes[k] < 0 ? axes[k] + in->view.n_dims : axes[k];
    if (dim < 0 || dim >= in->view.n_dims) return false;
    over[dim] = true;
  }
  return lie_apart(in, over);
}

/* How many dimensions are joined does not matter. */
static bool takes_softmax(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  (void)to;
  return is_map(i, mafat_onnx_in(i, 0));
}

static const struct computing {
  const char *op_type;
  bool (*takes)(const struct mafat_onnx_importer *i, const struct mafat_meaning *to);
} computing[] = {
    {"Conv", takes_conv}, {"MatMul", takes_matmul}, {"Gemm", takes_gemm}, {"Add", takes_add}, {"Sub", takes_add},
    {"Mul", takes_mul}, {"PRelu", takes_prelu}, {"Concat", are_operands}, {"AveragePool", takes_average},
    {"GlobalAveragePool", takes_global}, {"ReduceMean", takes_mean}, {"Softmax", takes_softmax}, {"Relu", takes_map},
    {"Clip", takes_map}, {"LeakyRelu", takes_map}, {"Sigmoid", takes_map}, {"Tanh", takes_map}, {"Elu", takes_map},
    {"Selu", takes_map}, {"Celu", takes_map}, {"HardSigmoid", takes_map}, {"HardSwish", takes_map},
    {"Softplus", takes_map}, {"Softsign", takes_map}, {"ThresholdedRelu", takes_map}, {"Mish", takes_map},
    {"Gelu", takes_map}, {"Exp", takes_map}, {"Erf", takes_map}, {"Abs", takes_map}, {"Neg", takes_map},
};

static bool takes(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  bool all = true;
  for (int k = 0; k < mafat_onnx_n_inputs(i); k++) all = all && stands(i, k);
  for (size_t k = 0; k < sizeof computing / sizeof *computing; k++)
    if (strcmp(computing[k].op_type, i->row->op_type) == 0) return all && computing[k].takes(i, to);
  return false;
}

/* ---- biases of int32, at the scale of what is summed ---- */

static bool has_bias(const struct mafat_onnx_importer *i)
{
  return (strcmp(i->row->op_type, "Conv") == 0 || strcmp(i->row->op_type, "Gemm") == 0) && mafat_onnx_has(i, 2);
}

static int read_scales(const struct mafat_onnx_importer *i, const struct mafat_value *v, long long n, double **out)
{
  *out = malloc((size_t)n * sizeof **out);
  if (!*out) return mafat_graph_fail(i->g, MAFAT_ENOMEM, "out of memory");
  int code = i->g->numbers.read(i->g->numbers.context, &v->scales.list, 0, v->scales.list.n, *out, i->g->d);
  for (long long k = (long long)v->scales.list.n; code == MAFAT_OK && k < n; k++) (*out)[k] = **out;
  return code;
}

/* Of the sums of each filter: the input's scale times the weights'. */
static int sum_scales(const struct mafat_onnx_importer *i, long long n, double **out)
{
  float in = scale_of(i, mafat_onnx_in(i, 0));
  int code = read_scales(i, mafat_onnx_in(i, 1), n, out);
  for (long long k = 0; code == MAFAT_OK && k < n; k++) (*out)[k] = (double)(in * (float)(*out)[k]);
  return code;
}

/* Have they the sums' scales, but for rounding? */
static bool are_alike(const double *scales, const double *sums, long long n)
{
  for (long long k = 0; k < n; k++)
    if (!(fabs(scales[k] - sums[k]) <= 0x1p-20 * sums[k])) return false;
  return true;
}

/* Reals at the sums' scales. *fit: int32 holds them. */
static int round_biases(const struct mafat_onnx_importer *i, const struct mafat_value *bias, const double *sums, struct mafat_value *out,
                        bool *fit)
{
  struct mafat_value reals = {.maker = -1};
  double *numbers = NULL;
  int code = mafat_value_is_quantized(bias) ? mafat_onnx_dequantized(i, &reals, bias) : mafat_value_copy(i->g, &reals, bias);
  long long n = mafat_value_elements(bias);
  if (code == MAFAT_OK) code = mafat_value_numbers(i->g, &reals, MAFAT_MAX_EXTENT, &numbers);
  for (long long k = 0; code == MAFAT_OK && k < n; k++) {
    numbers[k] = rint(numbers[k] / sums[k]);
    *fit = *fit && fabs(numbers[k]) < 0x1p31;
  }
  if (code == MAFAT_OK && *fit) {
    *out = (struct mafat_value){.form = MAFAT_VALUE_PLACE, .view = reals.view, .maker = -1};
    mafat_view_linear(&out->view, bias->view.n_dims, bias->view.dims, MAFAT_AXIS_NUMBERS);
    code = mafat_graph_keep_whole(i->g, &out->place, numbers, (size_t)n, MAFAT_I32);
  }
  mafat_value_clear(&reals);
  free(numbers);
  return code;
}

/* Input 2 as int32. *fit false: it cannot be so. */
static int take_bias(const struct mafat_onnx_importer *i, struct mafat_value *out, bool *fit)
{
  const struct mafat_value *bias = mafat_onnx_in(i, 2), *weights = mafat_onnx_in(i, 1);
  bool whole = bias->form == MAFAT_VALUE_PLACE && bias->place.type == MAFAT_I32;
  long long n = mafat_value_elements(bias);
  double *sums = NULL, *scales = NULL;
  *out = (struct mafat_value){.maker = -1};
  *fit = mafat_value_is_constant(bias) && n > 0 && (weights->scales.list.n == 1 || n == (long long)weights->scales.list.n);
  if (!*fit) return MAFAT_OK;
  if (whole && !mafat_value_is_quantized(bias)) return mafat_value_copy(i->g, out, bias);
  int code = sum_scales(i, n, &sums);
  if (code == MAFAT_OK && whole) code = read_scales(i, bias, n, &scales);
  if (code == MAFAT_OK && whole && are_alike(scales, sums, n)) {
    code = mafat_value_copy(i->g, out, bias);
    out->scales = (struct mafat_scales){.dimension = 0};
  } else if (code == MAFAT_OK) {
    code = round_biases(i, bias, sums, out, fit);
  }
  free(sums);
  free(scales);
  return code;
}

/* ---- by whole numbers ---- */

static int run_row(struct mafat_onnx_importer *i, struct mafat_value *out, const struct mafat_meaning *to)
{
  struct mafat_meaning before = i->g->makes;
  struct mafat_value *target = i->target;
  i->g->makes = *to;
  i->target = out;
  int code = i->row->import(i);
  i->target = target;
  i->g->makes = before;
  return code;
}

/* With operands of its own. */
static int run_with(struct mafat_onnx_importer *i, const struct mafat_value *const *list, int n, struct mafat_value *out,
                    const struct mafat_meaning *to)
{
  const struct mafat_value *const *operands = i->operands;
  int n_operands = i->n_operands;
  i->operands = list;
  i->n_operands = n;
  int code = run_row(i, out, to);
  i->operands = operands;
  i->n_operands = n_operands;
  return code;
}

static int run_with_bias(struct mafat_onnx_importer *i, struct mafat_value *out, const struct mafat_meaning *to, bool *done)
{
  struct mafat_value bias;
  int code = take_bias(i, &bias, done);
  const struct mafat_value *const list[MOST_OPERANDS] = {mafat_onnx_in(i, 0), mafat_onnx_in(i, 1), &bias};
  if (code == MAFAT_OK && *done) code = run_with(i, list, MOST_OPERANDS, out, to);
  mafat_value_clear(&bias);
  return code;
}

/* What is joined has the output's scale. */
static int join(struct mafat_onnx_importer *i, struct mafat_value *out, const struct mafat_meaning *to)
{
  struct mafat_value scaled[MAFAT_MAX_OPERANDS], map;
  const struct mafat_value *list[MAFAT_MAX_OPERANDS];
  int n = mafat_onnx_n_inputs(i), code = MAFAT_OK;
  if (n > MAFAT_MAX_OPERANDS)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "expected 1 to %d inputs, found %d", MAFAT_MAX_OPERANDS, n);
  for (int k = 0; k < n; k++) {
    const struct mafat_value *in = list[k] = mafat_onnx_in(i, k);
    scaled[k] = (struct mafat_value){.maker = -1};
    if (code == MAFAT_OK) code = mafat_graph_need_map(i->g, k, &map, &in);
    if (code) continue;
    struct mafat_meaning is = mafat_value_meaning(i->g, in);
    bool same = mafat_quantization_equals(&is.numbers, &to->numbers);
    code = same ? mafat_value_copy(i->g, &scaled[k], in) : mafat_graph_quantize(i->g, &scaled[k], in, *to, MAFAT_REQUANTIZE_EVEN);
    list[k] = &scaled[k];
    mafat_value_clear(&map);
  }
  if (code == MAFAT_OK) code = run_with(i, list, n, out, to);
  for (int k = 0; k < n; k++) mafat_value_clear(&scaled[k]);
  return code;
}

static int compute_whole(struct mafat_onnx_importer *i, struct mafat_value *out, const struct mafat_meaning *to, bool *done)
{
  *done = takes(i, to);
  if (!*done || i->g->code) return i->g->code;
  if (has_bias(i)) return run_with_bias(i, out, to, done);
  return strcmp(i->row->op_type, "Concat") == 0 ? join(i, out, to) : run_row(i, out, to);
}

/* ---- by floats ---- */

static int floats_of(const struct mafat_onnx_importer *i, struct mafat_value *out, const struct mafat_value *v)
{
  static const struct mafat_meaning floats = {.type = MAFAT_F32};
  if (mafat_value_is_quantized(v)) return mafat_onnx_dequantized(i, out, v);
  if (is_map(i, v)) return mafat_graph_quantize(i->g, out, v, floats, MAFAT_REQUANTIZE_EVEN);
  return mafat_value_copy(i->g, out, v);
}

int mafat_onnx_make_floats(struct mafat_onnx_importer *i, int value)
{
  struct mafat_value *v = &i->values[value], floats = {.maker = -1};
  if (!i->stands[value] && !mafat_value_is_quantized(v)) return MAFAT_OK;
  int readers = v->readers, code = floats_of(i, &floats, v);
  if (code) return code;
  mafat_value_clear(v);
  *v = floats;
  v->readers = readers;
  i->stands[value] = false;
  return MAFAT_OK;
}

static int compute_floats(struct mafat_onnx_importer *i, struct mafat_value *out, const struct mafat_meaning *to)
{
  static const struct mafat_meaning floats = {.type = MAFAT_F32};
  struct mafat_value own[MOST_OPERANDS], made = {.maker = -1};
  const struct mafat_value *list[MOST_OPERANDS];
  int n = i->n_operands, code = MAFAT_OK;
  if (n > MOST_OPERANDS || (n > 2 && mafat_onnx_has(i, 2)))
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "its scales and zero points: not run by this version");
  for (int k = 0; k < n; k++) {
    own[k] = (struct mafat_value){.maker = -1};
    list[k] = &own[k];
    if (code == MAFAT_OK && mafat_onnx_has(i, k)) code = floats_of(i, &own[k], mafat_onnx_in(i, k));
  }
  if (code == MAFAT_OK) code = run_with(i, list, n, &made, &floats);
  if (code == MAFAT_OK) code = mafat_graph_quantize(i->g, out, &made, *to, MAFAT_REQUANTIZE_EVEN);
  for (int k = 0; k < n; k++) mafat_value_clear(&own[k]);
  mafat_value_clear(&made);
  return code;
}

int mafat_onnx_compute(struct mafat_onnx_importer *i, struct mafat_value *out, const struct mafat_meaning *to)
{
  bool done;
  int code = compute_whole(i, out, to, &done);
  return code || done ? code : compute_floats(i, out, to);
}

/* ---- up to the next QuantizeLinear ---- */

/* The one node behind this one that reads a value, if only one does. */
static const struct mafat_onnx_node *reader_of(const struct mafat_onnx_importer *i, const struct mafat_onnx_value *v)
{
  const struct mafat_onnx_node *end = i->model->nodes + i->model->n_nodes;
  if (!v || v->makers != 1 || i->values[v->index].readers != 1) return NULL;
  for (const struct mafat_onnx_node *n = i->node + 1; n < end; n++)
    for (int k = 0; k < n->n_inputs; k++)
      if (n->inputs[k] == v) return k == 0 && n->n_outputs > 0 && n->outputs[0] ? n : NULL;
  return NULL;
}

/* What lies between an operator and its numbers. */
struct chain {
  const struct mafat_onnx_node *bounds, *last; /* a Relu or Clip, or NULL; the QuantizeLinear */
  struct mafat_meaning to;
};

/* Of another node, as if it were this one. */
static int ask(struct mafat_onnx_importer *i, const struct mafat_onnx_node *node, struct chain *c,
               int (*question)(struct mafat_onnx_importer *i, struct chain *c))
{
  const struct mafat_onnx_node *own = i->node;
  i->node = node;
  i->g->operator_name = node->op_type;
  i->g->node_name = node->name;
  int code = question(i, c);
  i->node = own;
  i->g->operator_name = own->op_type;
  i->g->node_name = own->name;
  return code;
}

/* Constants that no node before it has asked for. */
static int make_constants(struct mafat_onnx_importer *i)
{
  int code = MAFAT_OK;
  for (int k = 1; k < i->node->n_inputs && code == MAFAT_OK; k++) {
    const struct mafat_onnx_value *v = i->node->inputs[k];
    if (v && v->initializer && i->values[v->index].form == MAFAT_VALUE_NONE)
      code = mafat_onnx_constant(i, &i->values[v->index], v->initializer);
  }
  return code;
}

static int ask_meaning(struct mafat_onnx_importer *i, struct chain *c)
{
  struct mafat_onnx_said said;
  int code = make_constants(i);
  bool known = mafat_value_is_constant(mafat_onnx_in(i, 1)) && mafat_value_elements(mafat_onnx_in(i, 1)) == 1 &&
               (!mafat_onnx_has(i, 2) || mafat_value_is_constant(mafat_onnx_in(i, 2)));
  if (code || !known) {
    c->last = NULL;
    return code;
  }
  code = mafat_onnx_numbers_said(i, 1, 2, MAFAT_ONNX_UNDEFINED, &said);
  return code ? code : mafat_onnx_meaning_said(i, &said, &c->to);
}

static int ask_bounds(struct mafat_onnx_importer *i, struct chain *c)
{
  float least = 0, most = INFINITY;
  int code = make_constants(i);
  if (code == MAFAT_OK && strcmp(i->node->op_type, "Clip") == 0) code = mafat_onnx_bounds(i, &least, &most);
  if (code == MAFAT_OK) mafat_quantization_clamp(&c->to.numbers, least, most);
  return code;
}

/* Bounds that are known before the run. */
static bool are_bounds(const struct mafat_onnx_importer *i, const struct mafat_onnx_node *n)
{
  if (strcmp(n->op_type, "Relu") == 0) return true;
  if (strcmp(n->op_type, "Clip") != 0) return false;
  for (int k = 1; k < n->n_inputs; k++)
    if (n->inputs[k] && !n->inputs[k]->initializer && !mafat_value_is_constant(&i->values[n->inputs[k]->index])) return false;
  return true;
}

/* last is NULL: there is none. */
static int find_chain(struct mafat_onnx_importer *i, struct chain *c)
{
  *c = (struct chain){.last = i->node->n_outputs == 1 ? reader_of(i, i->node->outputs[0]) : NULL};
  if (c->last && are_bounds(i, c->last)) {
    c->bounds = c->last;
    c->last = reader_of(i, c->bounds->outputs[0]);
  }
  if (c->last && (strcmp(c->last->op_type, "QuantizeLinear") != 0 || c->last->outputs[0]->makers != 1)) c->last = NULL;
  int code = c->last ? ask(i, c->last, c, ask_meaning) : MAFAT_OK;
  return code == MAFAT_OK && c->last && c->bounds ? ask(i, c->bounds, c, ask_bounds) : code;
}

/* Nobody reads what the nodes between would make; they are told by it, as made. */
static int compute_chain(struct mafat_onnx_importer *i, bool *done)
{
  struct chain c;
  struct mafat_value made = {.maker = -1};
  int code = find_chain(i, &c);
  if (code || !c.last) return code;
  code = compute_whole(i, &made, &c.to, done);
  if (code || !*done) return code;
  struct mafat_value *out = &i->values[c.last->outputs[0]->index];
  made.readers = out->readers;
  *out = made;
  if (c.bounds) code = mafat_value_copy(i->g, &i->values[c.bounds->outputs[0]->index], &made);
  return code ? code : mafat_value_copy(i->g, &i->values[i->node->outputs[0]->index], &made);
}

/* ---- operators that move elements ---- */

/* Which inputs are moved; others say where to. */
static const struct moving {
  const char *op_type;
  bool all;
} moving[] = {{"Identity", false}, {"Dropout", false}, {"Reshape", false}, {"Flatten", false}, {"Squeeze", false},
              {"Unsqueeze", false}, {"Transpose", false}, {"Slice", false}, {"Split", false}, {"Pad", false},
              {"DepthToSpace", false}, {"SpaceToDepth", false}, {"Expand", false}, {"MaxPool", false}, {"Gather", false},
              {"Concat", true}};

bool mafat_onnx_fill_number(const struct mafat_onnx_importer *i, const struct mafat_value *in, float real, float *number)
{
  struct mafat_quantization q = mafat_value_meaning(i->g, in).numbers;
  *number = stands(i, 0) ? rintf(real / q.scale) + (float)q.zero : real + (float)(q.is_signed ? MAFAT_SIGNED_TO_BYTE : 0);
  bool exact = !stands(i, 0) || (*number - (float)q.zero) * q.scale == real;
  return exact && *number >= 0 && *number <= 255;
}

/* Can what it fills up with be a number? */
static bool can_pad(const struct mafat_onnx_importer *i)
{
  float fill = 0, number;
  double *numbers;
  if (mafat_onnx_float(i, "value", 0, &fill)) return false;
  if (mafat_onnx_has(i, 2)) {
    if (mafat_value_numbers(i->g, mafat_onnx_in(i, 2), 1, &numbers)) return false;
    fill = (float)*numbers;
    free(numbers);
  }
  return mafat_onnx_fill_number(i, mafat_onnx_in(i, 0), fill, &number);
}

static bool moves(const struct mafat_onnx_importer *i)
{
  const struct moving *m = NULL;
  const struct mafat_value *first = mafat_onnx_in(i, 0);
  for (size_t k = 0; k < sizeof moving / sizeof *moving; k++)
    if (strcmp(moving[k].op_type, i->row->op_type) == 0) m = &moving[k];
  if (!m || !is_map(i, first)) return false;
  struct mafat_meaning is = mafat_value_meaning(i->g, first);
  for (int k = 1; m->all && k < mafat_onnx_n_inputs(i); k++) {
    const struct mafat_value *v = mafat_onnx_in(i, k);
    if (!is_map(i, v) || stands(i, k) != stands(i, 0)) return false;
    struct mafat_meaning other = mafat_value_meaning(i->g, v);
    if (!mafat_quantization_equals(&is.numbers, &other.numbers)) return false;
  }
  if (strcmp(m->op_type, "Gather") == 0 && !mafat_value_is_constant(mafat_onnx_in(i, 1))) return false;
  return strcmp(m->op_type, "Pad") != 0 || can_pad(i);
}

static int move(struct mafat_onnx_importer *i)
{
  bool floats = stands(i, 0);
  i->g->makes = mafat_value_meaning(i->g, mafat_onnx_in(i, 0));
  int code = i->row->import(i);
  i->g->makes = (struct mafat_meaning){.type = MAFAT_F32};
  for (int k = 0; k < i->node->n_outputs; k++)
    if (i->node->outputs[k]) i->stands[i->node->outputs[k]->index] = floats;
  return code;
}

/* A constant at one scale, or at one for each place of a dimension that goes elsewhere. */
static int move_constant(struct mafat_onnx_importer *i, bool *done)
{
  const struct mafat_value *in = mafat_onnx_in(i, 0);
  bool turned = strcmp(i->row->op_type, "Transpose") == 0, single = in->scales.list.n == 1;
  long long perm[MAFAT_VIEW_DIMS];
  int n, code = mafat_onnx_ints(i, "perm", MAFAT_VIEW_DIMS, perm, &n);
  if (code || (!turned && !(single && strcmp(i->row->op_type, "Reshape") == 0))) return code;
  *done = true;
  code = i->row->import(i);
  struct mafat_scales *s = &mafat_onnx_out(i, 0)->scales;
  int dimension = s->dimension;
  for (int k = 0; turned && k < in->view.n_dims; k++)
    if ((n < 0 ? in->view.n_dims - 1 - k : perm[k]) == dimension) s->dimension = k;
  return code;
}

/* ---- a node ---- */

/* Do they say themselves what their numbers mean? */
static bool speaks_of_numbers(const struct mafat_onnx_importer *i)
{
  static const struct mafat_onnx_operator *const tables[] = {mafat_onnx_quantized_operators, mafat_onnx_dynamic_operators};
  for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
    for (const struct mafat_onnx_operator *o = tables[t]; o->op_type; o++)
      if (o == i->row) return true;
  return false;
}

/* Numbers as floats of the same value. */
static int cast(struct mafat_onnx_importer *i, bool *done)
{
  long long to;
  int code = mafat_onnx_int(i, "to", MAFAT_ONNX_FLOAT, &to);
  *done = code == MAFAT_OK && to == MAFAT_ONNX_FLOAT;
  return *done ? mafat_onnx_plain_floats(i, mafat_onnx_out(i, 0), mafat_onnx_in(i, 0), 0) : code;
}

static int need_floats(struct mafat_onnx_importer *i)
{
  int code = MAFAT_OK;
  for (int k = 0; k < i->node->n_inputs && code == MAFAT_OK; k++) {
    if (!i->node->inputs[k]) continue;
    code = mafat_onnx_make_floats(i, i->node->inputs[k]->index);
    const struct mafat_value *v = mafat_onnx_in(i, k);
    if (code == MAFAT_OK && is_map(i, v))
      code = mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "input %d is of type %s: expected float", k,
                              mafat_onnx_type_name(mafat_onnx_map_type(i, v)));
  }
  return code;
}

int mafat_onnx_import_numbers(struct mafat_onnx_importer *i, bool *done)
{
  bool any = false;
  int code = MAFAT_OK;
  if (speaks_of_numbers(i)) return MAFAT_OK;
  for (int k = 0; k < i->node->n_inputs; k++)
    any = any || is_map(i, mafat_onnx_in(i, k)) || mafat_value_is_quantized(mafat_onnx_in(i, k));
  if (!any) return MAFAT_OK;
  *done = moves(i);
  if (*done || i->g->code) return i->g->code ? i->g->code : move(i);
  if (strcmp(i->row->op_type, "Cast") == 0 && is_map(i, mafat_onnx_in(i, 0)) && !stands(i, 0)) code = cast(i, done);
  if (code == MAFAT_OK && !*done && mafat_value_is_quantized(mafat_onnx_in(i, 0))) code = move_constant(i, done);
  if (code == MAFAT_OK && !*done) code = compute_chain(i, done);
  return code || *done ? code : need_floats(i);
}
