/* Imports ONNX matrix products: MatMul and Gemm. Called by formats/onnx (import.c, computing.c,
 * integers.c, import_dynamic.c) through the table of operators. Adds layers to the graph. */
#include "formats/graph/matrices.h"
#include "formats/onnx/importer.h"

/* Makes a vector a matrix of one row or one column. The caller removes the added dimension from the
 * product. */
static int as_matrix(struct mafat_onnx_importer *i, struct mafat_value *out,
                     const struct mafat_value *v, bool column)
{
  if (v->view.n_dims != 1) return mafat_value_copy(i->g, out, v);
  const long long dims[2] = {column ? v->view.dims[0] : 1, column ? 1 : v->view.dims[0]};
  return mafat_graph_reshape(i->g, out, v, 2, dims);
}

static int import_matmul(struct mafat_onnx_importer *i)
{
  struct mafat_value a = {.maker = -1}, b = {.maker = -1}, product = {.maker = -1};
  const struct mafat_value *in_a = mafat_onnx_in(i, 0), *in_b = mafat_onnx_in(i, 1);
  long long dims[MAFAT_VIEW_DIMS];
  int n = 0, code = as_matrix(i, &a, in_a, false);
  if (code == MAFAT_OK) code = as_matrix(i, &b, in_b, true);
  if (code == MAFAT_OK && mafat_value_is_constant(&b) && b.view.n_dims == 2 &&
      a.form == MAFAT_VALUE_MAP)
    code = mafat_graph_multiply_constant(i->g, &product, &a, &b, false, NULL);
  else if (code == MAFAT_OK)
    code = mafat_graph_multiply_maps(i->g, &product, &a, &b);
  for (int k = 0; code == MAFAT_OK && k < product.view.n_dims; k++)
    if (!(k == product.view.n_dims - 2 && in_a->view.n_dims == 1) &&
        !(k == product.view.n_dims - 1 && in_b->view.n_dims == 1))
      dims[n++] = product.view.dims[k];
  if (code == MAFAT_OK) code = mafat_graph_reshape(i->g, mafat_onnx_out(i, 0), &product, n, dims);
  mafat_value_clear(&a);
  mafat_value_clear(&b);
  mafat_value_clear(&product);
  return code;
}

static int scale_by(struct mafat_onnx_importer *i, struct mafat_value *v, float factor)
{
  struct mafat_value scaled = {.maker = -1};
  if (factor == 1) return MAFAT_OK;
  int code = mafat_graph_combine_number(i->g, &scaled, MAFAT_GRAPH_MUL, v, (double)factor);
  if (code) return code;
  mafat_value_clear(v);
  *v = scaled;
  return MAFAT_OK;
}

static int import_gemm(struct mafat_onnx_importer *i)
{
  static const int turned[2] = {1, 0};
  struct mafat_value a = {.maker = -1}, b = {.maker = -1}, c = {.maker = -1},
                     product = {.maker = -1};
  const struct mafat_value *in_a = mafat_onnx_in(i, 0), *in_b = mafat_onnx_in(i, 1),
                           *in_c = mafat_onnx_in(i, 2);
  bool trans_a, trans_b;
  float alpha, beta;
  int code = mafat_onnx_flag(i, "transA", false, &trans_a);
  if (code == MAFAT_OK) code = mafat_onnx_flag(i, "transB", false, &trans_b);
  if (code == MAFAT_OK) code = mafat_onnx_float(i, "alpha", 1, &alpha);
  if (code == MAFAT_OK) code = mafat_onnx_float(i, "beta", 1, &beta);
  if (code == MAFAT_OK && (in_a->view.n_dims != 2 || in_b->view.n_dims != 2))
    code = mafat_graph_fail(i->g, MAFAT_EFORMAT, "expected inputs of 2 dimensions");
  if (code == MAFAT_OK)
    code =
        trans_a ? mafat_graph_transpose(i->g, &a, in_a, turned) : mafat_value_copy(i->g, &a, in_a);
  bool constant = mafat_value_is_constant(in_b) && a.form == MAFAT_VALUE_MAP;
  /* integer layers add the bias themselves: sums start with it */
  bool integers = mafat_value_is_quantized(in_b) && mafat_value_is_integer(i->g, in_a);
  if (code == MAFAT_OK)
    code = trans_b && !constant ? mafat_graph_transpose(i->g, &b, in_b, turned)
                                : mafat_value_copy(i->g, &b, in_b);
  if (code == MAFAT_OK)
    code = constant ? mafat_graph_multiply_constant(i->g, &product, &a, &b, trans_b != 0,
                                                    integers && mafat_onnx_has(i, 2) ? in_c : NULL)
                    : mafat_graph_multiply_maps(i->g, &product, &a, &b);
  if (code == MAFAT_OK) code = scale_by(i, &product, alpha);
  if (code == MAFAT_OK && in_c->form != MAFAT_VALUE_NONE && !integers) {
    code = mafat_value_copy(i->g, &c, in_c);
    if (code == MAFAT_OK) code = scale_by(i, &c, beta);
    if (code == MAFAT_OK)
      code = mafat_graph_combine(i->g, mafat_onnx_out(i, 0), MAFAT_GRAPH_ADD, &product, &c);
  } else if (code == MAFAT_OK) {
    code = mafat_value_copy(i->g, mafat_onnx_out(i, 0), &product);
  }
  mafat_value_clear(&a);
  mafat_value_clear(&b);
  mafat_value_clear(&c);
  mafat_value_clear(&product);
  return code;
}

const struct mafat_onnx_operator mafat_onnx_matrix_operators[] = {
    {"MatMul", import_matmul, 0}, {"Gemm", import_gemm, 0}, {NULL, NULL, 0}};
