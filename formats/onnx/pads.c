/* Folds the zero padding of a Pad node into the convolutions that read its output: the padding is
 * deferred until these are imported. Called by formats/onnx (import.c, import_shape.c for Pad,
 * import_layers.c). Allocates the importer's list of pads. */
#include "formats/onnx/importer.h"

/* Deferred padding of a value. */
struct mafat_onnx_pads {
  int value; /* index of the value in the model */
  int rows[2], columns[2]; /* number before the map, and after it */
};

static const struct mafat_onnx_pads *find(const struct mafat_onnx_importer *i,
                                          const struct mafat_onnx_value *v)
{
  for (int k = 0; k < i->n_pads; k++)
    if (i->pads[k].value == v->index) return &i->pads[k];
  return NULL;
}

static int keep(struct mafat_onnx_importer *i, struct mafat_onnx_pads pads)
{
  struct mafat_onnx_pads *list = realloc(i->pads, (size_t)(i->n_pads + 1) * sizeof *list);
  if (!list) return mafat_graph_fail_memory(i->g);
  list[i->n_pads++] = pads;
  i->pads = list;
  return MAFAT_OK;
}

/* ---- readers ---- */

/* True if the node only declares quantization. */
static bool is_quantizer(const struct mafat_onnx_node *n)
{
  return strcmp(n->op_type, "QuantizeLinear") == 0 || strcmp(n->op_type, "DequantizeLinear") == 0;
}

/* True if the node's own padding is given by its attribute pads, or is none; false if the operator
 * computes it (SAME_UPPER, SAME_LOWER). */
static bool has_explicit_pads(const struct mafat_onnx_node *n)
{
  const struct mafat_onnx_attribute *a = mafat_onnx_attribute(n, "auto_pad");
  return !a || (a->type == MAFAT_ONNX_ATTRIBUTE_STRING &&
                (strcmp(a->as.s, "NOTSET") == 0 || strcmp(a->as.s, "VALID") == 0));
}

/* True if the padding value `number` is the zero point of the input of n, an integer
 * convolution. */
static bool is_zero_to(const struct mafat_onnx_importer *i, const struct mafat_onnx_node *n,
                       int number)
{
  enum { ZERO_POINT = 2 };
  struct mafat_diagnostic ignored;
  const struct mafat_onnx_value *v = n->n_inputs > ZERO_POINT ? n->inputs[ZERO_POINT] : NULL;
  int64_t zero = 0;
  if (v && (!v->initializer || v->initializer->n != 1)) return false;
  return (!v ||
          mafat_onnx_tensor_ints(i->model, v->initializer, 0, 1, &zero, &ignored) == MAFAT_OK) &&
         zero == number;
}

/* True for a convolution that can do the padding. number: the padding value of integers; NULL:
 * floats are padded with 0 (mafat_onnx_leave_pads). */
static bool can_pad(const struct mafat_onnx_importer *i, const struct mafat_onnx_node *n,
                    const int *number)
{
  bool convolves = strcmp(n->op_type, number ? "QLinearConv" : "Conv") == 0;
  return convolves && has_explicit_pads(n) && (!number || is_zero_to(i, n, *number));
}

/* Counts the convolutions that read the value and can do the padding. Sets *names to a
 * QuantizeLinear or DequantizeLinear that reads the value; NULL: none. */
static int count(const struct mafat_onnx_importer *i, const struct mafat_onnx_value *v,
                 const int *number, const struct mafat_onnx_node **names)
{
  int n_windows = 0;
  size_t n_readers;
  const int *readers = mafat_onnx_readers(i, v, &n_readers);
  *names = NULL;
  for (size_t k = 0; k < n_readers; k++) {
    const struct mafat_onnx_node *n = &i->model->nodes[readers[k]];
    if (n <= i->node || n->inputs[0] != v || (k > 0 && readers[k] == readers[k - 1])) continue;
    if (can_pad(i, n, number)) n_windows++;
    else if (!number && is_quantizer(n) && n->n_outputs == 1 && n->outputs[0]) *names = n;
  }
  return n_windows;
}

/* True if all readers of the value are convolutions that can do the padding, possibly through a
 * QuantizeLinear and a DequantizeLinear. */
static bool only_windows_read(const struct mafat_onnx_importer *i, const struct mafat_onnx_value *v,
                              const int *number)
{
  enum { BETWEEN = 2 }; /* most nodes between the value and the convolutions */
  const struct mafat_onnx_node *names;
  for (int k = 0; k <= BETWEEN; k++) {
    int readers = i->values[v->index].readers;
    if (v->makers != 1 || readers == 0) return false;
    int n_windows = count(i, v, number, &names);
    if (n_windows == readers) return true;
    if (!names || readers != 1) return false;
    v = names->outputs[0];
  }
  return false;
}

/* ---- deferring, passing on and applying pads ---- */

int mafat_onnx_leave_pads(struct mafat_onnx_importer *i, const struct mafat_value *in,
                          const long long *pads, const int *number, bool *left)
{
  const struct mafat_onnx_value *out = i->node->outputs[0];
  int n = in->view.n_dims;
  *left = in->form == MAFAT_VALUE_MAP && (n == 3 || n == 4) && in->view.dims[0] == 1 &&
          only_windows_read(i, out, number);
  for (int k = 0; k < 2 * n && *left; k++) *left = k % n < 2 ? pads[k] == 0 : pads[k] >= 0;
  if (!*left) return MAFAT_OK;
  int code = mafat_value_copy(i->g, mafat_onnx_out(i, 0), in), w = n - 1;
  struct mafat_onnx_pads p = {.value = out->index, .columns = {(int)pads[w], (int)pads[w + n]}};
  if (n == 4) p.rows[0] = (int)pads[2], p.rows[1] = (int)pads[6];
  return code ? code : keep(i, p);
}

int mafat_onnx_pass_pads(struct mafat_onnx_importer *i)
{
  const struct mafat_onnx_pads *left =
      i->n_pads && is_quantizer(i->node) ? find(i, i->node->inputs[0]) : NULL;
  if (!left) return MAFAT_OK;
  struct mafat_onnx_pads p = *left;
  p.value = i->node->outputs[0]->index;
  return keep(i, p);
}

void mafat_onnx_take_pads(const struct mafat_onnx_importer *i, long long *pads)
{
  const struct mafat_onnx_pads *left = find(i, i->node->inputs[0]);
  for (int k = 0; left && k < 2; k++) {
    pads[2 * k] += left->rows[k];
    pads[2 * k + 1] += left->columns[k];
  }
}
