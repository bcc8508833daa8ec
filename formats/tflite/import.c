/* Imports TFLite models: makes values, checks types, and calls the importer of each operator.
 * Called by formats/readers.c and formats/packed/graph.c through mafat_tflite_reader; the importers
 * (import_*.c) call its helpers. Reads the model's file; allocates the network. */
#include "formats/tflite/import.h"

#include "formats/tflite/importer.h"
#include "formats/tflite/tflite.h"
#include "formats/tflite/values.h"

/* ---- inputs and outputs of the current operator ---- */

struct mafat_tflite_slot *mafat_tflite_in_slot(const struct mafat_tflite_importer *i, int index)
{
  int tensor = index < i->o->n_inputs ? i->o->inputs[index] : -1;
  return tensor < 0 ? NULL : &i->slots[tensor];
}

const struct mafat_value *mafat_tflite_in(const struct mafat_tflite_importer *i, int index)
{
  static const struct mafat_value none = {.form = MAFAT_VALUE_NONE, .maker = -1};
  const struct mafat_tflite_slot *slot = mafat_tflite_in_slot(i, index);
  return slot ? slot->value : &none;
}

struct mafat_value *mafat_tflite_out(const struct mafat_tflite_importer *i, int index)
{
  return i->slots[i->o->outputs[index]].value;
}

static struct mafat_activating fused_activation(int fused)
{
  switch (fused) {
  case MAFAT_TFLITE_FUSED_RELU: return mafat_activating(MAFAT_RELU);
  case MAFAT_TFLITE_FUSED_RELU_N1_TO_1: return (struct mafat_activating){MAFAT_CLIP, -1, 1};
  case MAFAT_TFLITE_FUSED_RELU6: return mafat_activating(MAFAT_RELU6);
  case MAFAT_TFLITE_FUSED_TANH: return mafat_activating(MAFAT_TANH);
  default: return mafat_activating(MAFAT_LINEAR);
  }
}

/* Applies a fused activation to integers, by clamping their range. */
static int clamp_numbers(struct mafat_tflite_importer *i, struct mafat_value *out,
                         const struct mafat_value *made, int fused)
{
  switch (fused) {
  case MAFAT_TFLITE_FUSED_RELU: return mafat_graph_clamp(i->g, out, made, 0, INFINITY);
  case MAFAT_TFLITE_FUSED_RELU_N1_TO_1: return mafat_graph_clamp(i->g, out, made, -1, 1);
  case MAFAT_TFLITE_FUSED_RELU6: return mafat_graph_clamp(i->g, out, made, 0, 6);
  default:
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "fused_activation_function: TANH is not run on quantized tensors");
  }
}

/* Applies a fused activation to integers. A pool keeps the scale and zero point of its input, so
 * first gives `made` those of the output. */
static int clamp_fused(struct mafat_tflite_importer *i, struct mafat_value *out,
                       const struct mafat_value *made, int fused)
{
  struct mafat_meaning is = mafat_value_meaning(i->g, made);
  struct mafat_value renamed = {.maker = -1};
  if (mafat_quantization_equals(&is.numbers, &i->g->makes.numbers))
    return clamp_numbers(i, out, made, fused);
  int code = mafat_graph_rename_numbers(i->g, &renamed, made, i->g->makes);
  if (code == MAFAT_OK) code = clamp_numbers(i, out, &renamed, fused);
  mafat_value_clear(&renamed);
  return code;
}

/* Applies a fused activation to a constant. */
static void activate_numbers(struct mafat_value *made, int fused)
{
  for (long long k = 0; k < mafat_value_elements(made); k++) {
    double *x = &made->numbers[k];
    switch (fused) {
    case MAFAT_TFLITE_FUSED_RELU: *x = fmax(*x, 0); break;
    case MAFAT_TFLITE_FUSED_RELU_N1_TO_1: *x = fmin(fmax(*x, -1), 1); break;
    case MAFAT_TFLITE_FUSED_RELU6: *x = fmin(fmax(*x, 0), 6); break;
    case MAFAT_TFLITE_FUSED_TANH: *x = tanh(*x); break;
    }
  }
}

int mafat_tflite_finish(struct mafat_tflite_importer *i, int code, struct mafat_value *made,
                        int fused)
{
  struct mafat_value *out = mafat_tflite_out(i, 0);
  if (code == MAFAT_OK && fused == MAFAT_TFLITE_FUSED_SIGN_BIT)
    code = mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "fused_activation_function: SIGN_BIT is not run");
  if (code == MAFAT_OK && fused != MAFAT_TFLITE_FUSED_NONE && mafat_value_is_integer(i->g, made))
    code = clamp_fused(i, out, made, fused);
  else if (code == MAFAT_OK && fused != MAFAT_TFLITE_FUSED_NONE && made->form == MAFAT_VALUE_MAP)
    code = mafat_graph_activate(i->g, out, made, fused_activation(fused));
  else if (code == MAFAT_OK) {
    if (made->form == MAFAT_VALUE_NUMBERS) activate_numbers(made, fused);
    *out = *made;
    *made = (struct mafat_value){.maker = -1};
  }
  mafat_value_clear(made);
  return code;
}

int mafat_tflite_map(const struct mafat_tflite_importer *i, int index, struct mafat_value *own,
                     const struct mafat_value **in)
{
  *in = mafat_tflite_in(i, index);
  return mafat_graph_need_map(i->g, index, own, in);
}

int mafat_tflite_list(const struct mafat_tflite_importer *i, int index, int most, long long *values,
                      int *n)
{
  *n = 0;
  if (mafat_tflite_in(i, index)->form == MAFAT_VALUE_NONE)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "input %d is left out", index);
  return mafat_value_integers(i->g, mafat_tflite_in(i, index), most, values, n);
}

int mafat_tflite_dim(const struct mafat_tflite_importer *i, const char *name, long long axis,
                     int n_dims, int *out)
{
  if (axis < -n_dims || axis >= n_dims)
    return mafat_graph_fail(i->g, MAFAT_EFORMAT,
                            "%s: expected a dimension from %d to %d, found %lld", name, -n_dims,
                            n_dims - 1, axis);
  *out = (int)(axis < 0 ? axis + n_dims : axis);
  return MAFAT_OK;
}

/* ---- tensors ---- */

static int read_numbers(void *context, const struct mafat_constant *place, uint64_t first,
                        uint64_t n, double *to, struct mafat_diagnostic *d)
{
  const struct mafat_tflite_importer *i = context;
  struct mafat_model_file *file, *own;
  if (place->file == MAFAT_CONSTANT_VALUES) {
    const char *values = (const char *)i->g->network->values;
    for (uint64_t k = 0; k < n; k++)
      to[k] = mafat_graph_number(values + mafat_constant_at(place, first + k),
                                 (enum mafat_dtype)place->type);
    return MAFAT_OK;
  }
  int code = mafat_tflite_open(i->model, i->file, (int)place->file, &file, &own, d);
  for (uint64_t k = 0; k < n && code == MAFAT_OK; k++) {
    const char *bytes;
    code = mafat_model_file_peek(file, mafat_constant_at(place, first + k),
                                 (size_t)mafat_constant_bytes(place, 1), &bytes, d);
    if (code == MAFAT_OK) to[k] = mafat_graph_number(bytes, (enum mafat_dtype)place->type);
  }
  mafat_model_file_close(&own);
  return code;
}

int mafat_tflite_make(const struct mafat_tflite_importer *i, int tensor)
{
  struct mafat_tflite_slot *slot = &i->slots[tensor];
  if (slot->value) return MAFAT_OK;
  slot->value = mafat_graph_alloc(i->g, 1, sizeof *slot->value);
  if (!slot->value) return mafat_graph_fail_memory(i->g);
  slot->value->maker = -1;
  slot->value->readers = slot->readers;
  return MAFAT_OK;
}

static void drop_value(const struct mafat_tflite_importer *i, struct mafat_tflite_slot *slot)
{
  if (!slot->value) return;
  mafat_value_clear(slot->value);
  mafat_graph_free(i->g, slot->value, 1, sizeof *slot->value);
  slot->value = NULL;
}

/* Counts one reader of the tensor as imported. Frees the tensor's value after its last reader. */
static void release(const struct mafat_tflite_importer *i, int tensor)
{
  if (tensor >= 0 && --i->slots[tensor].left == 0) drop_value(i, &i->slots[tensor]);
}

static void copy_dims(const struct mafat_tflite_tensor *t, long long *dims)
{
  for (int k = 0; k < t->rank; k++) dims[k] = t->shape[k];
}

/* Makes a value of a constant tensor. Floats and quantized values stay in the file. Other integers
 * (shapes and the like) are few, so they are read into memory. */
static int make_constant(const struct mafat_tflite_importer *i, int tensor)
{
  enum { MOST = 1 << 16 };
  const struct mafat_tflite_tensor *t = &i->model->tensors[tensor];
  long long dims[MAFAT_TFLITE_MAX_RANK];
  int n, code = mafat_tflite_make(i, tensor);
  if (code) return code;
  struct mafat_value *v = i->slots[tensor].value;
  copy_dims(t, dims);
  if (t->type == MAFAT_TFLITE_FLOAT32 || t->type == MAFAT_TFLITE_FLOAT16 ||
      mafat_tflite_is_quantized(t)) {
    v->form = MAFAT_VALUE_PLACE;
    mafat_view_linear(&v->view, t->rank, dims, MAFAT_AXIS_NUMBERS);
    v->place = (struct mafat_constant){.at = t->at,
                                       .n = mafat_tflite_elements(t),
                                       .file = (unsigned)t->file & 0xfff,
                                       .type = mafat_tflite_file_type(t)};
    return mafat_tflite_is_quantized(t) ? mafat_tflite_scales(i, tensor, &v->scales) : MAFAT_OK;
  }
  uint64_t count = mafat_tflite_elements(t); /* reading refuses more than MOST */
  int64_t *ints = malloc(((size_t)(count < MOST ? count : MOST) + 1) * sizeof *ints);
  if (!ints) return mafat_graph_fail_memory(i->g);
  code = mafat_tflite_ints(i->model, i->file, tensor, MOST, ints, &n, i->g->d);
  if (code == MAFAT_OK) code = mafat_graph_look_at(i->g, n);
  if (code == MAFAT_OK) code = mafat_value_make_numbers(i->g, v, t->rank, dims);
  for (int k = 0; code == MAFAT_OK && k < n; k++) v->numbers[k] = (double)ints[k];
  v->readers = i->slots[tensor].readers;
  free(ints);
  return code;
}

/* ---- inputs and outputs of the network ---- */

/* Element type of an input; MAFAT_N_DTYPES: unsupported. */
static enum mafat_dtype input_type(const struct mafat_tflite_tensor *t)
{
  switch (t->type) {
  case MAFAT_TFLITE_FLOAT32: return MAFAT_F32;
  case MAFAT_TFLITE_INT32: return MAFAT_I32;
  case MAFAT_TFLITE_INT64: return MAFAT_I64;
  default: return MAFAT_N_DTYPES;
  }
}

static int make_input(const struct mafat_tflite_importer *i, int index, int tensor)
{
  int axes[MAFAT_VIEW_DIMS] = {0};
  const struct mafat_tflite_tensor *t = &i->model->tensors[tensor];
  long long dims[MAFAT_TFLITE_MAX_RANK];
  enum mafat_dtype type = mafat_tflite_is_quantized(t) ? mafat_tflite_file_type(t) : input_type(t);
  if (type == MAFAT_N_DTYPES)
    return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "input %s is of type %s: expected FLOAT32, INT8 or UINT8", t->name,
                            mafat_tflite_type_name((int)t->type));
  copy_dims(t, dims);
  for (int k = 0; k < t->rank; k++)
    if (dims[k] < 1)
      return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "input %s: dimension %d is %lld", t->name,
                              k, dims[k]);
  int code = mafat_tflite_meaning(i, tensor, &i->g->makes);
  if (code == MAFAT_OK) code = mafat_tflite_make(i, tensor);
  if (code == MAFAT_OK) code = mafat_tflite_input_axes(i, tensor, t->rank, axes);
  if (code == MAFAT_OK)
    code = mafat_graph_input(i->g, index, i->slots[tensor].value, t->rank, dims, axes);
  if (code) return code;
  i->slots[tensor].value->readers = i->slots[tensor].readers;
  return mafat_graph_name_input(i->g, index, t->name, type, i->slots[tensor].value);
}

static int make_outputs(const struct mafat_tflite_importer *i)
{
  int code = MAFAT_OK;
  i->g->operator_name = NULL;
  for (int k = 0; k < i->model->n_outputs && code == MAFAT_OK; k++) {
    int tensor = i->model->outputs[k];
    if (i->model->tensors[tensor].constant || !i->slots[tensor].value ||
        i->slots[tensor].value->form != MAFAT_VALUE_MAP)
      return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "output %s is a constant",
                              i->model->tensors[tensor].name);
    code = mafat_graph_name_output(i->g, i->model->tensors[tensor].name, i->slots[tensor].value);
    if (code == MAFAT_OK)
      i->g->network->outputs[i->g->network->n_outputs - 1].type =
          mafat_tflite_file_type(&i->model->tensors[tensor]);
  }
  return code;
}

/* ---- operators ---- */

/* True for convolutions that can take over zero padding of their input. */
static bool can_pad(const struct mafat_tflite_operator *o)
{
  return (o->code == MAFAT_TFLITE_CONV_2D || o->code == MAFAT_TFLITE_DEPTHWISE_CONV_2D) &&
         o->options.window.padding == MAFAT_TFLITE_VALID;
}

static void count_readers(const struct mafat_tflite_importer *i)
{
  enum { STAYS = 2 }; /* an output of the network counts as 2 readers: it must not be changed */
  for (int n = 0; n < i->model->n_operators; n++) {
    const struct mafat_tflite_operator *o = &i->model->operators[n];
    for (int k = 0; k < o->n_inputs; k++) {
      if (o->inputs[k] < 0) continue;
      i->slots[o->inputs[k]].readers++;
      i->slots[o->inputs[k]].windows += k == 0 && can_pad(o);
      i->slots[o->inputs[k]].lookups += k == 1 && o->code == MAFAT_TFLITE_GATHER;
    }
  }
  for (int k = 0; k < i->model->n_outputs; k++) i->slots[i->model->outputs[k]].readers += STAYS;
  for (int t = 0; t < i->model->n_tensors; t++)
    if (i->model->used[t]) i->slots[t].left = i->slots[t].readers;
}

static const struct mafat_tflite_row *find_row(int code)
{
  static const struct mafat_tflite_row *const tables[] = {
      mafat_tflite_layer_rows, mafat_tflite_shape_rows,   mafat_tflite_part_rows,
      mafat_tflite_math_rows,  mafat_tflite_channel_rows, mafat_tflite_custom_rows};
  for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
    for (const struct mafat_tflite_row *r = tables[t]; r->import; r++)
      if (r->code == code) return r;
  return NULL;
}

int mafat_tflite_variant(const struct mafat_tflite_importer *i)
{
  return find_row(i->o->code)->variant;
}

static bool changes_type(int code)
{
  return code == MAFAT_TFLITE_QUANTIZE || code == MAFAT_TFLITE_DEQUANTIZE ||
         code == MAFAT_TFLITE_CAST || code == MAFAT_TFLITE_ARG_MAX || code == MAFAT_TFLITE_SHAPE ||
         code == MAFAT_TFLITE_CUSTOM;
}

/* Checks that input and output have the same type. Does nothing if only one of them is quantized:
 * other functions check this case. */
static int check_pair(const struct mafat_tflite_importer *i, const struct mafat_tflite_tensor *in,
                      const struct mafat_tflite_tensor *out)
{
  if (in->type == out->type || mafat_tflite_is_quantized(in) != mafat_tflite_is_quantized(out))
    return MAFAT_OK;
  return mafat_graph_fail(i->g, MAFAT_EFORMAT,
                          "output %s is of type %s: expected that of its input %s, %s", out->name,
                          mafat_tflite_type_name((int)out->type), in->name,
                          mafat_tflite_type_name((int)in->type));
}

/* Checks that outputs and quantized inputs have the type of the operator's data input. */
static int check_one_type(const struct mafat_tflite_importer *i)
{
  const int data = i->o->code == MAFAT_TFLITE_TRANSPOSE_CONV ? 2
                   : i->o->code == MAFAT_TFLITE_SPLIT        ? 1
                                                             : 0;
  const struct mafat_tflite_tensor *all = i->model->tensors, *out = &all[i->o->outputs[0]];
  /* the second output has indices */
  const int n_outputs = i->o->code == MAFAT_TFLITE_TOPK_V2 ? 1 : i->o->n_outputs;
  int code = MAFAT_OK;
  if (changes_type(i->o->code)) return MAFAT_OK;
  for (int k = 0;
       k < n_outputs && data < i->o->n_inputs && i->o->inputs[data] >= 0 && code == MAFAT_OK; k++)
    code = check_pair(i, &all[i->o->inputs[data]], &all[i->o->outputs[k]]);
  for (int k = 0; k < i->o->n_inputs && code == MAFAT_OK; k++)
    if (i->o->inputs[k] >= 0 && mafat_tflite_is_quantized(&all[i->o->inputs[k]]))
      code = check_pair(i, &all[i->o->inputs[k]], out);
  return code;
}

/* Rejects variables, types that are not supported, and quantized tensors in operators without
 * integer support. */
static int check_types(const struct mafat_tflite_importer *i, const struct mafat_tflite_row *row)
{
  for (int k = 0; k < i->o->n_inputs + i->o->n_outputs; k++) {
    int tensor = k < i->o->n_inputs ? i->o->inputs[k] : i->o->outputs[k - i->o->n_inputs];
    if (tensor < 0) continue;
    const struct mafat_tflite_tensor *t = &i->model->tensors[tensor];
    bool whole = t->type == MAFAT_TFLITE_INT32 || t->type == MAFAT_TFLITE_INT64 ||
                 t->type == MAFAT_TFLITE_BOOL;
    if (t->variable)
      return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                              "tensor %s keeps its value from run to run: not run", t->name);
    bool quantized = mafat_tflite_is_quantized(t);
    bool half =
        t->type == MAFAT_TFLITE_FLOAT16 && t->constant && i->o->code == MAFAT_TFLITE_DEQUANTIZE;
    if ((t->type != MAFAT_TFLITE_FLOAT32 && !whole && !half && !quantized) ||
        (quantized && row && !row->integers))
      return mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                              "tensor %s is %s: that is not run by this version", t->name,
                              mafat_tflite_type_name((int)t->type));
  }
  return MAFAT_OK;
}

/* Makes values of the operator's constant inputs, and empty values for its outputs. */
static int make_ready(const struct mafat_tflite_importer *i)
{
  int code = MAFAT_OK;
  for (int k = 0; k < i->o->n_inputs && code == MAFAT_OK; k++) {
    int tensor = i->o->inputs[k];
    if (tensor >= 0 && !i->slots[tensor].value) code = make_constant(i, tensor);
  }
  for (int k = 0; k < i->o->n_outputs && code == MAFAT_OK; k++)
    code = mafat_tflite_make(i, i->o->outputs[k]);
  return code;
}

/* Called after an operator is imported. Counts it as a reader of its inputs, and frees the values
 * that have no readers left. */
static void settle(const struct mafat_tflite_importer *i)
{
  for (int k = 0; k < i->o->n_outputs; k++) {
    struct mafat_tflite_slot *slot = &i->slots[i->o->outputs[k]];
    if (slot->value) slot->value->readers = slot->readers;
    if (slot->left == 0) drop_value(i, slot);
  }
  for (int k = 0; k < i->o->n_inputs; k++) release(i, i->o->inputs[k]);
}

/* Sets the quantization parameters of constant *v, which an operator made by moving the integers of
 * another constant, to those that the file declares for the tensor. */
static int declare_constant(const struct mafat_tflite_importer *i, int tensor,
                            struct mafat_value *v)
{
  enum { MOST = 1 << 24 };
  const struct mafat_tflite_tensor *t = &i->model->tensors[tensor];
  struct mafat_value moved = {.form = MAFAT_VALUE_PLACE, .maker = -1, .readers = v->readers};
  struct mafat_view linear;
  double *numbers;
  if (!mafat_tflite_is_quantized(t)) return MAFAT_OK;
  mafat_view_linear(&linear, v->view.n_dims, v->view.dims, MAFAT_AXIS_NUMBERS);
  bool placed = v->form == MAFAT_VALUE_PLACE,
       single = v->scales.list.n == 1 && t->quantization.n_scales == 1;
  if (placed && v->place.type != mafat_tflite_file_type(t))
    return mafat_graph_fail(i->g, MAFAT_EFORMAT,
                            "output %s is of type %s: expected that of its input", t->name,
                            mafat_tflite_type_name((int)t->type));
  if (placed && (single || mafat_view_equals(&linear, &v->view)))
    return mafat_tflite_scales(i, tensor, &v->scales);
  int code = mafat_value_numbers(i->g, v, MOST, &numbers);
  if (code) return code;
  moved.view = linear;
  code = mafat_graph_keep_whole(i->g, &moved.place, numbers, (size_t)mafat_value_elements(v),
                                mafat_tflite_file_type(t));
  if (code == MAFAT_OK) code = mafat_tflite_scales(i, tensor, &moved.scales);
  free(numbers);
  mafat_value_clear(v);
  *v = moved;
  return code;
}

/* Sets an output's quantization parameters to those that the file declares for it. The stored
 * integers do not change. */
static int declare_output(const struct mafat_tflite_importer *i, int tensor)
{
  struct mafat_value *v = i->slots[tensor].value, other = {.maker = -1};
  struct mafat_meaning declared;
  if (v && mafat_value_is_constant(v)) return declare_constant(i, tensor, v);
  if (!v || v->form != MAFAT_VALUE_MAP) return MAFAT_OK;
  int code = mafat_tflite_meaning(i, tensor, &declared);
  struct mafat_meaning is = mafat_value_meaning(i->g, v);
  if (code == MAFAT_OK && is.type != declared.type)
    code =
        mafat_graph_fail(i->g, MAFAT_EFORMAT, "output %s is of type %s: expected that of its input",
                         i->model->tensors[tensor].name,
                         mafat_tflite_type_name((int)i->model->tensors[tensor].type));
  if (code || mafat_quantization_equals(&is.numbers, &declared.numbers)) return code;
  code = mafat_graph_rename_numbers(i->g, &other, v, declared);
  mafat_value_clear(v);
  *v = other;
  return code;
}

static int import_operator(struct mafat_tflite_importer *i, int index)
{
  i->o = &i->model->operators[index];
  const struct mafat_tflite_row *row = find_row(i->o->code);
  i->g->node = index;
  i->g->operator_name = i->o->name;
  i->g->node_name = i->o->n_outputs > 0 ? i->model->tensors[i->o->outputs[0]].name : "";
  if (i->o->n_outputs < 1) return mafat_graph_fail(i->g, MAFAT_EFORMAT, "has no output");
  int code = check_types(i, row);
  if (code == MAFAT_OK) code = check_one_type(i);
  if (code == MAFAT_OK && !row)
    code = mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED, "this operator is not run");
  if (code == MAFAT_OK && i->o->n_inputs < row->n_inputs)
    code = mafat_graph_fail(i->g, MAFAT_EFORMAT, "expected at least %d inputs, found %d",
                            row->n_inputs, i->o->n_inputs);
  for (int k = 0; code == MAFAT_OK && k < row->n_inputs; k++)
    if (i->o->inputs[k] < 0)
      code = mafat_graph_fail(i->g, MAFAT_EFORMAT, "input %d is left out", k);
  if (code == MAFAT_OK) code = make_ready(i);
  if (code == MAFAT_OK) code = mafat_tflite_meaning(i, i->o->outputs[0], &i->g->makes);
  if (code == MAFAT_OK) code = row->import(i);
  for (int k = 0; code == MAFAT_OK && k < i->o->n_outputs; k++)
    code = declare_output(i, i->o->outputs[k]);
  if (code == MAFAT_OK) settle(i);
  return code;
}

/* Copies the paths and states of the files with constants from the model to the network. */
static int copy_paths(struct mafat_tflite_importer *i)
{
  struct mafat_network *n = i->g->network;
  int count = i->model->n_paths;
  n->states = calloc((size_t)count + 1, sizeof *n->states);
  if (!n->states) return mafat_graph_fail_memory(i->g);
  n->states[0] = i->file->opened;
  if (count) memcpy(n->states + 1, i->model->states, (size_t)count * sizeof *n->states);
  n->files = count ? calloc((size_t)count, sizeof *n->files) : NULL;
  while (n->files && n->n_files < count &&
         (n->files[n->n_files] = strdup(i->model->paths[n->n_files])))
    n->n_files++;
  return n->n_files == count ? MAFAT_OK : mafat_graph_fail_memory(i->g);
}

/* True if the input was given as a constant. */
static bool is_given(const struct mafat_tflite *m, int index)
{
  return m->tensors[m->inputs[index]].constant;
}

static int import(struct mafat_tflite_importer *i)
{
  int code = copy_paths(i), n_inputs = 0;
  i->g->network->format = mafat_tflite_reader.format;
  i->g->network->picture = i->model->picture;
  count_readers(i);
  for (int k = 0; k < i->model->n_inputs && code == MAFAT_OK; k++)
    if (!is_given(i->model, k)) code = make_input(i, n_inputs++, i->model->inputs[k]);
  for (int n = 0; n < i->model->n_operators && code == MAFAT_OK; n++) code = import_operator(i, n);
  return code ? code : make_outputs(i);
}

int mafat_tflite_network(struct mafat_network **out, const struct mafat_tflite *model,
                         struct mafat_model_file *file, struct mafat_diagnostic *d)
{
  enum { LAYERS_OF_AN_OPERATOR = 3, MORE = 64 };
  struct mafat_tflite_importer i = {.model = model, .file = file};
  int most = model->n_operators > MAFAT_MAX_LAYERS
                 ? MAFAT_MAX_LAYERS
                 : LAYERS_OF_AN_OPERATOR * model->n_operators + MORE;
  int n_inputs = 0;
  *out = NULL;
  for (int k = 0; k < model->n_inputs; k++) n_inputs += !is_given(model, k);
  if (model->n_outputs > MAFAT_MAX_LAYERS)
    return mafat_fail(d, MAFAT_EUNSUPPORTED, "%s: expected at most %d outputs, found %d",
                      file->path, MAFAT_MAX_LAYERS, model->n_outputs);
  if (n_inputs < 1 || n_inputs > MAFAT_MAX_OPERANDS)
    return mafat_fail(d, MAFAT_EUNSUPPORTED, "%s: expected 1 to %d inputs, found %d", file->path,
                      MAFAT_MAX_OPERANDS, n_inputs);
  int code = mafat_graph_open(&i.g, file->path, most, n_inputs, d);
  if (code) return code;
  i.g->numbers = (struct mafat_graph_numbers){read_numbers, &i};
  i.g->allowance = file->source->allowance;
  size_t n_slots = (size_t)model->n_tensors + 1;
  if (mafat_allowance_take_sparse(i.g->allowance, n_slots, (size_t)model->n_used + 1,
                                  sizeof *i.slots))
    i.slots = calloc(n_slots, sizeof *i.slots);
  code = i.slots ? import(&i) : mafat_graph_fail_memory(i.g);
  for (int t = 0; i.slots && t < model->n_tensors; t++)
    if (model->used[t]) drop_value(&i, &i.slots[t]);
  free(i.slots);
  return mafat_graph_finish(out, &i.g, code);
}

int mafat_tflite_network_of(struct mafat_network **out, struct mafat_model_file *file,
                            const struct mafat_given *given, struct mafat_diagnostic *d)
{
  struct mafat_tflite *model;
  *out = NULL;
  int code = mafat_tflite_read(&model, file, d);
  if (code == MAFAT_OK) code = mafat_tflite_give(model, file, given, d);
  if (code == MAFAT_OK) code = mafat_tflite_network(out, model, file, d);
  mafat_tflite_close(&model);
  return code;
}

const struct mafat_reader mafat_tflite_reader = {.format = {.name = "tflite",
                                                            .own_weights = true,
                                                            .any_order = true,
                                                            .relative_boxes = true,
                                                            .pad = MAFAT_GRAPH_PAD},
                                                 .holds_weights = true,
                                                 .imports = true,
                                                 .begins = mafat_tflite_begins,
                                                 .graph = mafat_tflite_network_of};
