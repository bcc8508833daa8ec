/* Decides which operators can be computed in integers: those with integer kernels, at scales that
 * can be requantized to the output's. Called by formats/onnx (integers.c, computing.c,
 * import_shape.c). Changes nothing. */
#include "formats/graph/shape.h"
#include "formats/onnx/importer.h"

/* ---- operands ---- */

static bool is_map(const struct mafat_onnx_importer *i, const struct mafat_value *v)
{
  return mafat_value_is_integer(i->g, v);
}

/* A constant of 8 bits. */
static bool is_constant(const struct mafat_value *v)
{
  return mafat_value_is_quantized(v) && v->place.type != MAFAT_I32;
}

bool mafat_onnx_is_dequantized(const struct mafat_onnx_importer *i, int index)
{
  if (i->operands || !mafat_onnx_has(i, index)) return true;
  return i->dequantized[i->node->inputs[index]->index] || !is_map(i, mafat_onnx_in(i, index));
}

float mafat_onnx_scale_of(const struct mafat_onnx_importer *i, const struct mafat_value *v)
{
  return mafat_value_is_quantized(v) ? v->scales.scale : mafat_value_meaning(i->g, v).numbers.scale;
}

/* True if sums at this scale can be requantized to the output's. */
static bool fits(float in, const struct mafat_meaning *to)
{
  return mafat_multiplier_can((double)(in / to->numbers.scale));
}

/* ---- operators ---- */

/* True for constant weights with filters along this dimension. */
static bool are_weights(const struct mafat_onnx_importer *i, const struct mafat_value *w,
                        int n_dims, int dimension, const struct mafat_meaning *to)
{
  if (!is_constant(w) || (n_dims && w->view.n_dims != n_dims) || !is_map(i, mafat_onnx_in(i, 0)))
    return false;
  if (w->scales.list.n > 1 && w->scales.dimension != dimension) return false;
  return fits(mafat_onnx_scale_of(i, mafat_onnx_in(i, 0)) * w->scales.scale, to);
}

static bool takes_conv(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  return are_weights(i, mafat_onnx_in(i, 1), 0, 0, to);
}

static bool takes_matmul(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  const struct mafat_value *a = mafat_onnx_in(i, 0), *b = mafat_onnx_in(i, 1);
  if (is_map(i, a) && is_map(i, b))
    return fits(mafat_onnx_scale_of(i, a) * mafat_onnx_scale_of(i, b), to);
  return are_weights(i, mafat_onnx_in(i, 1), 2, 1, to);
}

static bool takes_gemm(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  bool trans_a, trans_b;
  float alpha, beta;
  int code = mafat_onnx_flag(i, "transA", false, &trans_a);
  if (code == MAFAT_OK) code = mafat_onnx_flag(i, "transB", false, &trans_b);
  if (code == MAFAT_OK) code = mafat_onnx_float(i, "alpha", 1, &alpha);
  if (code == MAFAT_OK) code = mafat_onnx_float(i, "beta", 1, &beta);
  return code == MAFAT_OK && !trans_a && alpha == 1 && beta == 1 &&
         are_weights(i, mafat_onnx_in(i, 1), 2, !trans_b, to);
}

/* True for maps and constants per tensor, at least one of them a map. */
static bool are_operands(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  bool any = false;
  for (int k = 0; k < mafat_onnx_n_inputs(i); k++) {
    const struct mafat_value *v = mafat_onnx_in(i, k);
    bool map = is_map(i, v);
    if (!map && !(is_constant(v) && v->scales.list.n == 1)) return false;
    if (!fits(mafat_onnx_scale_of(i, v), to)) return false;
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
  return takes_add(i, to) && fits(mafat_onnx_scale_of(i, mafat_onnx_in(i, 0)) *
                                      mafat_onnx_scale_of(i, mafat_onnx_in(i, 1)),
                                  to);
}

/* Slopes must be constant, because only one operand may have them. */
static bool takes_prelu(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  return takes_mul(i, to) && is_map(i, mafat_onnx_in(i, 0)) && is_constant(mafat_onnx_in(i, 1));
}

static bool takes_map(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  return is_map(i, mafat_onnx_in(i, 0)) && fits(mafat_onnx_scale_of(i, mafat_onnx_in(i, 0)), to);
}

/* The mean must exclude padding. */
static bool takes_average(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  bool count;
  return mafat_onnx_flag(i, "count_include_pad", false, &count) == MAFAT_OK && !count &&
         takes_map(i, to);
}

/* True if these dimensions share no axis with others; at least one has more than one index. */
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
  if (mafat_onnx_int(i, "channels_last", 0, &channels_last) || channels_last || !takes_map(i, to))
    return false;
  for (int k = 2; k < in->view.n_dims; k++) over[k] = true;
  return lie_apart(in, over);
}

static bool takes_mean(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  const struct mafat_value *in = mafat_onnx_in(i, 0);
  bool over[MAFAT_VIEW_DIMS] = {false};
  long long axes[MAFAT_VIEW_DIMS];
  int n;
  if (!takes_map(i, to) || mafat_onnx_list(i, "axes", 1, MAFAT_VIEW_DIMS, axes, &n) != MAFAT_OK)
    return false;
  for (int k = 0; k < n; k++) {
    long long dim = axes[k] < 0 ? axes[k] + in->view.n_dims : axes[k];
    if (dim < 0 || dim >= in->view.n_dims) return false;
    over[dim] = true;
  }
  return lie_apart(in, over);
}

bool mafat_onnx_resizes(const struct mafat_onnx_importer *i)
{
  return strcmp(i->row->op_type, "Resize") == 0 || strcmp(i->row->op_type, "Upsample") == 0;
}

bool mafat_onnx_is_mode(const struct mafat_onnx_importer *i, const char *mode)
{
  const char *declared;
  return mafat_onnx_string(i, "mode", "nearest", &declared) == MAFAT_OK &&
         strcmp(declared, mode) == 0;
}

/* Linear interpolation; nearest only moves elements. */
static bool takes_resize(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  return mafat_onnx_is_mode(i, "linear") && takes_map(i, to);
}

/* Any number of dimensions may be joined. */
static bool takes_softmax(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  (void)to;
  return is_map(i, mafat_onnx_in(i, 0));
}

/* Only over the last dimension, with float factors of its length. */
static bool takes_layer_norm(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  const struct mafat_value *in = mafat_onnx_in(i, 0);
  long long axis;
  (void)to;
  if (!is_map(i, in) || i->node->n_outputs != 1 || mafat_onnx_int(i, "axis", -1, &axis))
    return false;
  if (axis != -1 && axis != in->view.n_dims - 1) return false;
  for (int k = 1; k <= 2; k++) {
    const struct mafat_value *v = mafat_onnx_in(i, k);
    if (k == 2 && !mafat_onnx_has(i, k)) continue;
    bool floats = mafat_value_is_constant(v) && !mafat_value_is_quantized(v);
    if (!floats || v->view.n_dims != 1 || v->view.dims[0] != in->view.dims[in->view.n_dims - 1])
      return false;
  }
  return true;
}

static const struct computing {
  const char *op_type;
  bool (*takes)(const struct mafat_onnx_importer *i, const struct mafat_meaning *to);
} computing[] = {
    {"Conv", takes_conv},
    {"MatMul", takes_matmul},
    {"Gemm", takes_gemm},
    {"Add", takes_add},
    {"Sub", takes_add},
    {"Mul", takes_mul},
    {"PRelu", takes_prelu},
    {"Concat", are_operands},
    {"AveragePool", takes_average},
    {"GlobalAveragePool", takes_global},
    {"ReduceMean", takes_mean},
    {"Softmax", takes_softmax},
    {"LayerNormalization", takes_layer_norm},
    {"Relu", takes_map},
    {"Clip", takes_map},
    {"LeakyRelu", takes_map},
    {"Sigmoid", takes_map},
    {"Tanh", takes_map},
    {"Elu", takes_map},
    {"Selu", takes_map},
    {"Celu", takes_map},
    {"HardSigmoid", takes_map},
    {"HardSwish", takes_map},
    {"Softplus", takes_map},
    {"Softsign", takes_map},
    {"ThresholdedRelu", takes_map},
    {"Mish", takes_map},
    {"Resize", takes_resize},
    {"Upsample", takes_resize},
    {"Gelu", takes_map},
    {"Exp", takes_map},
    {"Erf", takes_map},
    {"Abs", takes_map},
    {"Neg", takes_map},
};

bool mafat_onnx_takes(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  bool all = true;
  for (int k = 0; k < mafat_onnx_n_inputs(i); k++) all = all && mafat_onnx_is_dequantized(i, k);
  for (size_t k = 0; k < sizeof computing / sizeof *computing; k++)
    if (strcmp(computing[k].op_type, i->row->op_type) == 0) return all && computing[k].takes(i, to);
  return false;
}
