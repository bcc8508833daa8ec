/* Imports elementwise TFLite operators of one and of two values. Called by formats/tflite/import.c
 * through its table. Adds layers to the graph. */
#include "formats/tflite/importer.h"

/* ---- one operand ---- */

/* Finds the MUL of x * LOGISTIC(x), where the current operator is the LOGISTIC. NULL: none of the
 * next 7 operators is such a MUL, or x or LOGISTIC(x) has other readers. */
static const struct mafat_tflite_operator *product_of(const struct mafat_tflite_importer *i)
{
  enum { NEAR = 8 };
  const struct mafat_tflite_operator *end = i->model->operators + i->model->n_operators;
  int32_t x = i->o->inputs[0], y = i->o->outputs[0];
  if (i->slots[x].readers != 2 || i->slots[y].readers != 1) return NULL;
  for (const struct mafat_tflite_operator *o = i->o + 1; o < end && o < i->o + NEAR; o++) {
    if (o->code != MAFAT_TFLITE_MUL || o->n_inputs != 2 || o->n_outputs != 1 || o->options.fused)
      continue;
    if ((o->inputs[0] == x && o->inputs[1] == y) || (o->inputs[0] == y && o->inputs[1] == x))
      return o;
  }
  return NULL;
}

/* Imports LOGISTIC; x * LOGISTIC(x) becomes one activation, and the later MUL is skipped. */
static int import_logistic(struct mafat_tflite_importer *i)
{
  const struct mafat_value *in = mafat_tflite_in(i, 0);
  const struct mafat_tflite_operator *product =
      in->form == MAFAT_VALUE_MAP && !mafat_value_is_integer(i->g, in) ? product_of(i) : NULL;
  if (in->form != MAFAT_VALUE_MAP)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "expected a tensor computed at run time, found a constant");
  if (!product)
    return mafat_graph_activate(i->g, mafat_tflite_out(i, 0), in, mafat_activating(MAFAT_LOGISTIC));
  struct mafat_tflite_slot *x = mafat_tflite_in_slot(i, 0);
  int code = mafat_tflite_make(i, product->outputs[0]);
  if (code) return code;
  struct mafat_tflite_slot *made = &i->slots[product->outputs[0]];
  x->value->readers = 1;
  code = mafat_graph_activate(i->g, made->value, x->value, mafat_activating(MAFAT_SWISH));
  x->value->readers = x->readers;
  made->value->readers = made->readers;
  return code;
}

static struct mafat_activating activation_of(const struct mafat_tflite_operator *o)
{
  switch (o->code) {
  case MAFAT_TFLITE_RELU: return mafat_activating(MAFAT_RELU);
  case MAFAT_TFLITE_RELU6: return mafat_activating(MAFAT_RELU6);
  case MAFAT_TFLITE_RELU_N1_TO_1: return (struct mafat_activating){MAFAT_CLIP, -1, 1};
  case MAFAT_TFLITE_RELU_0_TO_1: return (struct mafat_activating){MAFAT_CLIP, 0, 1};
  case MAFAT_TFLITE_LEAKY_RELU: return mafat_activating_sloped(o->options.alpha);
  case MAFAT_TFLITE_GELU:
    return mafat_activating(o->options.approximate ? MAFAT_GELU_TANH : MAFAT_GELU);
  case MAFAT_TFLITE_TANH: return mafat_activating(MAFAT_EXACT_TANH);
  case MAFAT_TFLITE_ELU: return (struct mafat_activating){MAFAT_SCALED_ELU, 1, 1};
  case MAFAT_TFLITE_HARD_SWISH: return mafat_activating(MAFAT_HARD_SWISH);
  case MAFAT_TFLITE_EXP: return mafat_activating(MAFAT_EXP);
  case MAFAT_TFLITE_LOG: return mafat_activating(MAFAT_LOG);
  case MAFAT_TFLITE_ABS: return mafat_activating(MAFAT_ABS);
  case MAFAT_TFLITE_NEG: return mafat_activating(MAFAT_NEG);
  default: return mafat_activating(MAFAT_SQRT);
  }
}

static bool is_clip(int code)
{
  return code == MAFAT_TFLITE_RELU || code == MAFAT_TFLITE_RELU6 ||
         code == MAFAT_TFLITE_RELU_N1_TO_1 || code == MAFAT_TFLITE_RELU_0_TO_1;
}

/* Imports a RELU of integers: requantizes them to the output's scale and clamps them. */
static int import_clip(struct mafat_tflite_importer *i, const struct mafat_value *in)
{
  struct mafat_meaning to = i->g->makes;
  float least = i->o->code == MAFAT_TFLITE_RELU_N1_TO_1 ? -1 : 0;
  float most = i->o->code == MAFAT_TFLITE_RELU    ? INFINITY
               : i->o->code == MAFAT_TFLITE_RELU6 ? 6
                                                  : 1;
  mafat_quantization_clamp(&to.numbers, least, most);
  return mafat_graph_quantize(i->g, mafat_tflite_out(i, 0), in, to, MAFAT_REQUANTIZE_SINGLE);
}

static int import_activation(struct mafat_tflite_importer *i)
{
  const struct mafat_value *in = mafat_tflite_in(i, 0);
  if (in->form != MAFAT_VALUE_MAP)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "expected a tensor computed at run time, found a constant");
  if (mafat_value_is_integer(i->g, in) && is_clip(i->o->code)) return import_clip(i, in);
  return mafat_graph_activate(i->g, mafat_tflite_out(i, 0), in, activation_of(i->o));
}

static int import_rsqrt(struct mafat_tflite_importer *i)
{
  struct mafat_value own, root = {.maker = -1};
  const struct mafat_value *in;
  int code = mafat_tflite_map(i, 0, &own, &in);
  if (code == MAFAT_OK) code = mafat_graph_activate(i->g, &root, in, mafat_activating(MAFAT_SQRT));
  if (code == MAFAT_OK)
    code = mafat_graph_activate(i->g, mafat_tflite_out(i, 0), &root,
                                mafat_activating(MAFAT_RECIPROCAL));
  mafat_value_clear(&own);
  mafat_value_clear(&root);
  return code;
}

static int import_square(struct mafat_tflite_importer *i)
{
  const struct mafat_value *in = mafat_tflite_in(i, 0);
  return mafat_graph_combine(i->g, mafat_tflite_out(i, 0), MAFAT_GRAPH_MUL, in, in);
}

/* ---- two operands ---- */

static bool has_fused(int code)
{
  return code == MAFAT_TFLITE_ADD || code == MAFAT_TFLITE_SUB || code == MAFAT_TFLITE_MUL ||
         code == MAFAT_TFLITE_DIV;
}

/* Truncates quotients of integers towards 0. */
static int cut_quotients(struct mafat_tflite_importer *i, struct mafat_value *made)
{
  if (made->form != MAFAT_VALUE_NUMBERS)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "divides integers computed at run time, which is not run");
  for (long long k = 0; k < mafat_value_elements(made); k++)
    made->numbers[k] = trunc(made->numbers[k]);
  return MAFAT_OK;
}

static int import_binary(struct mafat_tflite_importer *i)
{
  struct mafat_value made = {.maker = -1};
  /* import_logistic has made the output */
  if (mafat_tflite_out(i, 0)->form != MAFAT_VALUE_NONE) return MAFAT_OK;
  const struct mafat_value *a = mafat_tflite_in(i, 0), *b = mafat_tflite_in(i, 1);
  if (i->g->makes.type != MAFAT_F32 && mafat_value_is_constant(a) && mafat_value_is_constant(b))
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "expected a tensor computed at run time, found two quantized "
                            "constants");
  int code =
      mafat_graph_combine(i->g, &made, (enum mafat_graph_binary)mafat_tflite_variant(i), a, b);
  if (code == MAFAT_OK && i->o->code == MAFAT_TFLITE_DIV &&
      mafat_tflite_is_whole(i, i->o->inputs[0]))
    code = cut_quotients(i, &made);
  return mafat_tflite_finish(i, code, &made,
                             has_fused(i->o->code) ? i->o->options.fused : MAFAT_TFLITE_FUSED_NONE);
}

static int import_squared_difference(struct mafat_tflite_importer *i)
{
  struct mafat_value difference = {.maker = -1};
  int code = mafat_graph_combine(i->g, &difference, MAFAT_GRAPH_SUB, mafat_tflite_in(i, 0),
                                 mafat_tflite_in(i, 1));
  if (code == MAFAT_OK)
    code = mafat_graph_combine(i->g, mafat_tflite_out(i, 0), MAFAT_GRAPH_MUL, &difference,
                               &difference);
  mafat_value_clear(&difference);
  return code;
}

/* ---- casts ---- */

static int import_quantize(struct mafat_tflite_importer *i)
{
  const struct mafat_value *in = mafat_tflite_in(i, 0);
  bool numbers = mafat_value_is_integer(i->g, in);
  if (i->o->code == MAFAT_TFLITE_DEQUANTIZE && in->form == MAFAT_VALUE_PLACE &&
      in->place.type != MAFAT_F32) {
    int code = mafat_value_copy(i->g, mafat_tflite_out(i, 0), in);
    mafat_tflite_out(i, 0)->scales.real = in->scales.list.n > 0;
    return code;
  }
  if (in->form != MAFAT_VALUE_MAP)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "expected a tensor computed at run time, found a constant");
  if ((i->o->code == MAFAT_TFLITE_DEQUANTIZE && !numbers) ||
      (i->o->code == MAFAT_TFLITE_QUANTIZE && i->g->makes.type == MAFAT_F32))
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "expected INT8 or UINT8, found FLOAT32");
  if (i->o->code == MAFAT_TFLITE_DEQUANTIZE && i->g->makes.type != MAFAT_F32)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "expected an output of FLOAT32");
  return mafat_graph_quantize(i->g, mafat_tflite_out(i, 0), in, i->g->makes,
                              MAFAT_REQUANTIZE_FIXED);
}

const struct mafat_tflite_row mafat_tflite_math_rows[] = {
    {MAFAT_TFLITE_QUANTIZE, import_quantize, 1, 0, true},
    {MAFAT_TFLITE_DEQUANTIZE, import_quantize, 1, 0, true},
    {MAFAT_TFLITE_LOGISTIC, import_logistic, 1, 0, true},
    {MAFAT_TFLITE_RELU, import_activation, 1, 0, true},
    {MAFAT_TFLITE_RELU6, import_activation, 1, 0, true},
    {MAFAT_TFLITE_RELU_N1_TO_1, import_activation, 1, 0, true},
    {MAFAT_TFLITE_RELU_0_TO_1, import_activation, 1, 0, true},
    {MAFAT_TFLITE_LEAKY_RELU, import_activation, 1, 0, true},
    {MAFAT_TFLITE_GELU, import_activation, 1, 0, false},
    {MAFAT_TFLITE_TANH, import_activation, 1, 0, true},
    {MAFAT_TFLITE_ELU, import_activation, 1, 0, false},
    {MAFAT_TFLITE_HARD_SWISH, import_activation, 1, 0, true},
    {MAFAT_TFLITE_EXP, import_activation, 1, 0, false},
    {MAFAT_TFLITE_LOG, import_activation, 1, 0, false},
    {MAFAT_TFLITE_ABS, import_activation, 1, 0, false},
    {MAFAT_TFLITE_NEG, import_activation, 1, 0, false},
    {MAFAT_TFLITE_SQRT, import_activation, 1, 0, false},
    {MAFAT_TFLITE_RSQRT, import_rsqrt, 1, 0, false},
    {MAFAT_TFLITE_SQUARE, import_square, 1, 0, false},
    {MAFAT_TFLITE_ADD, import_binary, 2, MAFAT_GRAPH_ADD, true},
    {MAFAT_TFLITE_SUB, import_binary, 2, MAFAT_GRAPH_SUB, true},
    {MAFAT_TFLITE_MUL, import_binary, 2, MAFAT_GRAPH_MUL, true},
    {MAFAT_TFLITE_DIV, import_binary, 2, MAFAT_GRAPH_DIV, false},
    {MAFAT_TFLITE_MAXIMUM, import_binary, 2, MAFAT_GRAPH_MAX, false},
    {MAFAT_TFLITE_MINIMUM, import_binary, 2, MAFAT_GRAPH_MIN, false},
    {MAFAT_TFLITE_POW, import_binary, 2, MAFAT_GRAPH_POW, false},
    {MAFAT_TFLITE_PRELU, import_binary, 2, MAFAT_GRAPH_PRELU, true},
    {MAFAT_TFLITE_SQUARED_DIFFERENCE, import_squared_difference, 2, 0, false},
    {0, NULL, 0, 0, false}};
