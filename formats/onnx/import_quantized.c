/* Imports QuantizeLinear, DequantizeLinear, and the QLinear operators of onnxruntime's quantizer. A
 * QLinear operator is imported like the ordinary one between a DequantizeLinear of each input and a
 * QuantizeLinear of the output (computing.c). Called by formats/onnx (import.c, computing.c,
 * integers.c) through the table of operators. Adds layers to the graph; reads constants of the
 * model's files. */
#include "formats/graph/places.h"
#include "formats/graph/shape.h"
#include "formats/onnx/importer.h"

/* ---- quantize and dequantize ---- */

static int refuse_blocks(const struct mafat_onnx_importer *i)
{
  long long block;
  int code = mafat_onnx_int(i, "block_size", 0, &block);
  return code || !block ? code
                        : mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                                           "attribute block_size: expected 0, found %lld", block);
}

static int read_axis(const struct mafat_onnx_importer *i, const struct mafat_value *in, int *dim)
{
  long long axis;
  int code = mafat_onnx_int(i, "axis", 1, &axis);
  *dim = (int)(axis < 0 ? axis + in->view.n_dims : axis);
  return code;
}

/* Reshapes input `index`, a list of numbers, to n_dims dimensions: the list runs along dimension
 * `dim`, the other dimensions have size 1. A single number becomes a scalar. */
static int lay_along(struct mafat_onnx_importer *i, struct mafat_value *out, int index, int n_dims,
                     int dim)
{
  const struct mafat_value *v = mafat_onnx_in(i, index);
  long long dims[MAFAT_VIEW_DIMS];
  if (mafat_value_elements(v) == 1) return mafat_graph_reshape(i->g, out, v, 0, dims);
  if (dim < 0 || dim >= n_dims)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT,
                            "attribute axis: expected a dimension of %d, found %d", n_dims, dim);
  for (int k = 0; k < n_dims; k++) dims[k] = k == dim ? mafat_value_elements(v) : 1;
  return mafat_graph_reshape(i->g, out, v, n_dims, dims);
}

/* Applies operator `op` to x and input `index`, which has one number, or one for each index of
 * dimension `dim`. Copies x if the input is absent. */
static int apply_input(struct mafat_onnx_importer *i, struct mafat_value *out,
                       enum mafat_graph_binary op, const struct mafat_value *x, int index, int dim)
{
  struct mafat_value laid = {.maker = -1};
  if (!mafat_onnx_has(i, index)) return mafat_value_copy(i->g, out, x);
  int code = lay_along(i, &laid, index, x->view.n_dims, dim);
  if (code == MAFAT_OK) code = mafat_graph_combine(i->g, out, op, x, &laid);
  mafat_value_clear(&laid);
  return code;
}

/* Returns the type of QuantizeLinear's output: of its zero point, else output_dtype, else uint8. */
static int declared_type(const struct mafat_onnx_importer *i)
{
  const struct mafat_onnx_value *zero = i->node->n_inputs > 2 ? i->node->inputs[2] : NULL;
  const struct mafat_onnx_node *maker =
      zero && zero->node >= 0 ? &i->model->nodes[zero->node] : NULL;
  long long type;
  if (maker && strcmp(maker->op_type, "Cast") == 0) {
    const struct mafat_onnx_attribute *to = mafat_onnx_attribute(maker, "to");
    return to && to->type == MAFAT_ONNX_ATTRIBUTE_INT ? (int)to->as.i : MAFAT_ONNX_UINT8;
  }
  if (zero && mafat_value_is_constant(&i->values[zero->index]))
    return mafat_onnx_constant_type(i, zero);
  return mafat_onnx_int(i, "output_dtype", MAFAT_ONNX_UINT8, &type) || !type ? MAFAT_ONNX_UINT8
                                                                             : (int)type;
}

/* Quantizes by float operators; the results are integers that are stored as floats. For scales per
 * channel, and scales known only at run time. */
static int quantize_floats(struct mafat_onnx_importer *i, const struct mafat_value *in, int type)
{
  enum { SCALED, ROUNDED, MOVED, N_STEPS };
  struct mafat_value steps[N_STEPS];
  int dim, code = read_axis(i, in, &dim);
  struct mafat_activating clip = {MAFAT_CLIP, type == MAFAT_ONNX_INT8 ? -128 : 0,
                                  type == MAFAT_ONNX_INT8 ? 127 : 255};
  for (int k = 0; k < N_STEPS; k++) steps[k] = (struct mafat_value){.maker = -1};
  if (code == MAFAT_OK) code = apply_input(i, &steps[SCALED], MAFAT_GRAPH_DIV, in, 1, dim);
  if (code == MAFAT_OK)
    code =
        mafat_graph_activate(i->g, &steps[ROUNDED], &steps[SCALED], mafat_activating(MAFAT_ROUND));
  if (code == MAFAT_OK)
    code = apply_input(i, &steps[MOVED], MAFAT_GRAPH_ADD, &steps[ROUNDED], 2, dim);
  if (code == MAFAT_OK)
    code = mafat_graph_activate(i->g, mafat_onnx_out(i, 0), &steps[MOVED], clip);
  for (int k = 0; k < N_STEPS; k++) mafat_value_clear(&steps[k]);
  return code;
}

static bool is_one(const struct mafat_value *v)
{
  return mafat_value_is_constant(v) && mafat_value_elements(v) == 1;
}

static int quantize_constant(struct mafat_onnx_importer *i, const struct mafat_value *in,
                             const struct mafat_onnx_declared *declared)
{
  enum { MOST = 1 << 24 };
  struct mafat_value *out = mafat_onnx_out(i, 0);
  double *reals, *scales;
  struct mafat_constant place;
  int dim, code = read_axis(i, in, &dim), least = declared->type == MAFAT_ONNX_INT8 ? -128 : 0;
  if (code == MAFAT_OK && declared->apart)
    code = mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "expected one zero point of a constant's channels, found several");
  if (code == MAFAT_OK && declared->n > 1 &&
      (dim < 0 || dim >= in->view.n_dims || in->view.dims[dim] != declared->n))
    code = mafat_graph_fail(i->g, MAFAT_EFORMAT,
                            "expected a scale for each index of dimension %d, found %lld", dim,
                            declared->n);
  if (code == MAFAT_OK) code = mafat_value_numbers(i->g, in, MOST, &reals);
  if (code) return code;
  code = mafat_value_numbers(i->g, mafat_onnx_in(i, 1), MOST, &scales);
  long long n = mafat_value_elements(in), inner = 1;
  /* with one scale any dimension is valid */
  for (int k = dim + 1; declared->n > 1 && k < in->view.n_dims; k++) inner *= in->view.dims[k];
  for (long long k = 0; code == MAFAT_OK && k < n; k++) {
    float scale = (float)scales[declared->n > 1 ? k / inner % declared->n : 0];
    reals[k] =
        fmin(fmax((double)rintf((float)reals[k] / scale) + declared->zero, least), least + 255);
  }
  if (code == MAFAT_OK) free(scales);
  if (code == MAFAT_OK)
    code = mafat_graph_keep_whole(i->g, &place, reals, (size_t)n,
                                  mafat_onnx_whole_type(declared->type));
  if (code == MAFAT_OK) {
    *out = (struct mafat_value){.form = MAFAT_VALUE_PLACE, .maker = -1, .place = place};
    mafat_view_linear(&out->view, in->view.n_dims, in->view.dims, MAFAT_AXIS_NUMBERS);
  }
  free(reals);
  return code;
}

static int quantize_map(struct mafat_onnx_importer *i, const struct mafat_value *in,
                        const struct mafat_onnx_declared *declared)
{
  struct mafat_meaning to, is = mafat_value_meaning(i->g, in);
  int code = mafat_onnx_declared_meaning(i, declared, &to);
  if (code) return code;
  bool same = is.type == to.type && is.numbers.is_signed == to.numbers.is_signed;
  if (same && mafat_quantization_equals(&is.numbers, &to.numbers))
    return mafat_value_copy(i->g, mafat_onnx_out(i, 0), in);
  return mafat_graph_quantize(i->g, mafat_onnx_out(i, 0), in, to, MAFAT_REQUANTIZE_EVEN);
}

static int import_quantize(struct mafat_onnx_importer *i)
{
  const struct mafat_value *in = mafat_onnx_in(i, 0), *scale = mafat_onnx_in(i, 1);
  const struct mafat_onnx_value *v = i->node->inputs[0];
  int type = declared_type(i), code = refuse_blocks(i);
  struct mafat_onnx_declared declared;
  if (code) return code;
  if (type != MAFAT_ONNX_INT8 && type != MAFAT_ONNX_UINT8)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "expected numbers of type int8 or uint8, found %s",
                            mafat_onnx_type_name(type));
  if (mafat_value_is_integer(i->g, in) && !i->dequantized[v->index])
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "input 0 is of type %s: expected float",
                            mafat_onnx_type_name(mafat_onnx_map_type(i, in)));
  if (scale->form == MAFAT_VALUE_MAP) return quantize_floats(i, in, type);
  code = mafat_onnx_read_quantization(i, 1, 2, mafat_onnx_has(i, 2) ? MAFAT_ONNX_UNDEFINED : type,
                                      &declared);
  if (code) return code;
  if (mafat_value_is_constant(in)) return quantize_constant(i, in, &declared);
  if (is_one(scale)) return quantize_map(i, in, &declared);
  code = mafat_onnx_make_floats(i, v->index);
  return code ? code : quantize_floats(i, mafat_onnx_in(i, 0), type);
}

/* Dequantizes by float operators: (x - zero) * scale. For values that are floats, scales per
 * channel, and scales known only at run time. */
static int dequantize_floats(struct mafat_onnx_importer *i, const struct mafat_value *in)
{
  struct mafat_value plain = {.maker = -1}, moved = {.maker = -1};
  int dim, code = read_axis(i, in, &dim);
  if (code == MAFAT_OK) code = mafat_onnx_plain_floats(i, &plain, in, 0);
  if (code == MAFAT_OK) code = apply_input(i, &moved, MAFAT_GRAPH_SUB, &plain, 2, dim);
  if (code == MAFAT_OK)
    code = apply_input(i, mafat_onnx_out(i, 0), MAFAT_GRAPH_MUL, &moved, 1, dim);
  mafat_value_clear(&plain);
  mafat_value_clear(&moved);
  return code;
}

static int dequantize_map(struct mafat_onnx_importer *i, const struct mafat_value *in,
                          const struct mafat_onnx_declared *declared)
{
  struct mafat_meaning is;
  int code = mafat_onnx_declared_meaning(i, declared, &is);
  if (code == MAFAT_OK) code = mafat_onnx_rename(i, mafat_onnx_out(i, 0), in, is);
  i->dequantized[i->node->outputs[0]->index] = true;
  return code;
}

static int dequantize_constant(struct mafat_onnx_importer *i, const struct mafat_value *in,
                               const struct mafat_onnx_declared *declared)
{
  int dim, code = read_axis(i, in, &dim);
  if (declared->n == 1) dim = 0;
  if (code == MAFAT_OK && declared->apart)
    code = mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "expected one zero point of a constant's channels, found several");
  return code ? code : mafat_onnx_quantized_constant(i, mafat_onnx_out(i, 0), in, declared, dim);
}

static int import_dequantize(struct mafat_onnx_importer *i)
{
  const struct mafat_value *in = mafat_onnx_in(i, 0), *scale = mafat_onnx_in(i, 1);
  struct mafat_onnx_declared declared;
  bool known = mafat_value_is_constant(in), integer = mafat_value_is_integer(i->g, in);
  int type = known     ? mafat_onnx_constant_type(i, i->node->inputs[0])
             : integer ? mafat_onnx_map_type(i, in)
                       : MAFAT_ONNX_UNDEFINED;
  if (known && type != MAFAT_ONNX_UNDEFINED && mafat_onnx_whole_type(type) == MAFAT_N_DTYPES)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "expected numbers of type int8, uint8 or int32, found %s",
                            mafat_onnx_type_name(type));
  int code = refuse_blocks(i);
  if (code == MAFAT_OK && scale->form == MAFAT_VALUE_MAP) return dequantize_floats(i, in);
  if (code == MAFAT_OK) code = mafat_onnx_read_quantization(i, 1, 2, type, &declared);
  if (code) return code;
  if (known) return dequantize_constant(i, in, &declared);
  return integer && is_one(scale) ? dequantize_map(i, in, &declared) : dequantize_floats(i, in);
}

/* ---- QLinear operators ---- */

enum { MOST_TRIPLES = 3 };

/* How a QLinear operator's inputs are ordered. Each operand is a triple: values, scale, zero
 * point. */
static const struct composed {
  const char *as;             /* the ordinary operator */
  int n, first[MOST_TRIPLES]; /* number of triples, and the input where each begins */
  int bias;                   /* input with the bias; -1: none */
  int out;                    /* input with the output's scale; its zero point follows */
} composed[] = {
    {"Conv", 2, {0, 3, 0}, 8, 6},
    {"MatMul", 2, {0, 3, 0}, -1, 6},
    {"Gemm", 2, {0, 3, 0}, 6, 7},
    {"Add", 2, {0, 3, 0}, -1, 6},
    {"Mul", 2, {0, 3, 0}, -1, 6},
    {"AveragePool", 1, {0, 0, 0}, -1, 3},
    {"GlobalAveragePool", 1, {0, 0, 0}, -1, 3},
    {"Sigmoid", 1, {0, 0, 0}, -1, 3},
    {"LeakyRelu", 1, {0, 0, 0}, -1, 3},
    {"Softmax", 1, {0, 0, 0}, -1, 3},
    {"Concat", 0, {0, 0, 0}, -1, 0},
};
enum {
  CONV, MATMUL, GEMM, ADD, MUL, AVERAGE_POOL, GLOBAL_AVERAGE_POOL, SIGMOID, LEAKY_RELU, SOFTMAX,
  CONCAT
};

/* Returns the dimension of the weights whose indices are the filters. */
static int filters_of(const struct mafat_onnx_importer *i, const struct composed *c,
                      const struct mafat_value *v)
{
  long long turned;
  if (strcmp(c->as, "Conv") == 0) return 0;
  return strcmp(c->as, "Gemm") == 0 && mafat_onnx_int(i, "transB", 0, &turned) == MAFAT_OK && turned
             ? 0
             : v->view.n_dims - 1;
}

/* Sets *out to input `index`, with the quantization parameters that the node declares for it. */
static int read_operand(struct mafat_onnx_importer *i, const struct composed *c, int index,
                        struct mafat_value *out)
{
  const struct mafat_value *in = mafat_onnx_in(i, index);
  struct mafat_onnx_declared declared;
  struct mafat_meaning is;
  *out = (struct mafat_value){.maker = -1};
  if (in->form == MAFAT_VALUE_NONE)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "input %d is left out", index);
  bool known = mafat_value_is_constant(in),
       whole = mafat_value_is_integer(i->g, in) && !i->dequantized[i->node->inputs[index]->index];
  if (!known && !whole)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT,
                            "input %d is of type float: expected int8 or uint8", index);
  int type =
      known ? mafat_onnx_constant_type(i, i->node->inputs[index]) : mafat_onnx_map_type(i, in);
  if (type != MAFAT_ONNX_UNDEFINED && type != MAFAT_ONNX_INT8 && type != MAFAT_ONNX_UINT8)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "input %d is of type %s: expected int8 or uint8", index,
                            mafat_onnx_type_name(type));
  int code = mafat_onnx_read_quantization(i, index + 1, index + 2, type, &declared);
  if (code) return code;
  if (known && declared.apart)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "input %d: expected one zero point, found several", index + 2);
  if (known)
    return mafat_onnx_quantized_constant(i, out, in, &declared,
                                         declared.n > 1 ? filters_of(i, c, in) : 0);
  code = mafat_onnx_declared_meaning(i, &declared, &is);
  return code ? code : mafat_onnx_rename(i, out, in, is);
}

static int read_bias(const struct mafat_onnx_importer *i, const struct composed *c,
                     struct mafat_value *out)
{
  *out = (struct mafat_value){.form = MAFAT_VALUE_NONE, .maker = -1};
  if (c->bias < 0 || !mafat_onnx_has(i, c->bias)) return MAFAT_OK;
  const struct mafat_value *in = mafat_onnx_in(i, c->bias);
  int type = mafat_value_is_constant(in) ? mafat_onnx_constant_type(i, i->node->inputs[c->bias])
                                         : MAFAT_ONNX_UNDEFINED;
  if (type != MAFAT_ONNX_INT32)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "bias: expected a constant of type int32");
  if (in->form == MAFAT_VALUE_PLACE) return mafat_value_copy(i->g, out, in);
  *out = (struct mafat_value){.form = MAFAT_VALUE_PLACE, .view = in->view, .maker = -1};
  return mafat_graph_keep_whole(i->g, &out->place, in->numbers, (size_t)mafat_value_elements(in),
                                MAFAT_I32);
}

static int read_output(const struct mafat_onnx_importer *i, int index, struct mafat_meaning *to)
{
  struct mafat_onnx_declared declared;
  int code = mafat_onnx_read_quantization(i, index, index + 1, MAFAT_ONNX_UNDEFINED, &declared);
  return code ? code : mafat_onnx_declared_meaning(i, &declared, to);
}

/* Computes the ordinary operator on these operands. */
static int compute(struct mafat_onnx_importer *i, const struct composed *c,
                   const struct mafat_value *const *list, int n, const struct mafat_meaning *to)
{
  const struct mafat_onnx_operator *own = i->row;
  long long opset;
  int code = mafat_onnx_int(i, "opset", i->opset, &opset);
  i->operands = list;
  i->n_operands = n;
  i->row = mafat_onnx_find_operator(c->as);
  i->opset = opset;
  if (code == MAFAT_OK) code = mafat_onnx_compute(i, mafat_onnx_out(i, 0), to);
  i->operands = NULL;
  i->row = own;
  return code;
}

static int import_composed(struct mafat_onnx_importer *i)
{
  const struct composed *c = &composed[mafat_onnx_variant(i)];
  struct mafat_value own[MOST_TRIPLES];
  const struct mafat_value *list[MOST_TRIPLES];
  struct mafat_meaning to;
  long long channels_last;
  int n = c->n, code = read_output(i, c->out, &to);
  if (code == MAFAT_OK) code = mafat_onnx_int(i, "channels_last", 0, &channels_last);
  if (code == MAFAT_OK && channels_last)
    code =
        mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "attribute channels_last: expected 0, found 1");
  for (int k = 0; k < MOST_TRIPLES; k++) {
    own[k] = (struct mafat_value){.form = MAFAT_VALUE_NONE, .maker = -1};
    list[k] = &own[k];
    if (code == MAFAT_OK && k < n) code = read_operand(i, c, c->first[k], &own[k]);
  }
  if (code == MAFAT_OK) code = read_bias(i, c, &own[n]);
  if (code == MAFAT_OK) code = compute(i, c, list, n + (own[n].form != MAFAT_VALUE_NONE), &to);
  for (int k = 0; k < MOST_TRIPLES; k++) mafat_value_clear(&own[k]);
  return code;
}

/* Concatenation: a triple per operand follows the output's scale and zero point. */
static int import_join(struct mafat_onnx_importer *i)
{
  const struct composed *c = &composed[CONCAT];
  struct mafat_value own[MAFAT_MAX_OPERANDS];
  const struct mafat_value *list[MAFAT_MAX_OPERANDS];
  struct mafat_meaning to;
  int n = (i->node->n_inputs - 2) / 3, code = read_output(i, c->out, &to);
  if (n < 1 || n > MAFAT_MAX_OPERANDS || i->node->n_inputs != 3 * n + 2)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "expected 5, 8, 11 ... inputs, found %d",
                            i->node->n_inputs);
  for (int k = 0; k < n; k++) {
    own[k] = (struct mafat_value){.maker = -1};
    list[k] = &own[k];
    if (code == MAFAT_OK) code = read_operand(i, c, 2 + 3 * k, &own[k]);
  }
  if (code == MAFAT_OK) code = compute(i, c, list, n, &to);
  for (int k = 0; k < n; k++) mafat_value_clear(&own[k]);
  return code;
}

/* ---- inputs of the model ---- */

/* True if the node declares the quantization parameters of its input `index`. */
static bool declares(const struct mafat_onnx_node *n, int index)
{
  const struct mafat_onnx_operator *o = mafat_onnx_quantized_operators;
  while (o->op_type && strcmp(o->op_type, n->op_type) != 0) o++;
  if (!o->op_type) return false;
  if (o->import == import_join) return index >= 2 && (index - 2) % 3 == 0;
  if (o->import == import_dequantize) return index == 0;
  for (int k = 0; o->import == import_composed && k < composed[o->variant].n; k++)
    if (composed[o->variant].first[k] == index) return true;
  return false;
}

/* Reads the quantization parameters that node n declares for its input `index`. Leaves *out
 * unchanged if they are not constants, or if there are several scales. */
static int read_declared(struct mafat_onnx_importer *i, const struct mafat_onnx_node *n, int index,
                         int type, struct mafat_meaning *out)
{
  struct mafat_onnx_declared declared;
  int code = MAFAT_OK;
  for (int k = index + 1; k <= index + 2 && k < n->n_inputs && code == MAFAT_OK; k++) {
    const struct mafat_onnx_value *v = n->inputs[k];
    if (v && v->initializer && i->values[v->index].form == MAFAT_VALUE_NONE)
      code = mafat_onnx_constant(i, &i->values[v->index], v->initializer);
    if (code || (v && !mafat_value_is_constant(&i->values[v->index]))) return code;
  }
  i->node = n;
  if (code == MAFAT_OK && mafat_value_elements(mafat_onnx_in(i, index + 1)) != 1) return MAFAT_OK;
  i->g->operator_name = n->op_type;
  i->g->node_name = n->name;
  if (code == MAFAT_OK)
    code = mafat_onnx_read_quantization(i, index + 1, index + 2, type, &declared);
  if (code == MAFAT_OK) *out = mafat_onnx_meaning(declared.type, declared.scale, declared.zero);
  i->g->operator_name = NULL;
  return code;
}

int mafat_onnx_input_meaning(struct mafat_onnx_importer *i, const struct mafat_onnx_value *v,
                             struct mafat_meaning *out)
{
  int type = v->info->type;
  *out = (struct mafat_meaning){.type = MAFAT_F32};
  if (type != MAFAT_ONNX_INT8 && type != MAFAT_ONNX_UINT8) return MAFAT_OK;
  *out = mafat_onnx_meaning(type, 1, 0);
  size_t n_readers;
  const int *readers = mafat_onnx_readers(i, v, &n_readers);
  for (size_t r = 0; r < n_readers; r++) {
    const struct mafat_onnx_node *n = &i->model->nodes[readers[r]];
    for (int k = 0; k < n->n_inputs && (r == 0 || readers[r] != readers[r - 1]); k++)
      if (n->inputs[k] == v && declares(n, k)) return read_declared(i, n, k, type, out);
  }
  return MAFAT_OK;
}

const struct mafat_onnx_operator mafat_onnx_quantized_operators[] = {
    {"QuantizeLinear", import_quantize, 0},
    {"DequantizeLinear", import_dequantize, 0},
    {"QLinearConv", import_composed, CONV},
    {"QLinearMatMul", import_composed, MATMUL},
    {"QGemm", import_composed, GEMM},
    {"QLinearAdd", import_composed, ADD},
    {"QLinearMul", import_composed, MUL},
    {"QLinearAveragePool", import_composed, AVERAGE_POOL},
    {"QLinearGlobalAveragePool", import_composed, GLOBAL_AVERAGE_POOL},
    {"QLinearSigmoid", import_composed, SIGMOID},
    {"QLinearLeakyRelu", import_composed, LEAKY_RELU},
    {"QLinearSoftmax", import_composed, SOFTMAX},
    {"QLinearConcat", import_join, CONCAT},
    {NULL, NULL, 0}};
