/* Imports ONNX operators with quantization parameters that are known only at run time
 * (DynamicQuantizeLinear, MatMulInteger, ...). Scales and zero points become maps, and integers are
 * computed as floats, whose sums are exact up to 2^24. Called by formats/onnx (import.c,
 * computing.c, integers.c) through the table of operators. Adds layers to the graph. */
#include "formats/graph/across.h"
#include "formats/graph/shape.h"
#include "formats/onnx/importer.h"

/* Computes the maximum or minimum of all elements and 0. */
static int find_end(struct mafat_onnx_importer *i, struct mafat_value *out,
                    const struct mafat_value *in, bool largest)
{
  struct mafat_value end = {.maker = -1};
  bool over[MAFAT_VIEW_DIMS];
  const struct mafat_reduce how = {.how = largest ? MAFAT_REDUCE_MAX : MAFAT_REDUCE_MIN};
  for (int k = 0; k < MAFAT_VIEW_DIMS; k++) over[k] = true;
  int code = mafat_graph_reduce(i->g, &end, in, over, how, false);
  if (code == MAFAT_OK)
    code =
        mafat_graph_combine_number(i->g, out, largest ? MAFAT_GRAPH_MAX : MAFAT_GRAPH_MIN, &end, 0);
  mafat_value_clear(&end);
  return code;
}

enum { STEPS = 255 }; /* largest uint8 */

/* Computes (maximum - minimum) / 255, but at least the smallest normal float: if all elements are
 * 0, any scale above 0 is right. */
static int find_scale(struct mafat_onnx_importer *i, struct mafat_value *out,
                      const struct mafat_value *least, const struct mafat_value *most)
{
  struct mafat_value range = {.maker = -1}, scale = {.maker = -1};
  int code = mafat_graph_combine(i->g, &range, MAFAT_GRAPH_SUB, most, least);
  if (code == MAFAT_OK)
    code = mafat_graph_combine_number(i->g, &scale, MAFAT_GRAPH_DIV, &range, STEPS);
  if (code == MAFAT_OK)
    code = mafat_graph_combine_number(i->g, out, MAFAT_GRAPH_MAX, &scale, 0x1p-126);
  mafat_value_clear(&range);
  mafat_value_clear(&scale);
  return code;
}

/* Computes x / scale, rounded, plus `zero` (NULL: none), clamped to 0 to 255. */
static int find_numbers(struct mafat_onnx_importer *i, struct mafat_value *out,
                        const struct mafat_value *x, const struct mafat_value *scale,
                        const struct mafat_value *zero)
{
  enum { SCALED, ROUNDED, MOVED, N_PARTS };
  struct mafat_value parts[N_PARTS];
  int code;
  for (int k = 0; k < N_PARTS; k++) parts[k] = (struct mafat_value){.maker = -1};
  code = mafat_graph_combine(i->g, &parts[SCALED], MAFAT_GRAPH_DIV, x, scale);
  if (code == MAFAT_OK)
    code =
        mafat_graph_activate(i->g, &parts[ROUNDED], &parts[SCALED], mafat_activating(MAFAT_ROUND));
  if (code == MAFAT_OK)
    code = zero ? mafat_graph_combine(i->g, &parts[MOVED], MAFAT_GRAPH_ADD, &parts[ROUNDED], zero)
                : mafat_value_copy(i->g, &parts[MOVED], &parts[ROUNDED]);
  if (code == MAFAT_OK)
    code = mafat_graph_activate(i->g, out, &parts[MOVED],
                                (struct mafat_activating){MAFAT_CLIP, 0, STEPS});
  for (int k = 0; k < N_PARTS; k++) mafat_value_clear(&parts[k]);
  return code;
}

static int import_dynamic(struct mafat_onnx_importer *i)
{
  enum { LEAST, MOST, MINUS, SCALE, ZERO, NUMBERS, N_PARTS };
  struct mafat_value parts[N_PARTS];
  int code = mafat_onnx_make_floats(i, i->node->inputs[0]->index);
  const struct mafat_value *in = mafat_onnx_in(i, 0);
  for (int k = 0; k < N_PARTS; k++) parts[k] = (struct mafat_value){.maker = -1};
  if (code == MAFAT_OK && in->form != MAFAT_VALUE_MAP)
    code = mafat_graph_fail(i->g, MAFAT_EUNSUPPORTED,
                            "expected a tensor computed at run time, found a constant");
  if (code == MAFAT_OK) code = find_end(i, &parts[LEAST], in, false);
  if (code == MAFAT_OK) code = find_end(i, &parts[MOST], in, true);
  parts[LEAST].readers = 2; /* find_scale and the negation below */
  if (code == MAFAT_OK) code = find_scale(i, &parts[SCALE], &parts[LEAST], &parts[MOST]);
  if (code == MAFAT_OK)
    code = mafat_graph_activate(i->g, &parts[MINUS], &parts[LEAST], mafat_activating(MAFAT_NEG));
  if (code == MAFAT_OK) code = find_numbers(i, &parts[ZERO], &parts[MINUS], &parts[SCALE], NULL);
  if (code == MAFAT_OK) code = find_numbers(i, &parts[NUMBERS], in, &parts[SCALE], &parts[ZERO]);
  for (int k = 0; k < 3 && code == MAFAT_OK; k++)
    if (k < i->node->n_outputs && i->node->outputs[k])
      code = mafat_value_copy(i->g, mafat_onnx_out(i, k),
                              &parts[k == 0   ? NUMBERS
                                     : k == 1 ? SCALE
                                              : ZERO]);
  for (int k = 0; k < N_PARTS; k++) mafat_value_clear(&parts[k]);
  return code;
}

/* ---- integer products, without zero points ---- */

/* Reshapes a zero point so that it can be subtracted from `of`: one number, or one for each index
 * of dimension `dim`. */
static int lay_zero(struct mafat_onnx_importer *i, struct mafat_value *out,
                    const struct mafat_value *zero, const struct mafat_value *of, int dim)
{
  long long dims[MAFAT_VIEW_DIMS], n = mafat_value_elements(zero);
  if (n == 1) return mafat_graph_reshape(i->g, out, zero, 0, dims);
  if (dim < 0 || dim >= of->view.n_dims || n != of->view.dims[dim])
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "zero point: expected one number, found %lld", n);
  for (int k = 0; k < of->view.n_dims; k++) dims[k] = k == dim ? n : 1;
  return mafat_graph_reshape(i->g, out, zero, of->view.n_dims, dims);
}

/* Converts input `index` to floats, minus the zero point in input `zero`, if any. */
static int make_factor(struct mafat_onnx_importer *i, struct mafat_value *out, int index, int zero,
                       int dim)
{
  struct mafat_value plain = {.maker = -1}, laid = {.maker = -1};
  if (!mafat_onnx_has(i, index))
    return mafat_graph_fail(i->g, MAFAT_EFORMAT, "input %d is left out", index);
  int code = mafat_onnx_plain_floats(i, &plain, mafat_onnx_in(i, index), 0);
  if (code == MAFAT_OK && !mafat_onnx_has(i, zero)) code = mafat_value_copy(i->g, out, &plain);
  else if (code == MAFAT_OK) {
    code = lay_zero(i, &laid, mafat_onnx_in(i, zero), &plain, dim);
    if (code == MAFAT_OK) code = mafat_graph_combine(i->g, out, MAFAT_GRAPH_SUB, &plain, &laid);
  }
  mafat_value_clear(&plain);
  mafat_value_clear(&laid);
  return code;
}

static int import_product(struct mafat_onnx_importer *i)
{
  const struct mafat_onnx_operator *own = i->row;
  bool windows = mafat_onnx_variant(i);
  struct mafat_value a = {.maker = -1}, b = {.maker = -1};
  const struct mafat_value *const list[2] = {&a, &b};
  int n_a = mafat_onnx_in(i, 0)->view.n_dims, n_b = mafat_onnx_in(i, 1)->view.n_dims;
  int code = make_factor(i, &a, 0, 2, windows ? -1 : n_a - 2);
  if (code == MAFAT_OK) code = make_factor(i, &b, 1, 3, windows ? 0 : n_b - 1);
  if (code) goto end;
  i->operands = list;
  i->n_operands = 2;
  i->row = mafat_onnx_find_operator(windows ? "Conv" : "MatMul");
  code = i->row->import(i);
  i->operands = NULL;
  i->row = own;
end:
  mafat_value_clear(&a);
  mafat_value_clear(&b);
  return code;
}

const struct mafat_onnx_operator mafat_onnx_dynamic_operators[] = {
    {"DynamicQuantizeLinear", import_dynamic, 0},
    {"MatMulInteger", import_product, 0},
    {"ConvInteger", import_product, 1},
    {NULL, NULL, 0}};
