/* Imports ONNX models: checks operators and inputs, makes values, and calls the importer of each
 * node. Called by formats/readers.c and formats/packed/graph.c through mafat_onnx_reader; the
 * importers (import_*.c and other files of formats/onnx) call its helpers. Reads the model's files;
 * allocates the network, which the caller closes. */
#include "formats/onnx/import.h"

#include "formats/onnx/importer.h"

/* ---- inputs and outputs of the current node ---- */

const struct mafat_value *mafat_onnx_in(const struct mafat_onnx_importer *i, int index)
{
  static const struct mafat_value none = {.form = MAFAT_VALUE_NONE, .maker = -1};
  if (i->operands) return index < i->n_operands ? i->operands[index] : &none;
  const struct mafat_onnx_value *v = index < i->node->n_inputs ? i->node->inputs[index] : NULL;
  return v ? &i->values[v->index] : &none;
}

bool mafat_onnx_has(const struct mafat_onnx_importer *i, int index)
{
  return mafat_onnx_in(i, index)->form != MAFAT_VALUE_NONE;
}

int mafat_onnx_n_inputs(const struct mafat_onnx_importer *i)
{
  return i->operands ? i->n_operands : i->node->n_inputs;
}

bool mafat_onnx_wants(const struct mafat_onnx_importer *i, int index)
{
  const struct mafat_onnx_value *v = index < i->node->n_outputs ? i->node->outputs[index] : NULL;
  return v && i->values[v->index].readers > 0;
}

struct mafat_value *mafat_onnx_out(const struct mafat_onnx_importer *i, int index)
{
  if (i->target && index == 0) return i->target;
  return &i->values[i->node->outputs[index]->index];
}

static int refuse_attribute(const struct mafat_onnx_importer *i,
                            const struct mafat_onnx_attribute *a, const char *expected)
{
  return mafat_graph_fail(i->g, MAFAT_EFORMAT, "expected attribute '%.60s' to be %s, found %s",
                          a->name, expected, mafat_onnx_attribute_type_name(a->type));
}

int mafat_onnx_int(const struct mafat_onnx_importer *i, const char *name, long long otherwise,
                   long long *value)
{
  const struct mafat_onnx_attribute *a = mafat_onnx_attribute(i->node, name);
  *value = otherwise;
  if (!a) return MAFAT_OK;
  if (a->type != MAFAT_ONNX_ATTRIBUTE_INT) return refuse_attribute(i, a, "an integer");
  *value = a->as.i;
  return MAFAT_OK;
}

int mafat_onnx_flag(const struct mafat_onnx_importer *i, const char *name, bool otherwise,
                    bool *value)
{
  long long number;
  int code = mafat_onnx_int(i, name, otherwise, &number);
  *value = code == MAFAT_OK && number != 0;
  if (code == MAFAT_OK && number != 0 && number != 1)
    code = mafat_graph_fail(i->g, MAFAT_EFORMAT, "attribute %s: expected 0 or 1, found %lld", name,
                            number);
  return code;
}

int mafat_onnx_float(const struct mafat_onnx_importer *i, const char *name, float otherwise,
                     float *value)
{
  const struct mafat_onnx_attribute *a = mafat_onnx_attribute(i->node, name);
  *value = otherwise;
  if (!a) return MAFAT_OK;
  if (a->type != MAFAT_ONNX_ATTRIBUTE_FLOAT) return refuse_attribute(i, a, "a number");
  *value = a->as.f;
  return MAFAT_OK;
}

int mafat_onnx_string(const struct mafat_onnx_importer *i, const char *name, const char *otherwise,
                      const char **value)
{
  const struct mafat_onnx_attribute *a = mafat_onnx_attribute(i->node, name);
  *value = otherwise;
  if (!a) return MAFAT_OK;
  if (a->type != MAFAT_ONNX_ATTRIBUTE_STRING) return refuse_attribute(i, a, "a word");
  *value = a->as.s;
  return MAFAT_OK;
}

int mafat_onnx_ints(const struct mafat_onnx_importer *i, const char *name, int most,
                    long long *values, int *n)
{
  const struct mafat_onnx_attribute *a = mafat_onnx_attribute(i->node, name);
  *n = -1;
  if (!a) return MAFAT_OK;
  if (a->type != MAFAT_ONNX_ATTRIBUTE_INTS) return refuse_attribute(i, a, "a list of integers");
  if (a->n > most)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT,
                            "expected at most %d numbers in attribute '%.60s', found %d", most,
                            name, a->n);
  for (*n = 0; *n < a->n; ++*n) values[*n] = a->as.ints[*n];
  return MAFAT_OK;
}

int mafat_onnx_list(const struct mafat_onnx_importer *i, const char *name, int index, int most,
                    long long *values, int *n)
{
  if (mafat_onnx_has(i, index))
    return mafat_value_integers(i->g, mafat_onnx_in(i, index), most, values, n);
  return mafat_onnx_ints(i, name, most, values, n);
}

int mafat_onnx_axis(const struct mafat_onnx_importer *i, long long axis, int n_dims, int *out)
{
  if (axis < -n_dims || axis >= n_dims)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "expected an axis from %d to %d, found %lld",
                            -n_dims, n_dims - 1, axis);
  *out = (int)(axis < 0 ? axis + n_dims : axis);
  return MAFAT_OK;
}

int mafat_onnx_axis_of_list(const struct mafat_onnx_importer *i, long long axis, int n_dims,
                            bool *seen, int *out)
{
  int code = mafat_onnx_axis(i, axis, n_dims, out);
  if (code == MAFAT_OK && seen[*out])
    code = mafat_graph_fail(i->g, MAFAT_EFORMAT, "names axis %d twice", *out);
  if (code == MAFAT_OK) seen[*out] = true;
  return code;
}

int mafat_onnx_map(const struct mafat_onnx_importer *i, int index, struct mafat_value *own,
                   const struct mafat_value **in)
{
  *in = mafat_onnx_in(i, index);
  return mafat_graph_need_map(i->g, index, own, in);
}

/* ---- values of the model ---- */

static int read_numbers(void *context, const struct mafat_constant *place, uint64_t first,
                        uint64_t n, double *to, struct mafat_diagnostic *d)
{
  const struct mafat_onnx_importer *i = context;
  if (place->file == MAFAT_CONSTANT_VALUES) {
    const char *values = (const char *)i->g->network->values;
    for (uint64_t k = 0; k < n; k++)
      to[k] = mafat_graph_number(values + mafat_constant_at(place, first + k),
                                 (enum mafat_dtype)place->type);
    return MAFAT_OK;
  }
  if (place->file == MAFAT_CONSTANT_FILL) {
    uint32_t bits = (uint32_t)place->at;
    float value;
    memcpy(&value, &bits, sizeof value);
    for (uint64_t k = 0; k < n; k++) to[k] = (double)value;
    return MAFAT_OK;
  }
  const struct mafat_onnx_tensor t = {.name = "",
                                      .type = mafat_onnx_file_type((enum mafat_dtype)place->type),
                                      .n = place->n,
                                      .form = MAFAT_ONNX_PLACE,
                                      .file = (int)place->file,
                                      .at = place->at,
                                      .bytes = mafat_constant_bytes(place, place->n)};
  return mafat_onnx_tensor_doubles(i->model, &t, first, (size_t)n, to, d);
}

static int copy_dims(struct mafat_graph *g, const struct mafat_onnx_tensor *t, long long *dims)
{
  if (t->rank > MAFAT_VIEW_DIMS)
    return mafat_graph_fail(g, MAFAT_EUNSUPPORTED, "constant '%.100s' has %d dimensions", t->name,
                            t->rank);
  for (int i = 0; i < t->rank; i++) dims[i] = t->dims[i];
  return MAFAT_OK;
}

/* Returns the element type of a constant that stays in the file; MAFAT_N_DTYPES: its values are
 * read now. */
static enum mafat_dtype place_type(const struct mafat_onnx_tensor *t)
{
  if (t->form != MAFAT_ONNX_PLACE) return MAFAT_N_DTYPES;
  return t->type == MAFAT_ONNX_FLOAT ? MAFAT_F32 : mafat_onnx_whole_type(t->type);
}

int mafat_onnx_constant(const struct mafat_onnx_importer *i, struct mafat_value *out,
                        const struct mafat_onnx_tensor *t)
{
  enum { MOST = 1 << 20 };
  static const uint64_t most_placed = (UINT64_C(1) << 40) - 1; /* limit of elements in the file */
  long long dims[MAFAT_VIEW_DIMS];
  int code = copy_dims(i->g, t, dims);
  if (code) return code;
  enum mafat_dtype type = place_type(t);
  if (t->n > most_placed)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "constant '%.100s' has %llu numbers: expected at most %llu", t->name,
                            (unsigned long long)t->n, (unsigned long long)most_placed);
  if (type != MAFAT_N_DTYPES) {
    *out = (struct mafat_value){.form = MAFAT_VALUE_PLACE, .maker = -1, .readers = out->readers};
    mafat_view_linear(&out->view, t->rank, dims, MAFAT_AXIS_NUMBERS);
    out->place = (struct mafat_constant){
        .at = t->at, .n = t->n, .file = (unsigned)t->file & 0xfff, .type = (unsigned)type & 0x1f};
    return MAFAT_OK;
  }
  if (t->n > MOST)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "constant '%.100s' of type %s has %llu numbers", t->name,
                            mafat_onnx_type_name(t->type), (unsigned long long)t->n);
  int readers = out->readers;
  code = mafat_value_make_numbers(i->g, out, t->rank, dims);
  out->readers = readers;
  if (code == MAFAT_OK) code = mafat_graph_look_at(i->g, (long long)t->n);
  return code ? code
              : mafat_onnx_tensor_doubles(i->model, t, 0, (size_t)t->n, out->numbers, i->g->d);
}

/* Element type of an input; MAFAT_N_DTYPES: unsupported. */
static enum mafat_dtype input_type(const struct mafat_onnx_value *v)
{
  switch (v->info->type) {
  case MAFAT_ONNX_FLOAT: return MAFAT_F32;
  case MAFAT_ONNX_INT32: return MAFAT_I32;
  case MAFAT_ONNX_INT64: return MAFAT_I64;
  case MAFAT_ONNX_INT8: return MAFAT_I8;
  case MAFAT_ONNX_UINT8: return MAFAT_U8;
  default: return MAFAT_N_DTYPES;
  }
}

/* Returns the dimensions of an input. An unknown first dimension is the batch, taken as 1. */
static int input_dims(struct mafat_graph *g, const struct mafat_onnx_value *v, long long *dims)
{
  const struct mafat_onnx_info *info = v->info;
  if (!info || strcmp(info->form, "tensor") != 0 || info->rank < 0)
    return mafat_graph_fail(g, MAFAT_EUNSUPPORTED, "input '%.100s' has no shape", v->name);
  if (input_type(v) == MAFAT_N_DTYPES)
    return mafat_graph_fail(g, MAFAT_EUNSUPPORTED, "input '%.100s' is of type %s: expected float",
                            v->name, mafat_onnx_type_name(info->type));
  if (info->rank > MAFAT_VIEW_DIMS)
    return mafat_graph_fail(g, MAFAT_EUNSUPPORTED, "input '%.100s' has %d dimensions", v->name,
                            info->rank);
  for (int k = 0; k < info->rank; k++) {
    dims[k] = info->dims[k].n;
    if (dims[k] == -1 && k == 0) dims[k] = 1;
    if (dims[k] < 1)
      return mafat_graph_fail(g, MAFAT_EUNSUPPORTED,
                              "input '%.100s': dimension %d%s%.40s is not known", v->name, k,
                              info->dims[k].param ? ", " : "",
                              info->dims[k].param ? info->dims[k].param : "");
  }
  return MAFAT_OK;
}

static int make_inputs(struct mafat_onnx_importer *i)
{
  int code = MAFAT_OK, index = 0;
  for (int k = 0; k < i->model->n_inputs && code == MAFAT_OK; k++) {
    const struct mafat_onnx_value *v = i->model->inputs[k];
    struct mafat_value *value = &i->values[v->index];
    long long dims[MAFAT_VIEW_DIMS];
    int axes[MAFAT_VIEW_DIMS], readers = value->readers;
    if (v->initializer) continue;
    if (value->form != MAFAT_VALUE_NONE) {
      code =
          mafat_graph_fail(i->g, MAFAT_EFORMAT, "input '%.100s' is listed more than once", v->name);
      break;
    }
    if ((code = input_dims(i->g, v, dims))) break;
    mafat_onnx_input_axes(i, v, axes);
    if ((code = mafat_onnx_input_meaning(i, v, &i->g->makes))) break;
    code = mafat_graph_input(i->g, index, value, v->info->rank, dims, axes);
    value->readers = readers;
    i->whole[v->index] = v->info->type == MAFAT_ONNX_INT32 || v->info->type == MAFAT_ONNX_INT64;
    if (code == MAFAT_OK)
      code = mafat_graph_name_input(i->g, index++, v->name, input_type(v), value);
  }
  i->g->makes = (struct mafat_meaning){.type = MAFAT_F32};
  return code;
}

static int count_inputs(const struct mafat_onnx *m)
{
  int n = 0;
  for (int k = 0; k < m->n_inputs; k++) n += !m->inputs[k]->initializer;
  return n;
}

static struct mafat_value *begin_value(struct mafat_onnx_importer *i,
                                       const struct mafat_onnx_value *v)
{
  struct mafat_value *value = &i->values[v->index];
  value->maker = -1;
  return value;
}

/* Initializes values and counts their readers. Values that no node, input or output names are not
 * touched, so their memory pages stay unallocated: a file with only names would otherwise need a
 * hundred times its size. */
static void begin_values(struct mafat_onnx_importer *i)
{
  for (int n = 0; n < i->model->n_nodes; n++) {
    const struct mafat_onnx_node *node = &i->model->nodes[n];
    for (int k = 0; k < node->n_inputs; k++)
      if (node->inputs[k]) begin_value(i, node->inputs[k])->readers++;
    for (int k = 0; k < node->n_outputs; k++)
      if (node->outputs[k]) begin_value(i, node->outputs[k]);
  }
  for (int k = 0; k < i->model->n_inputs; k++) begin_value(i, i->model->inputs[k]);
  /* two more readers: nothing is folded into the layer that makes an output */
  for (int k = 0; k < i->model->n_outputs; k++) begin_value(i, i->model->outputs[k])->readers += 2;
}

/* Clears the values of a list. Clearing one twice does no harm. */
static void clear_values(struct mafat_onnx_importer *i, const struct mafat_onnx_value *const *list,
                         int n)
{
  for (int k = 0; k < n; k++)
    if (list[k]) mafat_value_clear(&i->values[list[k]->index]);
}

static void end_values(struct mafat_onnx_importer *i)
{
  const struct mafat_onnx *m = i->model;
  for (int n = 0; i->values && n < m->n_nodes; n++) {
    clear_values(i, m->nodes[n].inputs, m->nodes[n].n_inputs);
    clear_values(i, m->nodes[n].outputs, m->nodes[n].n_outputs);
  }
  if (i->values) clear_values(i, m->inputs, m->n_inputs);
  if (i->values) clear_values(i, m->outputs, m->n_outputs);
  free(i->values);
}

/* ---- nodes ---- */

const struct mafat_onnx_operator *mafat_onnx_find_operator(const char *op_type)
{
  static const struct mafat_onnx_operator *const tables[] = {
      mafat_onnx_shape_operators,  mafat_onnx_math_operators,    mafat_onnx_layer_operators,
      mafat_onnx_matrix_operators, mafat_onnx_channel_operators, mafat_onnx_quantized_operators,
      mafat_onnx_dynamic_operators};
  for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
    for (const struct mafat_onnx_operator *o = tables[t]; o->op_type; o++)
      if (strcmp(o->op_type, op_type) == 0) return o;
  return NULL;
}

int mafat_onnx_variant(const struct mafat_onnx_importer *i)
{
  return i->row->variant;
}

/* Makes values of the node's inputs that are initializers and were not read before. */
static int make_ready(struct mafat_onnx_importer *i)
{
  for (int k = 0; k < i->node->n_inputs; k++) {
    const struct mafat_onnx_value *v = i->node->inputs[k];
    if (!v || i->values[v->index].form != MAFAT_VALUE_NONE) continue;
    if (!v->initializer)
      return mafat_graph_fail(i->g, MAFAT_EFORMAT, "input '%.100s' is made by no node", v->name);
    int code = mafat_onnx_constant(i, &i->values[v->index], v->initializer);
    if (code) return code;
  }
  return MAFAT_OK;
}

static int check_outputs(struct mafat_onnx_importer *i)
{
  for (int k = 0; k < i->node->n_outputs; k++) {
    const struct mafat_onnx_value *v = i->node->outputs[k];
    if (v && v->makers != 1)
      return mafat_graph_fail(i->g, MAFAT_EFORMAT, "output '%.100s' is made more than once",
                              v->name);
  }
  return i->node->n_outputs > 0 && i->node->outputs[0]
             ? MAFAT_OK
             : mafat_graph_fail(i->g, MAFAT_EFORMAT, "has no output");
}

/* True if the import of an earlier node made this node's only output, for example because it folded
 * both nodes into one layer. */
static bool is_made(const struct mafat_onnx_importer *i)
{
  return i->node->n_outputs == 1 && i->node->outputs[0] &&
         mafat_onnx_out(i, 0)->form != MAFAT_VALUE_NONE && i->node->outputs[0]->makers == 1;
}

/* Makes node `index` the current one; fails if its operator is unsupported. */
static int set_node(struct mafat_onnx_importer *i, int index)
{
  i->node = &i->model->nodes[index];
  i->g->node = i->node->number;
  i->g->operator_name = i->node->op_type;
  i->g->node_name = i->node->name;
  if (*i->node->domain && strcmp(i->node->domain, "com.microsoft") != 0)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "operators of domain '%.60s' are not run",
                            i->node->domain);
  i->row = mafat_onnx_find_operator(i->node->op_type);
  if (!i->row) return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "this operator is not run");
  if (i->node->n_inputs <= MAFAT_MAX_OPERANDS && i->node->n_outputs <= MAFAT_ONNX_MOST_PARTS)
    return MAFAT_OK;
  return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                          "expected at most %d inputs and %d parts as outputs, found %d and %d",
                          MAFAT_MAX_OPERANDS, MAFAT_ONNX_MOST_PARTS, i->node->n_inputs,
                          i->node->n_outputs);
}

/* Checks all operators before anything else: an unsupported operator explains most failures. */
static int check_operators(struct mafat_onnx_importer *i)
{
  int code = MAFAT_OK;
  for (int n = 0; n < i->model->n_nodes && code == MAFAT_OK; n++) code = set_node(i, n);
  if (code == MAFAT_OK) i->g->operator_name = NULL;
  return code;
}

/* Checks that no node makes an input of the model. */
static int check_inputs(struct mafat_onnx_importer *i)
{
  for (int n = 0; n < i->model->n_nodes; n++) {
    const struct mafat_onnx_node *node = &i->model->nodes[n];
    for (int k = 0; k < node->n_outputs; k++) {
      const struct mafat_onnx_value *v = node->outputs[k];
      if (!v || !v->is_input) continue;
      int code = set_node(i, n);
      return code ? code
                  : mafat_graph_fail(i->g, MAFAT_EFORMAT,
                                     "output '%.100s' is an input of the model", v->name);
    }
  }
  return MAFAT_OK;
}

/* Rejects duplicate initializers; other programs use the last one. */
static int check_constants(struct mafat_onnx_importer *i)
{
  for (int k = 0; k < mafat_onnx_n_values(i->model); k++) {
    const struct mafat_onnx_value *v = mafat_onnx_value(i->model, k);
    if (v->initializer && v->makers > 1 && v->node < 0)
      return mafat_graph_fail(i->g, MAFAT_EFORMAT, "initializer '%.100s' is listed more than once",
                              v->name);
  }
  return MAFAT_OK;
}

static int import_node(struct mafat_onnx_importer *i, int index)
{
  i->node = &i->model->nodes[index];
  if (is_made(i)) return MAFAT_OK;
  int code = set_node(i, index), readers[MAFAT_ONNX_MOST_PARTS];
  if (code) return code;
  i->opset = i->own_opset;
  if (!(i->node->n_inputs > 0 && i->node->inputs[0]) && strcmp(i->row->op_type, "Constant") != 0)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "its first input is left out");
  code = check_outputs(i);
  if (code == MAFAT_OK) code = make_ready(i);
  for (int k = 0; k < i->node->n_outputs; k++)
    readers[k] = i->node->outputs[k] ? mafat_onnx_out(i, k)->readers : 0;
  bool done = false;
  if (code == MAFAT_OK) code = mafat_onnx_import_numbers(i, &done);
  if (code == MAFAT_OK && !done) code = i->row->import(i);
  if (code == MAFAT_OK) code = mafat_onnx_pass_pads(i);
  for (int k = 0; k < i->node->n_outputs; k++)
    if (i->node->outputs[k]) mafat_onnx_out(i, k)->readers = readers[k];
  if (code == MAFAT_OK) mafat_onnx_note_type(i);
  return code;
}

static int make_outputs(struct mafat_onnx_importer *i)
{
  int code = MAFAT_OK;
  i->g->operator_name = NULL;
  for (int k = 0; k < i->model->n_outputs && code == MAFAT_OK; k++) {
    const struct mafat_onnx_value *v = i->model->outputs[k];
    struct mafat_value *value = &i->values[v->index];
    if ((code = mafat_onnx_make_floats(i, v->index))) break;
    if (value->form == MAFAT_VALUE_NONE)
      code = mafat_graph_fail(i->g, MAFAT_EFORMAT, "output '%.100s' is made by no node", v->name);
    else code = mafat_graph_name_output(i->g, v->name, value);
    if (code == MAFAT_OK && mafat_onnx_map_type(i, value) == MAFAT_ONNX_INT8)
      i->g->network->outputs[i->g->network->n_outputs - 1].type = MAFAT_I8;
  }
  return code;
}

static int copy_paths(struct mafat_onnx_importer *i)
{
  struct mafat_network *n = i->g->network;
  int count = mafat_onnx_n_files(i->model) - 1;
  n->format = mafat_onnx_reader.format;
  n->states = calloc((size_t)count + 1, sizeof *n->states);
  if (!n->states) return mafat_graph_fail_memory(i->g);
  if (count < 1) return MAFAT_OK;
  n->files = calloc((size_t)count, sizeof *n->files);
  while (n->files && n->n_files < count &&
         (n->files[n->n_files] = strdup(mafat_onnx_path(i->model, n->n_files + 1))))
    n->n_files++;
  return n->n_files == count ? MAFAT_OK : mafat_graph_fail_memory(i->g);
}

/* Copies the state of each file to the network; unknown for files that were not opened. */
static void copy_states(struct mafat_onnx_importer *i)
{
  struct mafat_network *n = i->g->network;
  n->states[0] = i->model->file->opened;
  for (int f = 1; f <= n->n_files; f++) n->states[f] = mafat_onnx_file(i->model, f)->state;
}

static int import(struct mafat_onnx_importer *i)
{
  int code = copy_paths(i);
  if (code == MAFAT_OK) code = check_operators(i);
  if (code == MAFAT_OK) code = check_inputs(i);
  if (code == MAFAT_OK) code = check_constants(i);
  if (code) return code;
  size_t n_values = (size_t)mafat_onnx_n_values(i->model);
  i->values = mafat_graph_alloc(i->g, n_values + 1, sizeof *i->values);
  i->dequantized = mafat_graph_alloc(i->g, n_values + 1, sizeof *i->dequantized);
  i->whole = mafat_graph_alloc(i->g, n_values + 1, sizeof *i->whole);
  if (!i->values || !i->dequantized || !i->whole)
    return mafat_graph_fail_memory(i->g);
  mafat_onnx_picture(&i->g->network->picture, i->model);
  begin_values(i);
  code = mafat_onnx_note_readers(i);
  if (code == MAFAT_OK) code = make_inputs(i);
  /* Constant nodes first, because importers look at constants of later nodes */
  for (int n = 0; n < i->model->n_nodes && code == MAFAT_OK; n++) {
    const struct mafat_onnx_node *node = &i->model->nodes[n];
    if (strcmp(node->op_type, "Constant") == 0 && node->n_outputs == 1) code = import_node(i, n);
  }
  for (int n = 0; n < i->model->n_nodes && code == MAFAT_OK; n++) code = import_node(i, n);
  copy_states(i);
  return code ? code : make_outputs(i);
}

int mafat_onnx_network(struct mafat_network **out, const struct mafat_onnx *model,
                       struct mafat_diagnostic *d)
{
  enum { LAYERS_OF_A_NODE = 3, MORE = 64 };
  struct mafat_onnx_importer i = {.model = model, .own_opset = mafat_onnx_opset(model, "")};
  int most = model->n_nodes > MAFAT_MAX_LAYERS ? MAFAT_MAX_LAYERS
                                               : LAYERS_OF_A_NODE * model->n_nodes + MORE;
  *out = NULL;
  int n_inputs = count_inputs(model);
  int code = mafat_graph_open(&i.g, model->file->path, most,
                              n_inputs > MAFAT_MAX_LAYERS ? 0 : n_inputs, d);
  if (code) return code;
  if (n_inputs > MAFAT_MAX_LAYERS || model->n_outputs > MAFAT_MAX_LAYERS)
    code = mafat_graph_fail(i.g, MAFAT_EUNSUPPORTED,
                            "expected at most %d inputs and outputs, found %d and %d",
                            MAFAT_MAX_LAYERS, n_inputs, model->n_outputs);
  if (n_inputs == 0) code = mafat_graph_fail(i.g, MAFAT_EUNSUPPORTED, "has no input");
  i.g->numbers = (struct mafat_graph_numbers){read_numbers, &i};
  i.g->allowance = model->memory.allowance;
  if (code == MAFAT_OK) code = import(&i);
  end_values(&i);
  free(i.first_reader);
  free(i.reading);
  free(i.pads);
  free(i.dequantized);
  free(i.whole);
  return mafat_graph_finish(out, &i.g, code);
}

int mafat_onnx_network_of(struct mafat_network **out, struct mafat_model_file *file,
                          const struct mafat_given *given, struct mafat_diagnostic *d)
{
  struct mafat_onnx *model;
  *out = NULL;
  int code = mafat_onnx_read(&model, file, d);
  if (code == MAFAT_OK) code = mafat_onnx_give(model, given, d);
  if (code == MAFAT_OK) code = mafat_onnx_network(out, model, d);
  mafat_onnx_close(&model);
  return code;
}

const struct mafat_reader mafat_onnx_reader = {
    .format = {.name = "onnx", .own_weights = true, .any_order = true, .pad = MAFAT_GRAPH_PAD},
    .holds_weights = true,
    .imports = true,
    .begins = mafat_onnx_begins,
    .graph = mafat_onnx_network_of};
