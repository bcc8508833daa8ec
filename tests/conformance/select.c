/* Chooses the conformance models to run and which of their inputs are constants. Called by
 * onnx_nodes.c. Opens and reads the models' files. */
#include "tests/conformance/select.h"

#include <stdio.h>
#include <string.h>

/* Operators whose models are run. Bit k of the number is set if input k has to be a constant. */
static const struct {
  const char *op_type;
  unsigned known;
} operators[] = {
    {"Abs", 0},
    {"Add", 0},
    {"ArgMax", 0},
    {"ArgMin", 0},
    {"AveragePool", 0},
    {"BatchNormalization", 2 | 4 | 8 | 16},
    {"Ceil", 0},
    {"Celu", 0},
    {"Clip", 2 | 4},
    {"Concat", 0},
    {"Constant", 0},
    {"Conv", 2 | 4},
    {"ConvTranspose", 2 | 4},
    {"DepthToSpace", 0},
    {"Div", 0},
    {"Dropout", 2 | 4},
    {"Elu", 0},
    {"Erf", 0},
    {"Exp", 0},
    {"Expand", 2},
    {"Flatten", 0},
    {"Floor", 0},
    {"Gather", 2},
    {"Gelu", 0},
    {"Gemm", 2 | 4},
    {"GlobalAveragePool", 0},
    {"GlobalMaxPool", 0},
    {"HardSigmoid", 0},
    {"HardSwish", 0},
    {"Identity", 0},
    {"LayerNormalization", 2 | 4},
    {"LeakyRelu", 0},
    {"Log", 0},
    {"LogSoftmax", 0},
    {"MatMul", 0},
    {"Max", 0},
    {"MaxPool", 0},
    {"Mean", 0},
    {"Min", 0},
    {"Mish", 0},
    {"Mul", 0},
    {"Neg", 0},
    {"PRelu", 2},
    {"Pad", 2 | 4 | 8},
    {"Pow", 2},
    {"Reciprocal", 0},
    {"ReduceMax", 2},
    {"ReduceMean", 2},
    {"ReduceMin", 2},
    {"ReduceSum", 2},
    {"ReduceL1", 2},
    {"ReduceL2", 2},
    {"ReduceLogSum", 2},
    {"ReduceLogSumExp", 2},
    {"ReduceProd", 2},
    {"ReduceSumSquare", 2},
    {"Relu", 0},
    {"Reshape", 2},
    {"Resize", 2 | 4 | 8},
    {"Round", 0},
    {"Selu", 0},
    {"Sigmoid", 0},
    {"Slice", 2 | 4 | 8 | 16},
    {"Softmax", 0},
    {"Softplus", 0},
    {"Softsign", 0},
    {"SpaceToDepth", 0},
    {"Split", 2},
    {"Sqrt", 0},
    {"Squeeze", 2},
    {"Sub", 0},
    {"Sum", 0},
    {"Tanh", 0},
    {"ThresholdedRelu", 0},
    {"TopK", 2},
    {"Transpose", 0},
    {"Unsqueeze", 2},
    {"Upsample", 2},
    /* integers */
    {"ConvInteger", 2 | 4 | 8},
    {"DequantizeLinear", 2 | 4},
    {"DynamicQuantizeLinear", 0},
    {"MatMulInteger", 2 | 4 | 8},
    {"QLinearConv", 2 | 4 | 8 | 16 | 32 | 64 | 128 | 256},
    {"QLinearMatMul", 2 | 4 | 8 | 16 | 32 | 64 | 128},
    {"QuantizeLinear", 2 | 4},
    /* shapes */
    {"Cast", 0},
    {"ConstantOfShape", 1},
    {"Shape", 0},
    {"Size", 0},
};

static int find_operator(const char *op_type)
{
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
    if (strcmp(operators[i].op_type, op_type) == 0) return (int)i;
  return -1;
}

/* ---- opening ---- */

static int read_all(struct tensor_file *to, int n, const struct node_trial *t, const char *kind,
                    struct mafat_diagnostic *d)
{
  for (int i = 0; i < n; i++) {
    const struct mafat_onnx_value *v = *kind == 'i' ? t->model->inputs[i] : t->model->outputs[i];
    if (v->info && strcmp(v->info->form, "tensor") != 0) to[i].rank = -1;
    else if (*kind == 'i' && v->initializer) to[i].rank = -1; /* the model contains the value */
    else {
      int code = tensor_file_read(&to[i], t->folder, kind, i, false, d);
      if (code) return code;
    }
  }
  return MAFAT_OK;
}

int trial_open(struct node_trial *t, const char *folder, struct mafat_diagnostic *d)
{
  memset(t, 0, sizeof *t);
  snprintf(t->folder, sizeof t->folder, "%s", folder);
  snprintf(t->path, sizeof t->path, "%s/model.onnx", folder);
  int code = mafat_model_file_open(&t->file, t->path, d);
  if (code == MAFAT_OK) code = mafat_onnx_read(&t->model, t->file, d);
  if (code) return code;
  t->n_inputs = t->model->n_inputs;
  t->n_outputs = t->model->n_outputs;
  if (t->n_inputs > MAX_INPUTS || t->n_outputs > MAX_OUTPUTS)
    return mafat_fail(d, MAFAT_ELIMIT, "%s: has too many inputs or outputs", t->path);
  code = read_all(t->inputs, t->n_inputs, t, "input", d);
  return code ? code : read_all(t->outputs, t->n_outputs, t, "output", d);
}

void trial_close(struct node_trial *t)
{
  mafat_onnx_close(&t->model);
  mafat_model_file_close(&t->file);
}

/* ---- choosing ---- */

static bool is_known_before(const struct mafat_onnx *m, const struct mafat_onnx_value *v)
{
  for (int i = 0; i < m->n_nodes; i++) {
    const struct mafat_onnx_node *n = &m->nodes[i];
    int known = find_operator(n->op_type);
    for (int k = 0; k < n->n_inputs && k < 32; k++)
      if (n->inputs[k] == v && known >= 0 && operators[known].known >> k & 1) return true;
  }
  return false;
}

/* True if a node of the model quantizes, dequantizes or computes with quantized maps. */
static bool is_quantized(const struct node_trial *t)
{
  for (int i = 0; i < t->model->n_nodes; i++)
    if (strstr(t->model->nodes[i].op_type, "Linear") ||
        strstr(t->model->nodes[i].op_type, "Integer"))
      return true;
  return false;
}

static bool is_element(const struct node_trial *t, int type)
{
  bool integer = type == MAFAT_ONNX_INT8 || type == MAFAT_ONNX_UINT8 || type == MAFAT_ONNX_INT32;
  return type == MAFAT_ONNX_FLOAT || (integer && is_quantized(t));
}

void trial_choose(struct node_trial *t)
{
  for (int i = 0; i < t->n_inputs; i++)
    t->bound[i] = t->inputs[i].rank >= 0 && (!is_element(t, t->inputs[i].type) ||
                                             is_known_before(t->model, t->model->inputs[i]));
}

int trial_bind(struct node_trial *t, const char *constant, struct mafat_diagnostic *d)
{
  const char *file = strchr(constant, '=');
  size_t n = file ? (size_t)(file - constant) : 0;
  int code =
      file ? MAFAT_OK
           : mafat_fail(d, MAFAT_EINVAL, "--constant: expected NAME=FILE, found %.100s", constant);
  for (int i = 0; i < t->n_inputs && code == MAFAT_OK; i++) {
    const char *name = t->model->inputs[i]->name;
    if (t->inputs[i].rank < 0 || strlen(name) != n || strncmp(name, constant, n) != 0) continue;
    code = tensor_file_open(&t->inputs[i], file + 1, false, d);
    t->bound[i] = t->named[i] = true;
  }
  return code;
}

int trial_input(const struct node_trial *t)
{
  for (int i = 0; i < t->n_inputs; i++)
    if (!t->bound[i] && t->inputs[i].rank >= 0) return i;
  return -1;
}

/* NULL if the tensor can be a map of a network; else the reason, in `buffer`. */
static const char *refuse_map(const struct tensor_file *t, const char *kind, bool is_of_type,
                              char *buffer, size_t bytes)
{
  if (t->rank < 0) snprintf(buffer, bytes, "an %s that is no tensor", kind);
  else if (!is_of_type)
    snprintf(buffer, bytes, "an %s of another type than float", kind);
  else if (t->rank > 4) snprintf(buffer, bytes, "more than four dimensions");
  else if (t->rank == 4 && t->dims[0] != 1) snprintf(buffer, bytes, "a batch of more than 1");
  else if (t->n == 0) snprintf(buffer, bytes, "a tensor without elements");
  else return NULL;
  return buffer;
}

const char *trial_excluded(const struct node_trial *t, char *buffer, size_t bytes)
{
  const char *why = NULL;
  int n_maps = 0;
  for (int i = 0; i < t->model->n_nodes; i++)
    if (find_operator(t->model->nodes[i].op_type) < 0) return "an operator that is not to be run";
  bool indices =
      strncmp(trial_operator(t), "Arg", 3) == 0 || strcmp(trial_operator(t), "TopK") == 0;
  for (int i = 0; i < t->n_outputs && !why; i++) {
    bool index = indices && t->outputs[i].type == MAFAT_ONNX_INT64;
    why = refuse_map(&t->outputs[i], "output", index || is_element(t, t->outputs[i].type), buffer,
                     bytes);
  }
  for (int i = 0; i < t->n_inputs && !why; i++) {
    const struct mafat_onnx_value *v = t->model->inputs[i];
    if (v->initializer || t->named[i] || is_known_before(t->model, v)) continue;
    why = refuse_map(&t->inputs[i], "input", is_element(t, t->inputs[i].type), buffer, bytes);
    n_maps++;
  }
  return why || n_maps ? why : "no input of floats";
}

const char *trial_operator(const struct node_trial *t)
{
  const struct mafat_onnx *m = t->model;
  for (int i = 1; i < m->n_nodes; i++)
    if (strcmp(m->nodes[i].op_type, m->nodes[0].op_type) != 0) return "(several)";
  return m->n_nodes ? m->nodes[0].op_type : "(none)";
}
