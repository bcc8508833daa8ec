/* Decides which operators can be computed in integers: those with integer kernels, at scales that
 * can be requantized to the output's. Called by formats/onnx (integers.c, computing.c,
 * import_shape.c). Reads constant axes from the model's file. A wrong attribute sets the graph's
 * error code and the diagnostic. */
#include "formats/graph/shape.h"
#include "formats/onnx/importer.h"

/* ---- operands ---- */

/* True for a map of integers. */
static bool is_map(const struct mafat_onnx_importer *i, const struct mafat_value *v)
{
  return mafat_value_is_integer(i->g, v);
}

/* True for a quantized constant of 8 bits. */
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

/* True if integers of this scale can be requantized to the output's scale. */
static bool fits(float in, const struct mafat_meaning *to)
{
  return mafat_multiplier_can((double)(in / to->numbers.scale));
}

/* ---- operators ---- */

/* True if input 0 is a map of integers and w is a constant of 8 bits that has one scale, or one
 * scale for each index of `dimension`. Sums must be requantizable to `to`; of several scales only
 * the first is tested. n_dims: number of dimensions that w must have; 0: any. */
static bool are_weights(const struct mafat_onnx_importer *i, const struct mafat_value *w,
                        int n_dims, int dimension, const struct mafat_meaning *to)
{
  if (!is_constant(w) || (n_dims && w->view.n_dims != n_dims) || !is_map(i, mafat_onnx_in(i, 0)))
    return false;
  if (w->scales.list.n > 1 && w->scales.dimension != dimension) return false;
  return fits(mafat_onnx_scale_of(i, mafat_onnx_in(i, 0)) * w->scales.scale, to);
}

static bool can_conv(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  return are_weights(i, mafat_onnx_in(i, 1), 0, 0, to);
}

static bool can_matmul(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  const struct mafat_value *a = mafat_onnx_in(i, 0), *b = mafat_onnx_in(i, 1);
  if (is_map(i, a) && is_map(i, b))
    return fits(mafat_onnx_scale_of(i, a) * mafat_onnx_scale_of(i, b), to);
  return are_weights(i, mafat_onnx_in(i, 1), 2, 1, to);
}

static bool can_gemm(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
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

/* True if each operand is a map of integers or a constant with one scale, and at least one is a
 * map. */
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

static bool can_add(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  return mafat_onnx_n_inputs(i) == 2 && are_operands(i, to);
}

static bool can_mul(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  return can_add(i, to) && fits(mafat_onnx_scale_of(i, mafat_onnx_in(i, 0)) *
                                mafat_onnx_scale_of(i, mafat_onnx_in(i, 1)),
                                  to);
}

/* The slopes, input 1, must be constant. */
static bool can_prelu(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  return can_mul(i, to) && is_map(i, mafat_onnx_in(i, 0)) && is_constant(mafat_onnx_in(i, 1));
}

static bool can_map(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  return is_map(i, mafat_onnx_in(i, 0)) && fits(mafat_onnx_scale_of(i, mafat_onnx_in(i, 0)), to);
}

/* The integer kernel leaves padding out of the mean. */
static bool can_average(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  bool count;
  return mafat_onnx_flag(i, "count_include_pad", false, &count) == MAFAT_OK && !count &&
         can_map(i, to);
}

/* `over` selects dimensions. True if each axis of the map (rows, columns, channels) holds only
 * selected or only other dimensions. False also if all selected dimensions have one index. */
static bool are_separate(const struct mafat_value *in, const bool *over)
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

static bool can_global(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  const struct mafat_value *in = mafat_onnx_in(i, 0);
  bool over[MAFAT_VIEW_DIMS] = {false};
  long long channels_last;
  if (mafat_onnx_int(i, "channels_last", 0, &channels_last) || channels_last || !can_map(i, to))
    return false;
  for (int k = 2; k < in->view.n_dims; k++) over[k] = true;
  return are_separate(in, over);
}

static bool can_mean(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  const struct mafat_value *in = mafat_onnx_in(i, 0);
  bool over[MAFAT_VIEW_DIMS] = {false};
  long long axes[MAFAT_VIEW_DIMS];
  int n;
  if (!can_map(i, to) || mafat_onnx_list(i, "axes", 1, MAFAT_VIEW_DIMS, axes, &n) != MAFAT_OK)
    return false;
  for (int k = 0; k < n; k++) {
    long long dim = axes[k] < 0 ? axes[k] + in->view.n_dims : axes[k];
    if (dim < 0 || dim >= in->view.n_dims) return false;
    over[dim] = true;
  }
  return are_separate(in, over);
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

/* True for linear interpolation. Nearest only moves elements (integers.c). */
static bool can_resize(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  return mafat_onnx_is_mode(i, "linear") && can_map(i, to);
}

/* Softmax is computed in integers along any axis. network/kinds/normalize.c checks the output's
 * scale. */
static bool can_softmax(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  (void)to;
  return is_map(i, mafat_onnx_in(i, 0));
}

/* True for a normalization over the last dimension, with as many constant float factors and offsets
 * as that dimension has elements. */
static bool can_layer_norm(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
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
  bool (*can)(const struct mafat_onnx_importer *i, const struct mafat_meaning *to);
} computing[] = {
    {"Conv", can_conv},
    {"MatMul", can_matmul},
    {"Gemm", can_gemm},
    {"Add", can_add},
    {"Sub", can_add},
    {"Mul", can_mul},
    {"PRelu", can_prelu},
    {"Concat", are_operands},
    {"AveragePool", can_average},
    {"GlobalAveragePool", can_global},
    {"ReduceMean", can_mean},
    {"Softmax", can_softmax},
    {"LayerNormalization", can_layer_norm},
    {"Relu", can_map},
    {"Clip", can_map},
    {"LeakyRelu", can_map},
    {"Sigmoid", can_map},
    {"Tanh", can_map},
    {"Elu", can_map},
    {"Selu", can_map},
    {"Celu", can_map},
    {"HardSigmoid", can_map},
    {"HardSwish", can_map},
    {"Softplus", can_map},
    {"Softsign", can_map},
    {"ThresholdedRelu", can_map},
    {"Mish", can_map},
    {"Resize", can_resize},
    {"Upsample", can_resize},
    {"Gelu", can_map},
    {"Exp", can_map},
    {"Erf", can_map},
    {"Abs", can_map},
    {"Neg", can_map},
};

bool mafat_onnx_takes(const struct mafat_onnx_importer *i, const struct mafat_meaning *to)
{
  bool all = true;
  for (int k = 0; k < mafat_onnx_n_inputs(i); k++) all = all && mafat_onnx_is_dequantized(i, k);
  for (size_t k = 0; k < sizeof computing / sizeof *computing; k++)
    if (strcmp(computing[k].op_type, i->row->op_type) == 0) return all && computing[k].can(i, to);
  return false;
}
