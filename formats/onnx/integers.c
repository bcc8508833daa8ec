/* Decides how nodes with quantized operands are imported. A DequantizeLinear makes no layer: its
 * output is the same map, marked as dequantized, until an operator needs floats. Operators that
 * only move elements pass the mark on. An operator between DequantizeLinear and QuantizeLinear is
 * computed in integers, as one layer, if the kernels support it. For all others the floats are
 * computed, as ONNX specifies. Called by formats/onnx/import.c for each node, and by import_shape.c
 * for the value that Pad fills in. Adds layers to the graph. */
#include "formats/onnx/importer.h"

static bool is_map(const struct mafat_onnx_importer *i, const struct mafat_value *v)
{
  return mafat_value_is_integer(i->g, v);
}

/* ---- chains up to a QuantizeLinear ---- */

/* Returns the only node that reads a value, if it is a later one and reads it as input 0. */
static const struct mafat_onnx_node *reader_of(const struct mafat_onnx_importer *i,
                                               const struct mafat_onnx_value *v)
{
  const struct mafat_onnx_node *n = v && v->makers == 1 ? mafat_onnx_only_reader(i, v) : NULL;
  return n && n > i->node && n->inputs[0] == v && n->n_outputs > 0 && n->outputs[0] ? n : NULL;
}

/* Nodes from an operator to its QuantizeLinear. */
struct integer_chain {
  const struct mafat_onnx_node *bounds; /* Relu or Clip; NULL: none */
  const struct mafat_onnx_node *last;   /* the QuantizeLinear */
  struct mafat_meaning to;              /* type and scale of its output */
};

/* Runs a function with another node as the current one. */
static int ask(struct mafat_onnx_importer *i, const struct mafat_onnx_node *node,
               struct integer_chain *c,
               int (*question)(struct mafat_onnx_importer *i, struct integer_chain *c))
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

/* Makes values of initializers that no earlier node has read. */
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

/* Reads the type and scale that the QuantizeLinear, now the current node, gives its output. If they
 * are not constant, c->last becomes NULL. */
static int ask_meaning(struct mafat_onnx_importer *i, struct integer_chain *c)
{
  struct mafat_onnx_declared declared;
  int code = make_constants(i);
  bool known = mafat_value_is_constant(mafat_onnx_in(i, 1)) &&
               mafat_value_elements(mafat_onnx_in(i, 1)) == 1 &&
               (!mafat_onnx_has(i, 2) || mafat_value_is_constant(mafat_onnx_in(i, 2)));
  if (code || !known) {
    c->last = NULL;
    return code;
  }
  code = mafat_onnx_read_quantization(i, 1, 2, MAFAT_ONNX_UNDEFINED, &declared);
  return code ? code : mafat_onnx_declared_meaning(i, &declared, &c->to);
}

/* Clamps the output's range to the bounds of the Relu or Clip. */
static int ask_bounds(struct mafat_onnx_importer *i, struct integer_chain *c)
{
  float least = 0, most = INFINITY;
  int code = make_constants(i);
  if (code == MAFAT_OK && strcmp(i->node->op_type, "Clip") == 0)
    code = mafat_onnx_bounds(i, &least, &most);
  if (code == MAFAT_OK) mafat_quantization_clamp(&c->to.numbers, least, most);
  return code;
}

/* True for a Relu, and for a Clip with constant bounds. */
static bool are_bounds(const struct mafat_onnx_importer *i, const struct mafat_onnx_node *n)
{
  if (strcmp(n->op_type, "Relu") == 0) return true;
  if (strcmp(n->op_type, "Clip") != 0) return false;
  for (int k = 1; k < n->n_inputs; k++)
    if (n->inputs[k] && !n->inputs[k]->initializer &&
        !mafat_value_is_constant(&i->values[n->inputs[k]->index]))
      return false;
  return true;
}

/* Finds the chain that begins with the current node; c->last is NULL if there is none. */
static int find_chain(struct mafat_onnx_importer *i, struct integer_chain *c)
{
  *c = (struct integer_chain){.last = i->node->n_outputs == 1 ? reader_of(i, i->node->outputs[0])
                                                              : NULL};
  if (c->last && are_bounds(i, c->last)) {
    c->bounds = c->last;
    c->last = reader_of(i, c->bounds->outputs[0]);
  }
  if (c->last &&
      (strcmp(c->last->op_type, "QuantizeLinear") != 0 || c->last->outputs[0]->makers != 1))
    c->last = NULL;
  int code = c->last ? ask(i, c->last, c, ask_meaning) : MAFAT_OK;
  return code == MAFAT_OK && c->last && c->bounds ? ask(i, c->bounds, c, ask_bounds) : code;
}

/* Computes the whole chain as one layer. All outputs of its nodes get a value, so that these nodes
 * are skipped later. */
static int compute_chain(struct mafat_onnx_importer *i, bool *done)
{
  struct integer_chain c;
  struct mafat_value made = {.maker = -1};
  int code = find_chain(i, &c);
  if (code || !c.last) return code;
  code = mafat_onnx_compute_whole(i, &made, &c.to, done);
  if (code || !*done) return code;
  struct mafat_value *out = &i->values[c.last->outputs[0]->index];
  made.readers = out->readers;
  *out = made;
  if (c.bounds) code = mafat_value_copy(i->g, &i->values[c.bounds->outputs[0]->index], &made);
  return code ? code : mafat_value_copy(i->g, &i->values[i->node->outputs[0]->index], &made);
}

/* ---- operators that move elements ---- */

/* Operators that only move elements. */
static const struct moving {
  const char *op_type;
  bool all; /* moves elements of all inputs; else only of input 0, and the others are parameters */
} moving[] = {{"Identity", false},  {"Dropout", false},      {"Reshape", false},
              {"Flatten", false},   {"Squeeze", false},      {"Unsqueeze", false},
              {"Transpose", false}, {"Slice", false},        {"Split", false},
              {"Pad", false},       {"DepthToSpace", false}, {"SpaceToDepth", false},
              {"Expand", false},    {"MaxPool", false},      {"Gather", false},
              {"Resize", false},    {"Upsample", false},     {"Concat", true}};

bool mafat_onnx_fill_number(const struct mafat_onnx_importer *i, const struct mafat_value *in,
                            float real, float *number)
{
  struct mafat_quantization q = mafat_value_meaning(i->g, in).numbers;
  *number = mafat_onnx_is_dequantized(i, 0)
                ? rintf(real / q.scale) + (float)q.zero
                : real + (float)(q.is_signed ? MAFAT_SIGNED_TO_BYTE : 0);
  bool exact = !mafat_onnx_is_dequantized(i, 0) || (*number - (float)q.zero) * q.scale == real;
  return exact && *number >= 0 && *number <= 255;
}

/* True if the padding value can be quantized. */
static bool can_pad(const struct mafat_onnx_importer *i)
{
  float fill = 0, number;
  double declared;
  if (mafat_onnx_float(i, "value", 0, &fill)) return false;
  if (mafat_onnx_has(i, 2)) {
    if (mafat_value_number(i->g, mafat_onnx_in(i, 2), &declared)) return false;
    fill = (float)declared;
  }
  return mafat_onnx_fill_number(i, mafat_onnx_in(i, 0), fill, &number);
}

/* True if the node only moves integers, which all have one scale and zero point. */
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
    if (!is_map(i, v) || mafat_onnx_is_dequantized(i, k) != mafat_onnx_is_dequantized(i, 0))
      return false;
    struct mafat_meaning other = mafat_value_meaning(i->g, v);
    if (!mafat_quantization_equals(&is.numbers, &other.numbers)) return false;
  }
  if (strcmp(m->op_type, "Gather") == 0 && !mafat_value_is_constant(mafat_onnx_in(i, 1)))
    return false;
  if (mafat_onnx_resizes(i))
    return !mafat_onnx_is_mode(i, "linear") && !mafat_onnx_is_mode(i, "cubic");
  return strcmp(m->op_type, "Pad") != 0 || can_pad(i);
}

/* Imports a node that only moves integers. Its outputs are marked as dequantized if input 0 is. */
static int move(struct mafat_onnx_importer *i)
{
  bool floats = mafat_onnx_is_dequantized(i, 0);
  i->g->makes = mafat_value_meaning(i->g, mafat_onnx_in(i, 0));
  int code = i->row->import(i);
  i->g->makes = (struct mafat_meaning){.type = MAFAT_F32};
  for (int k = 0; k < i->node->n_outputs; k++)
    if (i->node->outputs[k]) i->dequantized[i->node->outputs[k]->index] = floats;
  return code;
}

/* If the node is a Transpose of a quantized constant, or a Reshape of a quantized constant with one
 * scale, imports it and sets *done. The scales' dimension is transposed, too. */
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

/* ---- dispatch ---- */

/* True for operators that declare quantization themselves. */
static bool declares_quantization(const struct mafat_onnx_importer *i)
{
  static const struct mafat_onnx_operator *const tables[] = {mafat_onnx_quantized_operators,
                                                             mafat_onnx_dynamic_operators};
  for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
    for (const struct mafat_onnx_operator *o = tables[t]; o->op_type; o++)
      if (o == i->row) return true;
  return false;
}

/* Casts integers to floats of the same value. */
static int cast(struct mafat_onnx_importer *i, bool *done)
{
  long long to;
  int code = mafat_onnx_int(i, "to", MAFAT_ONNX_FLOAT, &to);
  *done = code == MAFAT_OK && to == MAFAT_ONNX_FLOAT;
  return *done ? mafat_onnx_plain_floats(i, mafat_onnx_out(i, 0), mafat_onnx_in(i, 0), 0) : code;
}

/* True if input `index` is int8 weights of a float operator, with one scale or one per filter. They
 * stay int8, and are dequantized when they are read. */
static bool are_narrow(const struct mafat_onnx_importer *i, int index)
{
  const struct mafat_value *w = mafat_onnx_in(i, index);
  const char *op_type = i->row->op_type;
  long long turned;
  if (index != 1 || !mafat_value_is_quantized(w) || w->place.type != MAFAT_I8 || w->scales.zero ||
      is_map(i, mafat_onnx_in(i, 0)) || mafat_onnx_in(i, 0)->form != MAFAT_VALUE_MAP)
    return false;
  if (strcmp(op_type, "Conv") == 0) return w->scales.list.n == 1 || w->scales.dimension == 0;
  if (w->view.n_dims != 2) return false;
  if (strcmp(op_type, "MatMul") == 0) return w->scales.list.n == 1 || w->scales.dimension == 1;
  if (strcmp(op_type, "Gemm") != 0 || mafat_onnx_int(i, "transB", 0, &turned)) return false;
  return w->scales.list.n == 1 || w->scales.dimension == !turned;
}

/* Dequantizes the node's inputs. */
static int need_floats(struct mafat_onnx_importer *i)
{
  int code = MAFAT_OK;
  for (int k = 0; k < i->node->n_inputs && code == MAFAT_OK; k++) {
    if (!i->node->inputs[k] || are_narrow(i, k)) continue;
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
  if (declares_quantization(i)) return MAFAT_OK;
  for (int k = 0; k < i->node->n_inputs; k++)
    any = any || is_map(i, mafat_onnx_in(i, k)) || mafat_value_is_quantized(mafat_onnx_in(i, k));
  if (!any) return MAFAT_OK;
  *done = moves(i);
  if (*done || i->g->code) return i->g->code ? i->g->code : move(i);
  if (strcmp(i->row->op_type, "Cast") == 0 && is_map(i, mafat_onnx_in(i, 0)) &&
      !mafat_onnx_is_dequantized(i, 0))
    code = cast(i, done);
  if (code == MAFAT_OK && !*done && mafat_value_is_quantized(mafat_onnx_in(i, 0)))
    code = move_constant(i, done);
  if (code == MAFAT_OK && !*done) code = compute_chain(i, done);
  return code || *done ? code : need_floats(i);
}
