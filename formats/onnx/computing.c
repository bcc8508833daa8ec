/* Imports ONNX operators on quantized values: computed in integers if possible, else in floats,
 * with dequantized operands and a result that is quantized. Called by the importers in formats/onnx
 * (import.c, import_dynamic.c, import_quantized.c, integers.c). Adds layers to the graph; reads
 * constants of the model's files. */
#include "formats/graph/places.h"
#include "formats/onnx/importer.h"

enum { MOST_OPERANDS = 3 };

/* ---- int32 biases, at the scale of the sums ---- */

static bool has_bias(const struct mafat_onnx_importer *i)
{
  return (strcmp(i->row->op_type, "Conv") == 0 || strcmp(i->row->op_type, "Gemm") == 0) &&
         mafat_onnx_has(i, 2);
}

static int read_scales(const struct mafat_onnx_importer *i, const struct mafat_value *v,
                       long long n, double **out)
{
  *out = malloc((size_t)n * sizeof **out);
  if (!*out) return mafat_graph_fail_memory(i->g);
  int code = mafat_graph_read_numbers(i->g, &v->scales.list, v->scales.list.n, *out);
  for (long long k = (long long)v->scales.list.n; code == MAFAT_OK && k < n; k++) (*out)[k] = **out;
  return code;
}

/* Computes the scale of each filter's sums: the input's scale times the weights'. */
static int sum_scales(const struct mafat_onnx_importer *i, long long n, double **out)
{
  float in = mafat_onnx_scale_of(i, mafat_onnx_in(i, 0));
  int code = read_scales(i, mafat_onnx_in(i, 1), n, out);
  for (long long k = 0; code == MAFAT_OK && k < n; k++) (*out)[k] = (double)(in * (float)(*out)[k]);
  return code;
}

/* True if the biases' scales equal the sums' scales up to rounding. */
static bool are_alike(const double *scales, const double *sums, long long n)
{
  for (long long k = 0; k < n; k++)
    if (!(fabs(scales[k] - sums[k]) <= 0x1p-20 * sums[k])) return false;
  return true;
}

/* Quantizes biases at the sums' scales. Sets *fit to false if they do not fit int32. */
static int round_biases(const struct mafat_onnx_importer *i, const struct mafat_value *bias,
                        const double *sums, struct mafat_value *out, bool *fit)
{
  struct mafat_value reals = {.maker = -1};
  double *numbers = NULL;
  int code = mafat_value_is_quantized(bias) ? mafat_onnx_dequantized(i, &reals, bias)
                                            : mafat_value_copy(i->g, &reals, bias);
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

/* Converts the bias, input 2, to int32 at the sums' scales. Sets *fit to false if that is
 * impossible. */
static int convert_bias(const struct mafat_onnx_importer *i, struct mafat_value *out, bool *fit)
{
  const struct mafat_value *bias = mafat_onnx_in(i, 2), *weights = mafat_onnx_in(i, 1);
  bool whole = bias->form == MAFAT_VALUE_PLACE && bias->place.type == MAFAT_I32;
  long long n = mafat_value_elements(bias);
  double *sums = NULL, *scales = NULL;
  *out = (struct mafat_value){.maker = -1};
  long long n_filters = (long long)weights->scales.list.n;
  if (mafat_value_is_constant(bias) && n_filters > 1 && n != 1 && n != n_filters)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "expected %lld biases, found %lld", n_filters, n);
  *fit = mafat_value_is_constant(bias) && n > 0 && (n_filters == 1 || n == n_filters);
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

/* ---- integers ---- */

/* Runs the operator's importer; its output goes to *out and has type and scale *to. */
static int run_row(struct mafat_onnx_importer *i, struct mafat_value *out,
                   const struct mafat_meaning *to)
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

/* Like run_row, with the n operands in `list` instead of the node's inputs. */
static int run_with(struct mafat_onnx_importer *i, const struct mafat_value *const *list, int n,
                    struct mafat_value *out, const struct mafat_meaning *to)
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

static int run_with_bias(struct mafat_onnx_importer *i, struct mafat_value *out,
                         const struct mafat_meaning *to, bool *done)
{
  struct mafat_value bias;
  int code = convert_bias(i, &bias, done);
  const struct mafat_value *const list[MOST_OPERANDS] = {mafat_onnx_in(i, 0), mafat_onnx_in(i, 1),
                                                         &bias};
  if (code == MAFAT_OK && *done) code = run_with(i, list, MOST_OPERANDS, out, to);
  mafat_value_clear(&bias);
  return code;
}

/* Imports a concatenation after requantizing its operands to the output's scale. */
static int join(struct mafat_onnx_importer *i, struct mafat_value *out,
                const struct mafat_meaning *to)
{
  struct mafat_value scaled[MAFAT_MAX_OPERANDS], map;
  const struct mafat_value *list[MAFAT_MAX_OPERANDS];
  int n = mafat_onnx_n_inputs(i), code = MAFAT_OK;
  if (n > MAFAT_MAX_OPERANDS)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "expected 1 to %d inputs, found %d",
                            MAFAT_MAX_OPERANDS, n);
  for (int k = 0; k < n; k++) {
    const struct mafat_value *in = list[k] = mafat_onnx_in(i, k);
    scaled[k] = (struct mafat_value){.maker = -1};
    if (code == MAFAT_OK) code = mafat_graph_need_map(i->g, k, &map, &in);
    if (code) continue;
    struct mafat_meaning is = mafat_value_meaning(i->g, in);
    bool same = mafat_quantization_equals(&is.numbers, &to->numbers);
    code = same ? mafat_value_copy(i->g, &scaled[k], in)
                : mafat_graph_quantize(i->g, &scaled[k], in, *to, MAFAT_REQUANTIZE_EVEN);
    list[k] = &scaled[k];
    mafat_value_clear(&map);
  }
  if (code == MAFAT_OK) code = run_with(i, list, n, out, to);
  for (int k = 0; k < n; k++) mafat_value_clear(&scaled[k]);
  return code;
}

int mafat_onnx_compute_whole(struct mafat_onnx_importer *i, struct mafat_value *out,
                             const struct mafat_meaning *to, bool *done)
{
  *done = mafat_onnx_takes(i, to);
  if (!*done || i->g->code) return i->g->code;
  if (has_bias(i)) return run_with_bias(i, out, to, done);
  return strcmp(i->row->op_type, "Concat") == 0 ? join(i, out, to) : run_row(i, out, to);
}

/* ---- floats ---- */

/* Converts a value to floats; copies it if it is not quantized. */
static int floats_of(const struct mafat_onnx_importer *i, struct mafat_value *out,
                     const struct mafat_value *v)
{
  static const struct mafat_meaning floats = {.type = MAFAT_F32};
  if (mafat_value_is_quantized(v)) return mafat_onnx_dequantized(i, out, v);
  if (mafat_value_is_integer(i->g, v))
    return mafat_graph_quantize(i->g, out, v, floats, MAFAT_REQUANTIZE_EVEN);
  return mafat_value_copy(i->g, out, v);
}

int mafat_onnx_make_floats(struct mafat_onnx_importer *i, int value)
{
  struct mafat_value *v = &i->values[value], floats = {.maker = -1};
  if (!i->dequantized[value] && !mafat_value_is_quantized(v)) return MAFAT_OK;
  int readers = v->readers, code = floats_of(i, &floats, v);
  if (code) return code;
  mafat_value_clear(v);
  *v = floats;
  v->readers = readers;
  i->dequantized[value] = false;
  return MAFAT_OK;
}

/* Dequantizes the operands, computes the operator in floats, and quantizes its output. */
static int compute_floats(struct mafat_onnx_importer *i, struct mafat_value *out,
                          const struct mafat_meaning *to)
{
  static const struct mafat_meaning floats = {.type = MAFAT_F32};
  struct mafat_value own[MOST_OPERANDS], made = {.maker = -1};
  const struct mafat_value *list[MOST_OPERANDS];
  int n = i->n_operands, code = MAFAT_OK;
  if (n > MOST_OPERANDS || (n > 2 && mafat_onnx_has(i, 2)))
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "its scales and zero points: not run by this version");
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

int mafat_onnx_compute(struct mafat_onnx_importer *i, struct mafat_value *out,
                       const struct mafat_meaning *to)
{
  bool done;
  int code = mafat_onnx_compute_whole(i, out, to, &done);
  return code || done ? code : compute_floats(i, out, to);
}
